"""The simulated host's own `state.db`: the layout of a real one, and the hardened session store on top."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from ledger_tui.demo.story import Chat
from ledger_tui.routing.hardened import SOUND, Faults, HardenedStore, Identity, Message, Origin, Routes

BUSY_S = 0.25
"""How long a write waits for somebody else's."""

_SCHEMA = """
PRAGMA journal_mode=WAL;
CREATE TABLE schema_version(version INTEGER NOT NULL);
INSERT INTO schema_version VALUES(31);
CREATE TABLE sessions(
    id TEXT PRIMARY KEY, source TEXT NOT NULL, created_source TEXT, user_id TEXT, session_key TEXT, chat_id TEXT,
    chat_type TEXT, thread_id TEXT, display_name TEXT, origin_json TEXT, expiry_finalized INTEGER DEFAULT 0,
    model TEXT, model_config TEXT, system_prompt TEXT, parent_session_id TEXT REFERENCES sessions(id),
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0, api_call_count INTEGER DEFAULT 0, cwd TEXT, git_repo_root TEXT, title TEXT,
    last_activity_at REAL, handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT, profile_name TEXT,
    transport_profile TEXT, archived INTEGER NOT NULL DEFAULT 0, auto_archived INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT 0, hidden INTEGER NOT NULL DEFAULT 0, last_read_at REAL);
CREATE INDEX idx_sessions_key ON sessions(session_key, started_at DESC);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE UNIQUE INDEX idx_sessions_title ON sessions(title) WHERE title IS NOT NULL;
CREATE TABLE messages(
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT,
    display_kind TEXT, display_metadata TEXT, _compressed_summary INTEGER NOT NULL DEFAULT 0);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE TABLE gateway_routing(
    scope TEXT NOT NULL DEFAULT '', session_key TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at REAL NOT NULL,
    PRIMARY KEY(scope, session_key));
CREATE TABLE compression_locks(
    session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE session_turn_leases(
    conversation_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE gateway_heartbeats(
    backend_id TEXT PRIMARY KEY, pid INTEGER NOT NULL, started_at REAL NOT NULL, last_heartbeat REAL NOT NULL,
    profile TEXT NOT NULL DEFAULT '', host TEXT NOT NULL DEFAULT '');
"""

MODEL = "simulated-model"


def identity_of(chat: Chat) -> Identity:
    """By what the simulated gateway finds a chat again; a session at the machine has its source only."""
    if chat.session_key is None:
        return Identity(chat.source)
    origin = {"platform": chat.source, "chat_id": chat.chat_id, "chat_type": chat.chat_type, "user_id": chat.user_id}
    return Identity(
        chat.source,
        chat.session_key,
        chat.user_id,
        chat.chat_id,
        chat.chat_type,
        display_name=chat.title,
        origin_json=json.dumps(origin),
    )


class SessionStore:
    """The one writing connection of the simulated host. A file that is not there is made."""

    def __init__(self, path: Path, clock: Callable[[], float], *, faults: Faults = SOUND) -> None:
        """`clock` gives seconds since 1970. Raises sqlite3.Error, OSError."""
        new = not path.exists()
        if new:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_S)
        if new:
            self._connection.executescript(_SCHEMA)
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._hardened = HardenedStore(self._connection, clock=clock, faults=faults)

    def close(self) -> None:
        self._connection.close()

    def routes(self) -> Routes:
        """The routing table of a gateway that starts now."""
        return Routes(self._hardened, scope=str(self.path.parent / "sessions"))

    def add_session(self, session_id: str, chat: Chat, *, parent: str | None) -> None:
        """The row of a session at the machine, or of a delegate."""
        config = {"_delegate_from": parent} if parent else None
        self._hardened.create(session_id, identity_of(chat), Origin(parent=parent, model=MODEL, model_config=config))

    def title_session(self, session_id: str, title: str | None) -> None:
        """What a conversation is about, as a model put it."""
        self._connection.execute("UPDATE sessions SET title=? WHERE id=?", (title, session_id))

    def count_request(self, session_id: str) -> None:
        """A model was asked in this conversation, be it for an answer, a title or a summary."""
        self._connection.execute("UPDATE sessions SET api_call_count=api_call_count+1 WHERE id=?", (session_id,))

    def end_session(self, session_id: str, reason: str) -> None:
        self._hardened.end(session_id, reason)

    def add_message(self, session_id: str, chat: Chat, message: Message) -> None:
        """Keep one message of the conversation, in the shape in which the host hands it to the model."""
        self._hardened.append(session_id, identity_of(chat), message)

    def transcript(self, session_id: str) -> list[Message]:
        """Raises TranscriptReadError."""
        return self._hardened.transcript(session_id)

    def fold(self, session_id: str) -> None:
        """Compaction: what was said so far stays in the file and is no longer part of the conversation."""
        self._connection.execute(
            "UPDATE messages SET active=0, compacted=1 WHERE session_id=? AND active=1", (session_id,)
        )

    def compress(self, before: str, after: str, chat: Chat, summary: Message, title: str | None) -> None:
        """The conversation goes on under a new id, in which its summary is the first message."""
        origin = Origin(model=MODEL, title=title)
        self._hardened.compress(before, after, identity_of(chat), [summary], origin)
