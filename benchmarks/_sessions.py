"""A large session store: keyed chats, and orphans of which half carry a link to their donor and half follow in time."""

from __future__ import annotations

import random
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

_START, _SPAN = 1_750_000_000.0, 400 * 86_400.0
_SOURCES = (("telegram", "discord", "slack"), (60, 25, 15))
_ENDS = ("agent_close", "session_reset", "compression", "cli_close")

_SESSIONS = (
    "CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, chat_id TEXT,"
    " chat_type TEXT, thread_id TEXT, parent_session_id TEXT REFERENCES sessions(id), started_at REAL NOT NULL,"
    " ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0, title TEXT, display_name TEXT,"
    " profile_name TEXT, last_activity_at REAL, handoff_state TEXT, archived INTEGER NOT NULL DEFAULT 0,"
    " model_config TEXT)"
)
_MESSAGES = (
    "CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,"
    " content TEXT, timestamp REAL NOT NULL, active INTEGER NOT NULL DEFAULT 1)"
)
_INDEXES = (
    "CREATE INDEX idx_messages_session ON messages(session_id, timestamp)",
    "CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp)",
    "CREATE INDEX idx_sessions_session_key ON sessions(session_key, started_at DESC)",
)

_BY_THE_HOST = """
import sys
from pathlib import Path
from hermes_state import SessionDB
SessionDB(db_path=Path(sys.argv[1])).close()
"""


def make(path: Path, sessions: int, *, seed: int = 7, host: str | None = None) -> None:
    """A store of `sessions` rows, one in fifty an orphan, three messages each. `host` may make its tables."""
    if host is not None:
        run(host, _BY_THE_HOST, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        if host is None:
            for statement in (_SESSIONS, _MESSAGES, *_INDEXES):
                connection.execute(statement)
        _drop_search(connection)
        connection.execute("BEGIN")
        _fill(connection, sessions, random.Random(seed))
        connection.execute("COMMIT")
        connection.execute("ANALYZE")


def run(python: str, code: str, path: Path) -> str:
    """What `code` prints under another interpreter, with a home of its own beside `path`."""
    home = {"HOME": str(path.parent), "HERMES_HOME": str(path.parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([python, "-c", code, str(path)], env=home, capture_output=True, text=True, check=True)
    return done.stdout


def _drop_search(connection: sqlite3.Connection) -> None:
    """Full-text search plays no part here, and filling it would take longer than everything else."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'messages_fts%'"
    for (name,) in connection.execute(sql).fetchall():
        connection.execute(f"DROP TRIGGER {name}")


def _fill(connection: sqlite3.Connection, sessions: int, dice: random.Random) -> None:
    orphans = sessions // 50
    keyed = [_chat(place, sessions - orphans, dice) for place in range(sessions - orphans)]
    lost = [_orphan(place, dice.choice(keyed), dice) for place in range(orphans)]
    names = ("id", "source", "user_id", "session_key", "chat_id", "chat_type", "parent_session_id", "started_at",
             "ended_at", "end_reason", "message_count", "last_activity_at")  # fmt: skip
    rows = ([row.get(name) for name in names] for row in (*keyed, *lost))
    connection.executemany(f"INSERT INTO sessions({', '.join(names)}) VALUES({', '.join('?' * len(names))})", rows)
    said = ((row["id"], role, "m", moment) for row in (*keyed, *lost) for role, moment in _said(row))
    connection.executemany("INSERT INTO messages(session_id, role, content, timestamp) VALUES(?, ?, ?, ?)", said)


def _chat(place: int, total: int, dice: random.Random) -> dict[str, Any]:
    (source,) = dice.choices(*_SOURCES)
    chat = str(100_000_000 + place % max(1, total // 8))
    start = _START + dice.random() * _SPAN
    last = start + dice.random() * 4000
    ended = last + 5 if dice.random() < 0.7 else None
    return {
        "id": f"k{place:07d}", "source": source, "user_id": chat, "session_key": f"agent:main:{source}:dm:{chat}",
        "chat_id": chat, "chat_type": "dm", "started_at": start, "ended_at": ended,
        "end_reason": dice.choice(_ENDS) if ended else None, "message_count": 3, "last_activity_at": last,
    }  # fmt: skip


def _orphan(place: int, donor: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    linked = place % 2 == 0
    start = donor["last_activity_at"] + (dice.random() * 86_400 if linked else 45)
    return {
        "id": f"o{place:07d}", "source": donor["source"], "parent_session_id": donor["id"] if linked else None,
        "started_at": start, "message_count": 3, "last_activity_at": start + 600 + dice.random() * 5000,
    }  # fmt: skip


def _said(row: dict[str, Any]) -> list[tuple[str, float]]:
    start, last = row["started_at"], row["last_activity_at"]
    return [("user", start), ("assistant", (start + last) / 2), ("user", last)]
