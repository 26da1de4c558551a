"""First and last messages of one session, for the details pane and for comparing donors."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.inert import clip, inert
from agent_ledger.engine.records import Inert
from ledger_tui.sources.guard import connect, explain

from .read import lenient, read_layout
from .rows import number, text, usable

LINE = 200
"""Characters of a message that are shown."""


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
    """The same over an open read-only connection. Raises sqlite3.Error."""
    lenient(connection)
    have = read_layout(connection).messages
    if not {"id", "session_id"} <= have:
        return Excerpt()
    columns = ", ".join(name if name in have else "NULL" for name in ("id", "role", "timestamp", "content"))
    sql = f"SELECT {columns} FROM messages WHERE session_id = ? ORDER BY id"
    key = session_id.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    first = connection.execute(f"{sql} LIMIT ?", (key, count)).fetchall()
    last = connection.execute(f"{sql} DESC LIMIT ?", (key, count)).fetchall()
    ((total,),) = connection.execute("SELECT count(*) FROM messages WHERE session_id = ?", (key,)).fetchall()
    seen = {row[0] for row in first}
    return Excerpt(
        tuple(map(_message, first)), tuple(_message(row) for row in reversed(last) if row[0] not in seen), int(total)
    )


def _message(row: Sequence[object]) -> Message:
    _, role, at, content = row
    shown = inert(clip(text(content) or "", LINE))
    return Message(inert(text(role) or "?"), usable(number(at)), shown)
