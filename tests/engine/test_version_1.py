"""A ledger by the first version of the tables: read as it is, widened by the plugin, its rows untouched."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths
from ledger_tui.sources import snapshot
from ledger_tui.sources.decisions import read_refusals
from ledger_tui.sources.refusals import RefusalSource

from .homes import Home, until

TABLES = """
CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, session_id TEXT, turn_id TEXT,
    tool_call_id TEXT, task_id TEXT, request_id TEXT, tool_name TEXT NOT NULL, args_json TEXT, args_cut INTEGER,
    args_redacted INTEGER, args_hash BLOB, value_hashes TEXT, status TEXT NOT NULL, effect TEXT, grace_s REAL,
    mono REAL, writer_id INTEGER, nested_in INTEGER, repeat_of INTEGER, seen INTEGER, settled_ts TEXT,
    duration_ms INTEGER, exit_code INTEGER, closed_by TEXT, result_digest TEXT, later_status TEXT, later_ts TEXT,
    later_digest TEXT, reported_ts TEXT, no_signal INTEGER, changed INTEGER);
CREATE TABLE writer(id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, started TEXT NOT NULL,
    boot_id TEXT NOT NULL, pid_namespace TEXT NOT NULL, machine TEXT NOT NULL, opened_ts TEXT NOT NULL,
    plugin_version TEXT, host_version TEXT, python_version TEXT, sqlite_version TEXT, journal_mode TEXT);
CREATE TABLE spool_merged(name TEXT PRIMARY KEY, size INTEGER NOT NULL, writer_id INTEGER, merged_ts TEXT NOT NULL);
CREATE TABLE compaction(session_id TEXT NOT NULL, marker TEXT NOT NULL, seen_ts TEXT NOT NULL,
    PRIMARY KEY(session_id, marker));
CREATE TABLE notice(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, turn_id TEXT NOT NULL,
    ts TEXT NOT NULL, writer_id INTEGER, merged INTEGER, delivered INTEGER);
CREATE TABLE notice_item(notice_id INTEGER NOT NULL, ledger_id INTEGER NOT NULL, kind TEXT NOT NULL, amount INTEGER,
    PRIMARY KEY(ledger_id, kind, notice_id)) WITHOUT ROWID;
CREATE INDEX notice_session ON notice(session_id, id);
CREATE TABLE no_signal(tool_name TEXT PRIMARY KEY, learnt_ts TEXT NOT NULL);
CREATE INDEX ledger_session ON ledger(session_id);
CREATE INDEX ledger_unconfirmed ON ledger(status) WHERE status <> 'CONFIRMED';
CREATE INDEX ledger_changed ON ledger(changed);
CREATE INDEX ledger_repeat ON ledger(repeat_of) WHERE repeat_of IS NOT NULL;
CREATE INDEX ledger_reported ON ledger(reported_ts) WHERE reported_ts IS NOT NULL;
PRAGMA user_version=1;
"""
"""As version 1 made them."""

ROWS = r"""
INSERT INTO writer VALUES(1, 4711, '99', 'boot', 'pid:[1]', 'machine', '2026-05-30T08:00:00.000Z', '0.1.0', '0.19.0',
    '3.11.9', '3.45.1', 'wal');
INSERT INTO ledger VALUES(1, '2026-05-30T09:00:00.000Z', 's1', 's1:t1', 'c1', 's1', 'r1', 'write_file',
    '{"path": "五月/予算.csv", "content": "a\u0000b"}', 0, 0, x'00ff10', '["h"]', 'CONFIRMED', 'done', 120.0, 12.25, 1,
    NULL, NULL, NULL, '2026-05-30T09:00:01.000Z', 1000, NULL, 'post', 'written', NULL, NULL, NULL, NULL, NULL, 10);
INSERT INTO ledger(id, ts, session_id, tool_name, args_json, status, effect, grace_s, writer_id, changed)
    VALUES(2, '2026-05-30T09:10:00.000Z', 's1', 'terminal', '{"command": "make"}', 'PENDING', NULL, 900.0, 1, 11);
INSERT INTO ledger(id, ts, session_id, tool_name, args_json, status, effect, exit_code, closed_by, writer_id, changed)
    VALUES(3, '2026-05-30T09:20:00.000Z', 's2', 'terminal', 'cut at the end: {"comm', 'ERROR:timeout', 'unknown', 124,
    'post', 1, 12);
INSERT INTO ledger(id, ts, session_id, tool_name, args_json, status, reported_ts, writer_id, changed)
    VALUES(7, '2026-05-30T09:30:00.000Z', 's2', 'cronjob', NULL, 'GHOST_REPORTED', '2026-05-30T10:00:00.000Z', 1, 13);
