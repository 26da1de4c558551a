"""Homes in which hostile text stands wherever an agent, a chat partner or other software can write."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import utc_text
from ledger_tui.routing.anomalies.kinds import KINDS
from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.plan import look, propose
from tests.app.sessions import COLUMNS
from tests.engine.homes import Home

from .corpus import RAW, SAMPLES, SURROGATES, Sample

HOUR_S = 3600.0
CHAT = "wren-chat \x1b]0;hostile-title\x07\u202e[bold]"
"""The session in which most calls are made."""

TEXTS = (*(sample.text for sample in SAMPLES), SURROGATES)

NUMBERS = frozenset(
    {"id", "args_cut", "args_redacted", "grace_s", "mono", "writer_id", "nested_in", "repeat_of", "seen", "changed",
     "duration_ms", "exit_code", "no_signal"}
)  # fmt: skip


def file_name(text: str) -> str:
    """As much of a text as may be the name of a file."""
    kept = text.replace("/", "\u2215").replace("\0", "").encode("utf-8", "replace")[:200]
    return kept.decode("utf-8", "ignore")


def plant(folder: Path) -> list[str]:
    """A home as it comes about: the hooks are called, then other software writes too. Returns every notice given."""
    folder.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMES_HOME", str(folder))
        notices = _through_the_hooks(folder)
    paths = Paths(folder)
    _by_other_software(paths)
    _sessions(folder)
    _files(paths)
    _repairs(folder)
    return notices


def _through_the_hooks(folder: Path) -> list[str]:
    home = Home(folder)
    notices = []
    try:
        home.clock.wall_offset = -2 * HOUR_S
        for number, text in enumerate(TEXTS):
            _calls(home, folder, number, text)
        home.restart()
        home.clock.advance(HOUR_S)
        notices += [home.turn(number, session=text) for number, text in enumerate((CHAT, *TEXTS, CHAT), 2)]
        for number, text in enumerate(TEXTS[:6]):  # Reported as lost, and back again.
            home.post(text, {"command": text}, f"{text}{number}", session_id=CHAT, result=text)
        notices.append(home.turn(90, session=CHAT))
        home.clock.advance(HOUR_S)
        for number, text in enumerate(TEXTS[:9]):
            home.pre("terminal", {"command": f"echo {text}"}, f"new {number}", session_id=CHAT)
    finally:
        home.close()
    return [notice for notice in notices if notice]


def _calls(home: Home, folder: Path, number: int, text: str) -> None:
    """One call with the text everywhere, and some by well-known tools; a third of them ends, a third fails."""
    about: dict[str, Any] = {"session_id": CHAT, "task_id": text, "turn_id": text, "api_request_id": text}
    home.pre(text, {"command": text, text: [text]}, f"{text}{number}", **about)
    if number % 3 == 0 and number > 6:
        home.post(text, {"command": text, text: [text]}, f"{text}{number}", result=text, **about)
    elif number % 3 == 1 and number > 6:
        failed = {"result": text, "status": "error", "error_type": text, "error_message": text}
        home.post(text, {"command": text, text: [text]}, f"{text}{number}", **failed, **about)
    path = str(folder / "work" / file_name(text))
    for tool, arguments in (
        ("terminal", {"command": f"rm -rf ~/{text}", "workdir": text}),
        ("write_file", {"path": path, "content": text}),
        ("cronjob", {"action": "create", "name": text, "schedule": "0 3 * * *", "prompt": text}),
        ("memory", {"action": "add", "target": "user", "content": text}),
        ("mcp__mail__send", {"to": text, "password": text}),
    )[: 5 if number % 5 == 0 else 2]:
        home.pre(tool, arguments, f"{tool} {text}", session_id=text)
        if number % 2:
            home.post(tool, arguments, f"{tool} {text}", session_id=text, result=json.dumps({"said": text}))


def _by_other_software(paths: Paths) -> None:
    """Rows that no hook wrote: every column that holds text holds the hostile one, as it is."""
    with closing(sqlite3.connect(paths.ledger, isolation_level=None)) as db:
        columns = [(row[1], bool(row[3])) for row in db.execute("PRAGMA table_info(ledger)")]
        now = time.time()
        for number, sample in enumerate(SAMPLES):
            text = sample.bare if number % 2 else sample.text
            row: dict[str, Any] = {
                name: text for name, _ in columns if name not in NUMBERS and not name.endswith("_seal")
            }
            row |= {"ts": utc_text(now - number), "args_json": json.dumps({"bare": text}), "changed": int(now * 1e6)}
            if number % 3 == 1:
                row |= {"ts": text, "args_json": text, "settled_ts": None, "reported_ts": None}
            if number % 3 == 2:
                row |= {"status": ("PENDING", "GHOST_REPORTED")[number % 2], "grace_s": 0.0, "settled_ts": None}
            marks = ", ".join("?" * len(row))
            row_id = db.execute(f"INSERT INTO ledger({', '.join(row)}) VALUES({marks})", tuple(row.values())).lastrowid
            evidence = json.dumps([text, text])
            db.execute("INSERT OR REPLACE INTO verdict VALUES(?, ?, ?, ?)", (row_id, text, evidence, text))
            db.execute(
                "INSERT INTO policy_decision(ts, ledger_id, session_id, tool_name, rule, severity, reason, mode,"
                " call_ids) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (utc_text(now - number), row_id, text, text, text, text, text, text, text),
            )
            db.execute(
                "INSERT INTO prompt_decision(ts, session_id, turn_id, rule, mode, outcome) VALUES(?, ?, ?, ?, ?, ?)",
                (utc_text(now - number), text, text, text, text, text),
            )
        db.execute("UPDATE writer SET host_version = ?, plugin_version = ?, python_version = ?", (RAW, RAW, RAW))
        db.execute("INSERT INTO no_signal VALUES(?, ?)", (RAW, RAW))


def _sessions(folder: Path) -> None:
    """The host's store: chats, delegates and lost rows whose every text is hostile, and what lies around them."""
    now = time.time()
    with closing(sqlite3.connect(folder / "state.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"CREATE TABLE sessions({', '.join(COLUMNS)})")
        db.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,"
            " content TEXT, timestamp REAL NOT NULL)"
        )
        db.execute("CREATE INDEX idx_messages_session ON messages(session_id, timestamp)")
        db.execute("CREATE TABLE gateway_routing(session_key TEXT, entry_json TEXT, updated_at REAL)")
        db.execute("CREATE TABLE compression_locks(session_id TEXT, holder TEXT, expires_at REAL)")
        db.execute("BEGIN")
        for number, sample in enumerate(SAMPLES):
            _family(db, now - HOUR_S * (2 + number), sample, lost=number % 4 == 0, unsure=number % 8 == 0)
        db.execute("COMMIT")


def _family(db: sqlite3.Connection, start: float, sample: Sample, *, lost: bool, unsure: bool) -> None:
    """A chat with a delegate, and perhaps a lost row that went on from it, or else from a second chat if `unsure`."""
    text = sample.text
    source = "telegram" if lost else text
    who = {
        "user_id": text, "chat_id": text, "chat_type": text, "thread_id": text, "display_name": text,
        "origin_json": json.dumps({"chat_name": text}), "profile_name": "default",
    }  # fmt: skip
    key = f"agent:main:telegram:dm:{text}"
    _session(db, f"chat {text}", start, source=source, session_key=key, title=text, **who)
    markers = {"parent_session_id": f"chat {text}", "model_config": json.dumps({"_delegate_from": text})}
    _session(db, f"delegate {text}", start, source="subagent", title=sample.bare, end_reason=text, ended_at=start + 9,
             **markers)  # fmt: skip
    if lost:
        _session(db, f"lost {text}", start + 400, source="telegram", title=text)
    if unsure:
        _session(db, f"other {text}", start - 9, source="telegram", session_key=f"{key}2", title=text, **who)
    db.execute("INSERT INTO gateway_routing VALUES(?, ?, ?)", (key, json.dumps({"session_id": text}), start))
    db.execute("INSERT INTO compression_locks VALUES(?, ?, ?)", (text, text, start))


def _session(db: sqlite3.Connection, id: str, start: float, **columns: Any) -> None:
    values = {"id": id, "started_at": start, "message_count": 4, **columns}
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO sessions({', '.join(values)}) VALUES({marks})", tuple(values.values()))
    for number, role in enumerate(("user", "assistant", id, "tool")):
        content = id if number % 2 else "\x00json:" + json.dumps([{"type": "text", "text": id}, {"type": id}])
        db.execute(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES(?, ?, ?, ?)",
            (id, role, content, start + 60 * number),
        )


def _repairs(folder: Path) -> None:
    """A repair that was made, and copies of its journal under hostile names, hostile where text stands in it."""
    store, lost = folder / "state.db", frozenset({f"lost {SAMPLES[-3].text}"})
    plan = propose(store, look(read_store(store, folder)), now=time.time(), only=lost)
    done = apply(store, folder, plan, clock=time.time, stopped_by=RAW, chosen_by=RAW)
    journal = done.backup.with_suffix(".json")
    known = json.loads(journal.read_text("ascii"))
    for text in map(file_name, TEXTS[:8]):
        said = {"repair_id": text, "backup": f"{text}.db", "chosen_by": text, "stopped_by": text, "endings": [text]}
        more = {"adoptions": [{**one, "donor": text, "evidence": text} for one in known["adoptions"]]}
        checks = [{"check": text, "state": text, "text": text, "remedy": text}]
        _put(journal.with_name(f"{text}.json"), json.dumps({**known, **said, **more, "checks": checks, "at": 1.0}))


def _files(paths: Paths) -> None:
    """What lies around both databases."""
    rules = [{"name": f"wren rule {text}", "kinds": ["recursive-delete"], "message": text} for text in TEXTS[:40]]
    _put(paths.policy, json.dumps({"version": 1, "about": RAW, "rules": rules}))
    _put(paths.policy_mode, "dry_run\n")
    _put(paths.prompt_policy_mode, RAW)
    _put(paths.prompt_policy, json.dumps({"version": 1, RAW: RAW, "rules": []}))
    _put(paths.settings, json.dumps({RAW: 1, "grace_seconds": {text: text for text in TEXTS}, "durability": RAW}))
    ignored = [{"session": f"chat {text}", "kind": next(iter(KINDS))}
               for text in TEXTS[:5]]  # fmt: skip
    _put(paths.data / "ignored.json", json.dumps({"ignored": ignored}))
    spooled = [{"kind": "issue", "why": text, "at": text, "tool_name": text} for text in TEXTS]
    _put(paths.spool / f"1-{'0' * 12}-000001.jsonl", "".join(json.dumps(one) + "\n" for one in spooled))
    _put(paths.spool / "unreadable.txt", "".join(json.dumps(one) + "\n" for one in spooled))
    home = paths.home
    _put(home / "config.yaml", "plugins:\n  enabled:\n    - agent-ledger\n    - " + json.dumps(RAW) + "\n")
    for number, text in enumerate(TEXTS[:5]):
        name = f"name: agent-ledger\nversion: {text}\nauthor: {text}\n"
        _put(home / "plugins" / file_name(text) / "plugin.yaml", name)
        _put(home / "profiles" / f"{number}{file_name(text)}" / "config.yaml", "")
    _put(home / "plugins" / "agent-ledger" / "plugin.yaml", f"name: agent-ledger\nversion: {RAW}\nauthor: {RAW}\n")
    _put(home / "gateway.pid", json.dumps({"pid": 4_000_000, "kind": RAW, "argv": [RAW], "start_time": 1}))
    _put(home / "logs" / "agent.log", f"{RAW} disk=0 possible FTS write corruption {RAW}\n")
    jobs = [{"id": text, "name": text, "prompt": text, "schedule": {"kind": text}, "state": text} for text in TEXTS]
    _put(home / "cron" / "jobs.json", json.dumps({"jobs": jobs}))
    _put(home / "memories" / "USER.md", "\n§\n".join(TEXTS))
    for text in TEXTS:
        _put(home / "work" / file_name(text), text)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def spoil(folder: Path) -> None:
    """A home in which nothing can be read, and every file says so with hostile words."""
    paths = Paths(folder)
    paths.data.mkdir(parents=True, mode=0o700)
    _put(paths.ledger, RAW * 3)
    _put(paths.state, RAW * 3)
    for path in (paths.policy, paths.prompt_policy, paths.settings, paths.data / "ignored.json", paths.policy_mode):
        _put(path, RAW)
    _put(folder / "config.yaml", RAW)
    _put(folder / "gateway.pid", RAW)
    _put(folder / "plugins" / "agent-ledger", RAW)
    _put(paths.data / "repairs" / "20260102T120000Z-3fa2.json", RAW)
    _put(paths.data / "repairs" / f"{file_name(SAMPLES[0].text)}.json", RAW)


@contextmanager
def current(folder: Path) -> Iterator[None]:
    """The home that the programs of this process take for theirs."""
    before = os.environ.get("HERMES_HOME")
    os.environ["HERMES_HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HERMES_HOME"]
        else:
            os.environ["HERMES_HOME"] = before
