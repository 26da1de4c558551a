"""The host's sessions, from stores of several ages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from agent_ledger.engine.paths import Paths
from ledger_tui.sources.state import StateSource

from .conftest import NOW, WriterProcess, listening

Start = Callable[..., WriterProcess]

OLD = (
    "CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, title TEXT, parent_session_id TEXT,"
    " started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0)"
)
MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, timestamp REAL)"


def begin(writer: WriterProcess, name: str, at: float, **more: object) -> None:
    row = {"id": name, "source": "telegram", "started_at": at, **more}
    marks = ",".join("?" * len(row))
    writer.run(f"INSERT INTO sessions({','.join(row)}) VALUES({marks})", tuple(row.values()))


async def test_sessions_of_an_older_store_appear_change_and_go(paths: Paths, start_writer: Start) -> None:
    async with StateSource(paths, clock=lambda: NOW) as source, listening(source.changes()) as ear:
        first = await ear.until(lambda _: True)
        assert (first.health.state, first.reset, first.sessions, first.at) == ("missing", True, {}, NOW)
        writer = start_writer(paths.state, prepare=False)
        writer.run(OLD)
        writer.run(MESSAGES)
        writer.run("CREATE INDEX m ON messages(session_id, timestamp)")
        begin(writer, "a", 100.0, title="red \x1b[31m title")
        begin(writer, "b", 200.0, parent_session_id="a")
        seen = await ear.until(lambda change: "b" in change.sessions)
        assert seen.health.state == "ok"
        assert seen.sessions["b"].parent_session_id == "a"
        assert seen.sessions["b"].last_active == 200.0
        writer.run("INSERT INTO messages(session_id, role, timestamp) VALUES('a', 'user', 300.0)")
        seen = await ear.until(lambda change: bool(change.sessions))
        assert (seen.reset, list(seen.sessions)) == (False, ["a"])
        assert seen.sessions["a"].last_active == 300.0
        assert seen.sessions["a"].title == "red \\u001b[31m title"
        writer.run("UPDATE sessions SET ended_at = 400.0, end_reason = 'idle' WHERE id = 'b'")
        seen = await ear.until(lambda change: bool(change.sessions))
        assert (list(seen.sessions), seen.sessions["b"].end_reason) == (["b"], "idle")
        writer.run("DELETE FROM sessions WHERE id = 'a'")
        seen = await ear.until(lambda change: change.reset)
        assert list(seen.sessions) == ["b"]


async def test_a_store_with_few_columns_and_no_messages(paths: Paths) -> None:
    paths.home.mkdir()
    with sqlite3.connect(paths.state) as db:
        db.execute("CREATE TABLE sessions(id TEXT PRIMARY KEY, started_at, last_activity_at)")
        db.execute("INSERT INTO sessions VALUES('a', 100.0, 150.0), ('b', 'never', -5), ('c', 100.0, NULL)")
    db.close()
    async with StateSource(paths) as source, listening(source.changes()) as ear:
        seen = await ear.until(lambda change: change.reset)
        assert {key: info.last_active for key, info in seen.sessions.items()} == {"a": 150.0, "b": None, "c": 100.0}
        assert (seen.sessions["a"].source, seen.sessions["a"].message_count) == (None, None)


async def test_the_most_recent_come_first_also_old_sessions_that_speak_again(paths: Paths) -> None:
    paths.home.mkdir()
    with sqlite3.connect(paths.state) as db:
        db.execute(OLD)
        db.execute(MESSAGES)
        db.execute("CREATE INDEX m ON messages(session_id)")
        db.executemany(
            "INSERT INTO sessions(id, source, started_at) VALUES(?, 'cli', ?)", ((f"s{n}", n) for n in range(700))
        )
        db.execute("INSERT INTO messages(session_id, role, timestamp) VALUES('s3', 'user', 9000.0)")
    db.close()
    async with StateSource(paths) as source, listening(source.changes()) as ear:
        seen = await ear.until(lambda change: change.reset)
        assert len(seen.sessions) == 500
        assert next(iter(seen.sessions)) == "s3"
        assert "s201" in seen.sessions
        assert "s200" not in seen.sessions


async def test_a_store_without_sessions_is_empty(paths: Paths) -> None:
    paths.home.mkdir()
    with sqlite3.connect(paths.state) as db:
        db.execute("CREATE TABLE other(id)")
    db.close()
    async with StateSource(paths) as source, listening(source.changes()) as ear:
        seen = await ear.until(lambda change: change.reset)
        assert (seen.sessions, seen.health.state) == ({}, "ok")


async def test_a_link_that_leads_to_itself_is_said_and_forgotten(paths: Paths) -> None:
    paths.home.mkdir()
    paths.state.symlink_to(paths.state)
    async with StateSource(paths) as source, listening(source.changes()) as ear:
        seen = await ear.until(lambda _: True)
        assert (seen.health.state, seen.sessions) == ("unreadable", {})
        assert "symbolic links" in seen.health.text
        paths.state.unlink()
        with sqlite3.connect(paths.state) as db:
            db.execute(OLD)
            db.execute("INSERT INTO sessions(id, source, started_at) VALUES('a', 'cli', 1.0)")
        db.close()
        assert list((await ear.until(lambda change: change.health.state == "ok")).sessions) == ["a"]