INSERT INTO notice VALUES(1, 's2', 's2:t2', '2026-05-30T10:00:00.000Z', 1, NULL, 1);
INSERT INTO notice_item VALUES(1, 7, 'ghost', NULL);
"""

OLD_COLUMNS = (
    "id, ts, session_id, turn_id, tool_call_id, task_id, request_id, tool_name, args_json, args_cut, args_redacted,"
    " args_hash, value_hashes, status, effect, grace_s, mono, writer_id, nested_in, repeat_of, seen, settled_ts,"
    " duration_ms, exit_code, closed_by, result_digest, later_status, later_ts, later_digest, reported_ts, no_signal,"
    " changed"
)
OLD_TABLES = ("ledger", "writer", "spool_merged", "compaction", "notice", "notice_item", "no_signal")

POLICY = {"rules": [{"name": "deletes", "kinds": ["recursive-delete"]}]}
PROMPTS = {"rules": [{"name": "no", "kind": "identifier", "shapes": ["KD-######"], "message": "Not here."}]}


@pytest.fixture
def paths(home: Home) -> Paths:
    """A home with such a ledger, in which the plugin has not opened anything yet."""
    home.paths.data.mkdir(parents=True, mode=0o700)
    with contextlib.closing(sqlite3.connect(home.paths.ledger)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(TABLES + ROWS)
    return home.paths


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        yield db


def contents(path: Path) -> dict[str, list[tuple[bytes | int | float | None, ...]]]:
    """Every row of the old tables, texts as their bytes; of `ledger`, the rows that version 1 wrote."""
    with reading(path) as db:
        db.text_factory = bytes
        order = {"notice_item": "notice_id, ledger_id", "ledger": "id"}
        where = {"ledger": "WHERE id <= 7", "writer": "WHERE id = 1"}
        what = {"ledger": OLD_COLUMNS}
        return {
            name: db.execute(
                f"SELECT {what.get(name, '*')} FROM {name} {where.get(name, '')} ORDER BY {order.get(name, 1)}"
            ).fetchall()
            for name in OLD_TABLES
        }


def statements(path: Path) -> dict[str, str]:
    with reading(path) as db:
        found = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        return dict(db.execute(found).fetchall())


async def test_it_is_read_as_it_is_and_not_changed(paths: Paths) -> None:
    before = paths.ledger.read_bytes()
    with snapshot.reading_ledger(paths.ledger) as ledger:
        calls = snapshot.read_calls(ledger)
        assert [(call.id, call.status) for call in calls] == [
            (7, "GHOST_REPORTED"), (3, "ERROR:timeout"), (2, "PENDING"), (1, "CONFIRMED"),
        ]  # fmt: skip
        assert snapshot.read_totals(ledger).rows == 4
        assert list(read_refusals(ledger)) == []
    async with RefusalSource(paths.ledger) as source, contextlib.aclosing(source.changes()) as changes:
        first = await anext(changes)
        assert (first.refusals, first.hits, first.prompt_hits, first.host_version) == ((), {}, {}, "0.19.0")
    assert paths.ledger.read_bytes() == before


def test_the_plugin_widens_it_and_every_old_row_stays_byte_for_byte(home: Home, paths: Paths) -> None:
    rows, old = contents(paths.ledger), statements(paths.ledger)
    assert len(rows["ledger"]) == 4
    home.pre(call="new", session_id="s9")
    home.post(call="new", session_id="s9")
    home.merged()
    assert contents(paths.ledger) == rows
    now = statements(paths.ledger)
    assert now.pop("ledger").startswith(old.pop("ledger").rstrip(")"))
    assert {name: now[name] for name in old} == old
    assert {"policy_decision", "prompt_decision"} <= now.keys() - old.keys()
    with reading(paths.ledger) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        assert db.execute("SELECT id, status FROM ledger WHERE id > 7").fetchall() == [(8, "CONFIRMED")]


def test_policies_decide_and_what_they_decided_is_read(home: Home, paths: Paths) -> None:
    paths.policy.write_text(json.dumps(POLICY), encoding="utf-8")
    paths.prompt_policy.write_text(json.dumps(PROMPTS), encoding="utf-8")
    paths.policy_mode.write_text("enforce\n", encoding="utf-8")
    paths.prompt_policy_mode.write_text("enforce\n", encoding="utf-8")
    home.start("s9")
    until(lambda: home.recorder.keeper._store is not None, "the ledger is open")
    ids = {"session_id": "s9", "turn_id": "s9:t1", "tool_call_id": "c1", "task_id": ""}
    args = {"command": " ".join(("rm", "-rf", "/srv/data"))}
    verdict = home.recorder.judge_call("terminal", args, **ids)
    assert verdict is not None
    assert verdict.refuses
    home.recorder.pre_tool_call("terminal", args, **ids, request_id="", verdict=verdict)
    assert home.recorder.judge_prompt("about KD-123456", session_id="s9", turn_id="s9:t2") is not None
    home.merged()
    with snapshot.reading_ledger(paths.ledger) as ledger:
        (refusal,) = read_refusals(ledger)
        assert (refusal.rule, refusal.ledger_id, refusal.mode) == ("deletes", 8, "enforce")
        assert ledger.connection.execute("SELECT session_id, rule, mode FROM prompt_decision").fetchall() == [
            ("s9", "no", "enforce")
        ]
