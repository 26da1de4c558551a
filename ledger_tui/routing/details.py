"""First and last messages of one session, for the details pane and for comparing donors.

What a message says is its content and nothing else: where a policy withheld one, that is the host's marker. What was
typed there stands in columns that are not read here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine.inert import clip, inert
from agent_ledger.engine.records import Inert
from ledger_tui.sources.guard import connect, explain

from .read import indexed_by_session, lenient, read_layout
from .rows import as_stored, number, text, usable

LINE = 200
"""Characters of a message that are shown."""

_MOST = 20_000
"""Bytes of a message that are read: some hold whole files. As text, SQLite would stop at a zero byte."""

_PARTS = "\x00json:"
"""What the host puts before content of several parts, such as pictures with a text."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as one line."""

    role: Inert
    at: float | None
    """Seconds since 1970."""
    text: Inert


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The ends of a conversation; `last` holds nothing that stands in `first` already."""

    first: tuple[Message, ...] = ()
    last: tuple[Message, ...] = ()
    total: int = 0


def first_and_last(path: Path, session_id: str, count: int = 3) -> Excerpt:
    """At most `count` messages from either end. Raises SourceError."""
    with closing(connect(path, timeout_s=1.0)) as connection:
        try:
            return excerpt(connection, session_id, count)
        except sqlite3.Error as error:
            raise explain(path, error) from error


def excerpt(connection: sqlite3.Connection, session_id: str, count: int = 3) -> Excerpt:
    """The same over an open read-only connection. Raises sqlite3.Error.

    Nothing is read where messages are not indexed by session: a large store would be held up by a walk through it.
    """
    lenient(connection)
    have = read_layout(connection).messages
    if not {"id", "session_id", "timestamp"} <= have or not indexed_by_session(connection):
        return Excerpt()
    content = f"substr(CAST(content AS BLOB), 1, {_MOST})" if "content" in have else "NULL"
    called = f"substr(CAST(tool_calls AS BLOB), 1, {_MOST})" if "tool_calls" in have else "NULL"
    role = "role" if "role" in have else "NULL"
    sql = f"SELECT id, {role}, timestamp, {content}, {called} FROM messages WHERE session_id = CAST(?1 AS TEXT)"
    key = as_stored(session_id)
    # By time and not by number: that order is the index's own, so that only these rows are read.
    first = connection.execute(f"{sql} ORDER BY timestamp, id LIMIT ?2", (key, count)).fetchall()
    last = connection.execute(f"{sql} ORDER BY timestamp DESC, id DESC LIMIT ?2", (key, count)).fetchall()
    number_of = "SELECT count(*) FROM messages WHERE session_id = CAST(?1 AS TEXT)"
    ((total,),) = connection.execute(number_of, (key,)).fetchall()
    seen = {row[0] for row in first}
    rest = [row for row in reversed(last) if row[0] not in seen]
    return Excerpt(tuple(map(_message, first)), tuple(map(_message, rest)), int(total))


def _message(row: Sequence[Any]) -> Message:
    _, role, at, content, called = row
    said = _readable(text(content) or "") or _calls(text(called) or "")
    return Message(inert(text(role) or "?"), usable(number(at)), inert(clip(said, LINE)))


def _calls(stored: str) -> str:
    """What a message calls that says nothing, in brackets: the names of the tools, as far as they can be read."""
    if not stored.strip().startswith("["):
        return ""
    try:
        calls = json.loads(stored)
    except (ValueError, RecursionError):
        return "[calls tools]"
    called = [call.get("function") for call in calls if isinstance(call, dict)]
    names = [one["name"] for one in called if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return f"[calls {', '.join(names)}]" if names else ""


def _readable(content: str) -> str:
    """Content of several parts as its texts, other parts named by their kind in brackets."""
    if not content.startswith(_PARTS):
        return content
    try:
        parts = json.loads(content.removeprefix(_PARTS))
    except (ValueError, RecursionError):
        return content.removeprefix(_PARTS)
    if not isinstance(parts, list):
        return content.removeprefix(_PARTS)
    return " ".join(_part(part) for part in parts)


def _part(part: object) -> str:
    if not isinstance(part, dict):
        return str(part)
    said = part.get("text")
    return said if isinstance(said, str) else f"[{part.get('type') or 'part'}]"
