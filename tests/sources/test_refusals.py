"""What the policies decided, as it is written into a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_ledger.engine import schema
from ledger_tui.sources.refusals import RefusalChange, RefusalSource

_INSERT = (
    "INSERT INTO policy_decision(ts, ledger_id, session_id, tool_name, rule, severity, reason, mode, call_ids)"
    " VALUES('2026-05-30T12:00:00.000Z', ?, 's1', 'terminal', ?, 'HIGH', ?, 'dry_run', ?)"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    schema.prepare(connection)
    yield connection
    connection.close()


async def test_first_all_of_them_then_what_is_new(path: Path, db: sqlite3.Connection) -> None:
    db.execute(_INSERT, (3, "deletes", "why", "[1, 2]"))
    db.execute(_INSERT, (4, "deletes", "why", None))
    async with RefusalSource(path) as source, aclosing(source.changes()) as changes:
        first = await anext(changes)
        assert first.reset
        assert [(one.ledger_id, one.call_ids, one.at) for one in first.refusals] == [
            (3, (1, 2), 1_780_142_400.0), (4, (), 1_780_142_400.0),
        ]  # fmt: skip
        assert first.hits == {"deletes": 2}
        db.execute(_INSERT, (None, "secrets", "later", None))
        second = await anext(changes)
        assert (second.reset, [str(one.rule) for one in second.refusals]) == (False, ["secrets"])


@pytest.mark.parametrize("calls", ["no json", "[" * 100_000, "{}", "1"])
async def test_texts_are_inert(path: Path, db: sqlite3.Connection, calls: str) -> None:
    db.execute(_INSERT, (1, "ru\x1ble", "re\u202eason", calls))
    async with RefusalSource(path) as source, aclosing(source.changes()) as changes:
        (one,) = (await anext(changes)).refusals
        assert (one.rule, one.reason, one.call_ids) == ("ru\\u001ble", "re\\u202eason", ())


async def test_rules_over_messages_are_counted(path: Path, db: sqlite3.Connection) -> None:
    insert = "INSERT INTO prompt_decision(ts, rule, mode, outcome) VALUES('2026-05-30', ?, 'enforce', 'blocked')"
    db.execute(insert, ("card-number",))
    async with RefusalSource(path) as source, aclosing(source.changes()) as changes:
        assert (await anext(changes)).prompt_hits == {"card-number": 1}
        db.execute(insert, ("card-number",))
        assert (await anext(changes)).prompt_hits == {"card-number": 2}


async def test_a_ledger_by_other_software_has_none(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts, tool_name, status, args_json)")
    connection.commit()
    connection.close()
    async with RefusalSource(path) as source, aclosing(source.changes()) as changes:
        assert await anext(changes) == RefusalChange(reset=True, hits={}, prompt_hits={})
