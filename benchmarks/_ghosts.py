"""A home with a thousand lost calls of every kind, half of which landed, among thousands of settled ones."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths, private_folder
from agent_ledger.engine.records import utc_text
from benchmarks._homes import RESULT, SESSION, call_args, token
from ledger_tui.demo.store import SessionStore

KINDS = 10
"""A ghost's number decides what it is: see `_args`."""

SESSIONS = 40

_COLUMNS = (
    "ts", "session_id", "turn_id", "tool_call_id", "task_id", "tool_name", "args_json", "status", "effect", "grace_s",
    "settled_ts", "reported_ts", "result_digest", "changed", "workplace",
)  # fmt: skip


def fill(home: Path, ghosts: int, settled: int) -> list[int]:
    """Make the home; ids of the ghosts, oldest first. The ghost of number n has `token(n)` in its arguments.

    Between them lie settled calls, whose results the sessions hold, as a host keeps them. Everything happens while the
    home is made: nobody can give a file a false time so well that the verifiers would take it.
    """
    paths = Paths(home)
    private_folder(paths.data)
    work = home / "work"
    for folder in (work, work / "src", work / "lost", home / "cron", home / "memories"):
        folder.mkdir()
    time.sleep(0.2)  # Longer than what a file's time may lie before the clock's.
    begin = time.time()
    rows: list[tuple[Any, ...]] = []
    messages: list[tuple[Any, ...]] = []
    jobs: list[dict[str, Any]] = []
    notes: list[str] = []
    every = max(1, (ghosts + settled) // ghosts)
    for place in range(ghosts + settled):
        number, at = place // every, time.time()
        if place % every or number >= ghosts:
            rows.append(_settled(place, at, work))
            messages.append((*rows[-1][1:4:2], RESULT, at + 0.05))
            continue
        lands = number % 20 >= KINDS
        tool, args, land = _ghost(number, work, "src" if lands else "lost", at, jobs, notes)
        rows.append(_row(place, at, tool, args, work, status="GHOST_REPORTED", reported=at))
        if lands:
            land()
    (home / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    (home / "memories" / "MEMORY.md").write_text("\n§\n".join(notes))
    _keep(paths, rows)
    _talk(paths, begin, messages)
    with contextlib.closing(sqlite3.connect(paths.ledger)) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM ledger WHERE status='GHOST_REPORTED' ORDER BY id")]


def _ghost(
    number: int, work: Path, folder: str, at: float, jobs: list[dict[str, Any]], notes: list[str]
) -> tuple[str, dict[str, Any], Callable[[], object]]:
    """(tool, arguments, what makes it land). Into the folder of what did not land nothing has come since before."""
    name = token(number)
    path = work / folder / f"{name}.md"
    kind = number % KINDS
    if kind < 4:
        return (
            "write_file",
            {"path": f"{folder}/{name}.md", "content": f"# {name}\n"},
            lambda: path.write_text(f"# {name}\n"),
        )
    if kind == 4:
        path = work / "src" / f"{name}.md"
        path.write_text(f"old {name}\n")
        args = {"path": f"src/{name}.md", "mode": "replace", "old_string": f"old {name}", "new_string": f"new {name}"}
        return "patch", args, lambda: path.write_text(f"new {name}\n")
    if kind < 7:
        command = f"mkdir {folder}/{name}" if kind == 5 else f"echo {name} > {folder}/{name}.txt"
        made = work / folder / (name if kind == 5 else f"{name}.txt")
        return "terminal", {"command": command}, made.mkdir if kind == 5 else lambda: made.write_text(f"{name}\n")
    if kind == 7:
        args = {"action": "create", "name": name, "schedule": "0 3 * * *", "prompt": f"Report {name}."}
        job = {"id": f"{number:012x}", **args, "schedule_display": "0 3 * * *", "created_at": utc_text(at + 0.2)}
        return "cronjob", args, lambda: jobs.append(job)
    if kind == 8:
        text = f"{name} likes tea."
        return "memory", {"action": "add", "content": text, "target": "memory"}, lambda: notes.append(text)
    return "mcp__mail__send", {"to": f"{name}@example.org"}, lambda: None


def _settled(place: int, at: float, work: Path) -> tuple[Any, ...]:
    return _row(place, at, "terminal", call_args(place), work, status="CONFIRMED")


def _row(
    place: int, at: float, tool: str, args: dict[str, Any], work: Path, *, status: str, reported: float | None = None
) -> tuple[Any, ...]:
    done = status == "CONFIRMED"
    session = f"{SESSION}-{place % SESSIONS:04d}"
    return (
        utc_text(at), session, f"{session}:turn-{place // 7}", f"call_{place:09d}", session, tool, json.dumps(args),
        status, "done" if done else "unknown", 120.0, utc_text(at + 0.05) if done else None,
        None if reported is None else utc_text(reported), RESULT[:300] if done else None, int(at * 1_000_000),
        f"local:{work}",
    )  # fmt: skip


def _keep(paths: Paths, rows: list[tuple[Any, ...]]) -> None:
    with contextlib.closing(sqlite3.connect(paths.ledger, isolation_level=None)) as connection:
        os.chmod(paths.ledger, 0o600)
        connection.execute("PRAGMA page_size=2048")
        connection.execute("PRAGMA journal_mode=WAL")
        schema.prepare(connection)
        connection.execute("BEGIN")
        marks = ",".join("?" * len(_COLUMNS))
        connection.executemany(f"INSERT INTO ledger({', '.join(_COLUMNS)}) VALUES({marks})", rows)
        connection.execute("COMMIT")


def _talk(paths: Paths, begin: float, messages: list[tuple[Any, ...]]) -> None:
    SessionStore(paths.state, lambda: begin).close()
    with contextlib.closing(sqlite3.connect(paths.state, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for place in range(SESSIONS):
            connection.execute(
                "INSERT INTO sessions(id, source, started_at) VALUES(?, 'cli', ?)", (f"{SESSION}-{place:04d}", begin)
            )
        connection.executemany(
            "INSERT INTO messages(session_id, role, tool_name, tool_call_id, content, timestamp)"
            " VALUES(?, 'tool', 'terminal', ?, ?, ?)",
            messages,
        )
        connection.execute("COMMIT")
