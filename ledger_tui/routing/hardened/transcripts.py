"""Messages of a session: kept one by one, and read back as a conversation, over an open connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from agent_ledger.engine.end_reasons import COMPRESSION

from ..rows import markers
from .shapes import Message


def append(connection: sqlite3.Connection, session_id: str, messages: Iterable[Message], *, at: float) -> None:
    """Messages of this moment and the row's counters; the caller holds the transaction. Raises sqlite3.Error."""
    said = calls = 0
    for message in messages:
        asked, typed = message.get("tool_calls"), message.get("display_metadata")
        connection.execute(
            "INSERT INTO messages(session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp,"
            " api_content, display_metadata, _compressed_summary) VALUES(?,?,?,?,?,?,?,?,?,?)",
            (
                session_id, message["role"], message.get("content"), message.get("tool_call_id"),
                json.dumps(asked, ensure_ascii=False) if asked else None, message.get("name"), at,
                message.get("api_content"), json.dumps(typed, ensure_ascii=False) if typed else None,
                int(bool(message.get("_compressed_summary"))),
            ),
        )  # fmt: skip
        said, calls = said + 1, calls + len(asked or ())
    connection.execute(
        "UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?,"
        " tool_call_count = COALESCE(tool_call_count, 0) + ?, last_activity_at = ? WHERE id = ?",
        (said, calls, at, session_id),
    )


def read(connection: sqlite3.Connection, session_id: str) -> list[Message]:
    """What is part of the conversation now, oldest first; rewound and folded messages are not. Raises sqlite3.Error."""
    rows = connection.execute(
        "SELECT role, content, tool_call_id, tool_calls, tool_name, api_content, display_metadata, _compressed_summary"
        " FROM messages WHERE session_id = ? AND active = 1 ORDER BY id",
        (session_id,),
    )
    return [_message(*row) for row in rows.fetchall()]


def _message(
    role: str,
    content: str | None,
    call_id: str | None,
    calls: str | None,
    name: str | None,
    api_content: str | None,
    typed: str | None,
    summary: int,
) -> Message:
    optional: dict[str, Any] = {
        "tool_call_id": call_id,
        "tool_calls": json.loads(calls) if calls else None,
        "name": name,
        "api_content": api_content,
        "display_metadata": json.loads(typed) if typed else None,
        "_compressed_summary": True if summary else None,
    }
    return {"role": role, "content": content, **{key: value for key, value in optional.items() if value is not None}}


def tip(connection: sqlite3.Connection, session_id: str) -> str:
    """The session in which this one goes on after its compressions; itself where it was never compressed."""
    seen = {session_id}
    while True:
        following = _continuation(connection, session_id)
        if following is None or following in seen:
            return session_id
        seen.add(following)
        session_id = following


def _continuation(connection: sqlite3.Connection, session_id: str) -> str | None:
    rows = connection.execute(
        "SELECT child.id, child.model_config FROM sessions parent JOIN sessions child"
        " ON child.parent_session_id = parent.id WHERE parent.id = ? AND parent.end_reason = ?"
        " AND child.source <> 'tool' ORDER BY child.started_at DESC",
        (session_id, COMPRESSION),
    )
    return next((child for child, config in rows.fetchall() if session_id not in markers(config)), None)
