"""A host that asks the plugin from a chat: what it binds around the command, and its `state.db`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from contextvars import Context, ContextVar
from pathlib import Path
from typing import Any

import agent_ledger as door
from agent_ledger.engine import asking

NAMES = ("HERMES_SESSION_KEY", "HERMES_SESSION_PLATFORM", "HERMES_SESSION_ID", "HERMES_CRON_SESSION")
VARIABLES: dict[str, ContextVar[str]] = {name: ContextVar(name) for name in NAMES}
KEY = "agent:main:telegram:dm:4711"
OTHER = "agent:main:telegram:dm:4712"

SESSIONS = """\
CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, session_key TEXT, parent_session_id TEXT,
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, model_config TEXT, last_activity_at REAL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT);
CREATE TABLE gateway_routing(scope TEXT, session_key TEXT, entry_json TEXT, updated_at REAL);
"""


def asked(words: str = "", **bound: str) -> str:
    """The answer to `/ledger WORDS` where the host bound these variables, by their names without `HERMES_`."""

    def run() -> str:
        for name, value in bound.items():
            VARIABLES[f"HERMES_{name}"].set(value)
        return door.chat_command(words)

    return Context().run(run)


def gateway(words: str = "", key: str = KEY) -> str:
    """The same from a chat of the messaging gateway of Hermes 0.22."""
    return asked(words, SESSION_KEY=key, SESSION_PLATFORM="telegram", SESSION_ID="", CRON_SESSION="")


class Store:
    """A host's `state.db`."""

    def __init__(self, home: Path) -> None:
        self.path = home / "state.db"
        with closing(sqlite3.connect(self.path)) as made:
            made.executescript(SESSIONS)

    def session(self, id_: str, key: str | None, started: float, spoken: bool = True, **cells: Any) -> None:
        row = {"id": id_, "source": "telegram", "session_key": key, "started_at": started, **cells}
        with closing(sqlite3.connect(self.path)) as store:
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            store.execute(f"INSERT INTO sessions({names}) VALUES({marks})", tuple(row.values()))
            if spoken:
                store.execute("INSERT INTO messages(session_id) VALUES(?)", (id_,))
            store.commit()

    def route(self, key: str, session: str, scope: str | None = None) -> None:
        where = str((self.path.parent / "sessions").resolve()) if scope is None else scope
        entry = json.dumps({"session_key": key, "session_id": session})
        with closing(sqlite3.connect(self.path)) as store:
            store.execute("INSERT INTO gateway_routing VALUES(?, ?, ?, 0)", (where, key, entry))
            store.commit()

    def of(self, key: str = KEY) -> tuple[str, ...]:
        return asking.ids_of_chat(self.path, key, "telegram")
