"""Session stores made by hand: in the columns that lineage needs, as a recent or as an older Hermes lays them out."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ledger_tui.routing.anomalies.kinds import Anomaly
from ledger_tui.routing.read import Store, read_store
from ledger_tui.routing.survey import Survey, survey

NOW = 1_786_298_400.0
DAY = 86_400.0

_OLD = (
    "id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT,"
    " thread_id TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,"
    " message_count INTEGER DEFAULT 0, title TEXT, display_name TEXT, profile_name TEXT, model_config TEXT,"
    " archived INTEGER NOT NULL DEFAULT 0"
)
_RECENT = f"{_OLD}, last_activity_at REAL, handoff_state TEXT"


class Sessions:
    """A store under construction, kept open by nobody."""

    def __init__(self, path: Path, *, recent: bool = True, wal: bool = False) -> None:
        self.path = path
        with self._open() as connection:
            connection.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
            connection.execute(f"CREATE TABLE sessions({_RECENT if recent else _OLD})")
            connection.execute(
                "CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,"
                " timestamp REAL NOT NULL, active INTEGER NOT NULL DEFAULT 1, display_metadata TEXT)"
            )
            connection.execute("CREATE INDEX by_session ON messages(session_id, timestamp)")
            connection.execute(
                "CREATE TABLE gateway_routing(scope TEXT, session_key TEXT, entry_json TEXT, updated_at REAL,"
                " PRIMARY KEY(scope, session_key))"
            )
            connection.execute(
                "CREATE TABLE compression_locks(session_id TEXT PRIMARY KEY, holder TEXT, acquired_at REAL,"
                " expires_at REAL)"
            )

    def _open(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.path, isolation_level=None))

    def run(self, sql: str, *values: Any) -> None:
        with self._open() as connection:
            connection.execute(sql, values)

    def row(self, key: str, *, said: tuple[float, ...] = (), config: Any = None, **cells: Any) -> str:
        """A session, by default of Telegram and at least an hour old, with a message at each moment of `said`."""
        start = min(NOW - 3600, *(moment - 60 for moment in said)) if said else NOW - 3600
        values = {"id": key, "source": "telegram", "started_at": start, "message_count": len(said), **cells}
        if config is not None:
            values["model_config"] = config if isinstance(config, str) else json.dumps(config)
        self.run(f"INSERT INTO sessions({', '.join(values)}) VALUES({', '.join('?' * len(values))})", *values.values())
        for moment in said:
            self.say(key, moment)
        return key

    def chat(self, key: str, *, said: tuple[float, ...] = (), chat: str = "7001", **cells: Any) -> str:
        """A session of a direct chat, with its whole identity."""
        identity = {
            "session_key": f"agent:main:telegram:dm:{chat}",
            "chat_id": chat,
            "chat_type": "dm",
            "user_id": chat,
        }
        return self.row(key, said=said, **{**identity, **cells})

    def say(self, key: str | None, at: float, content: str = "hello", role: str = "user", active: int = 1) -> None:
        self.run(
            "INSERT INTO messages(session_id, role, content, timestamp, active) VALUES(?, ?, ?, ?, ?)",
            key, role, content, at, active,
        )  # fmt: skip

    def route(self, session_key: str, session_id: str, **more: Any) -> None:
        entry = json.dumps({"session_key": session_key, "session_id": session_id, **more})
        self.run("INSERT INTO gateway_routing VALUES('scope', ?, ?, ?)", session_key, entry, NOW)

    def read(self) -> Store:
        return read_store(self.path, self.path.parent)

    def survey(self, **more: Any) -> Survey:
        return survey(self.read(), **{"now": NOW, **more})

    def anomalies(self, key: str) -> dict[str, Anomaly]:
        """What does not fit about one row, by kind."""
        return {one.kind: one for one in self.survey().anomalies.get(key, ())}
