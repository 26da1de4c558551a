"""The simulated host's own `state.db`: sessions and messages in the columns that a real host has for them."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ledger_tui.demo.story import Chat

_SCHEMA = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=NORMAL;
CREATE TABLE schema_version(version INTEGER NOT NULL);
INSERT INTO schema_version VALUES(31);
CREATE TABLE sessions(
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT,
    thread_id TEXT, display_name TEXT, origin_json TEXT, model TEXT, model_config TEXT,
    parent_session_id TEXT REFERENCES sessions(id), started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
    message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0, title TEXT, cwd TEXT,
    archived INTEGER NOT NULL DEFAULT 0, profile_name TEXT, handoff_state TEXT, last_activity_at REAL,
    api_call_count INTEGER DEFAULT 0);
CREATE INDEX idx_sessions_key ON sessions(session_key, started_at DESC);
CREATE UNIQUE INDEX idx_sessions_title ON sessions(title) WHERE title IS NOT NULL;
CREATE TABLE messages(
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT,
    display_metadata TEXT);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE TABLE gateway_routing(
    scope TEXT NOT NULL, session_key TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at REAL NOT NULL,
    PRIMARY KEY(scope, session_key));
"""

MODEL = "simulated-model"


class SessionStore:
    """The one writing connection of the simulated host. Times are seconds since 1970."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._scope = str(path.parent / "sessions")
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def add_session(self, session_id: str, chat: Chat, *, at: float, parent: str | None, title: str | None) -> None:
        """A new row with its whole identity; a messaging chat is routed to it from now on."""
        config = {"_delegate_from": parent} if chat.child_of else {}
        self._connection.execute(
            "INSERT INTO sessions(id, source, user_id, session_key, chat_id, chat_type, model, model_config,"
            " parent_session_id, started_at, title, profile_name, last_activity_at)"
            " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                session_id, chat.source, chat.user_id, chat.session_key, chat.chat_id, chat.chat_type, MODEL,
                json.dumps(config), parent, at, title, "default", at,
            ),
        )  # fmt: skip
        if chat.session_key:
            entry = {"session_id": session_id, "platform": chat.source, "chat_type": chat.chat_type}
            self._connection.execute(
                "INSERT OR REPLACE INTO gateway_routing VALUES(?,?,?,?)",
                (self._scope, chat.session_key, json.dumps(entry), at),
            )

    def title_session(self, session_id: str, title: str | None) -> None:
        """What a conversation is about, as a model put it."""
        self._connection.execute("UPDATE sessions SET title=? WHERE id=?", (title, session_id))

    def count_request(self, session_id: str) -> None:
        """A model was asked in this conversation, be it for an answer, a title or a summary."""
        self._connection.execute("UPDATE sessions SET api_call_count=api_call_count+1 WHERE id=?", (session_id,))

    def end_session(self, session_id: str, reason: str, *, at: float) -> None:
        self._connection.execute(
            "UPDATE sessions SET ended_at=?, end_reason=? WHERE id=? AND ended_at IS NULL", (at, reason, session_id)
        )

    def add_message(self, session_id: str, message: Mapping[str, Any], *, at: float) -> None:
        """Keep one message of the conversation, in the shape in which the host hands it to the model."""
        calls, typed = message.get("tool_calls"), message.get("display_metadata")
        with self._connection:
            self._connection.execute("BEGIN")
            self._connection.execute(
                "INSERT INTO messages(session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp,"
                " api_content, display_metadata) VALUES(?,?,?,?,?,?,?,?,?)",
                (
                    session_id, message["role"], message.get("content"), message.get("tool_call_id"),
                    json.dumps(calls) if calls else None, message.get("name"), at, message.get("api_content"),
                    json.dumps(typed, ensure_ascii=False) if typed else None,
                ),
            )  # fmt: skip
            self._connection.execute(
                "UPDATE sessions SET message_count=message_count+1, tool_call_count=tool_call_count+?,"
                " last_activity_at=? WHERE id=?",
                (len(calls or ()), at, session_id),
            )

    def fold(self, session_id: str) -> None:
        """Compaction: what was said so far stays in the file and is no longer part of the conversation."""
        self._connection.execute(
            "UPDATE messages SET active=0, compacted=1 WHERE session_id=? AND active=1", (session_id,)
        )
