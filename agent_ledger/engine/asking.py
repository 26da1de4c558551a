"""Which conversation is a chat in right now? The gateway names a chat to a plugin by its key, and `state.db` the rest.

Read-only and briefly. The gateway's own routing comes first; where it says nothing that holds, the row that Hermes
would resume for the key. What both mean: Hermes 0.19 and 0.22; hermes-agent #82633, #68539, #108698.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from .databases import could_lock_out, hindrance, read_only_uri
from .end_reasons import RECOVERABLE, RESETS
from .lineage import DEPTH, is_fork, walk

_NEEDED = {"id", "source", "session_key", "parent_session_id", "started_at", "ended_at", "end_reason"}
_BUSY_S = 1.0
"""Nobody's turn waits for a chat's command."""


class UnknownChatError(Exception):
    """The store cannot be read, or has no answer that is certain; the text says which, in a sentence."""


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    source: str
    key: str | None
    ended_at: float | None
    end_reason: str | None
    activity: float
    spoken: bool
    handed_off: bool


def ids_of_session(state: Path, session_id: str) -> tuple[str, ...]:
    """A session and the ids that it had before its compactions, newest first. Raises UnknownChatError."""
    return _asked(state, lambda store: walk(store, session_id)[0]) or (session_id,)


def ids_of_chat(state: Path, key: str, source: str) -> tuple[str, ...]:
    """The same for the session that the chat `key` of a platform is in; empty where it has none.

    It ends before a row that carries another chat's key. Raises UnknownChatError.
    """

    def ids(store: sqlite3.Connection) -> tuple[str, ...]:
        session_id = _find(store, state, key, source)
        chain = walk(store, session_id)[0] if session_id else ()
        return tuple(takewhile(lambda id_: _key_of(store, id_) in (None, "", key), chain))

    return _asked(state, ids) or ()


def _asked(state: Path, question: Callable[[sqlite3.Connection], tuple[str, ...]]) -> tuple[str, ...] | None:
    """What one moment of the store answers; None where there is no store."""
    try:
        info = os.stat(state)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnknownChatError("Hermes' session store cannot be reached.") from error
    if not stat.S_ISREG(info.st_mode):
        raise UnknownChatError("Hermes' session store is no file.")
    if hindrance(state):
        raise UnknownChatError(f"Hermes' session store {hindrance(state)}.")
    if could_lock_out(state, info.st_uid):
        raise UnknownChatError("Hermes' session store belongs to another user and is not in use right now.")
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(state), uri=True, timeout=_BUSY_S)) as connection:
            connection.execute("BEGIN")  # A compaction in between would be half of an answer.
            return question(connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise UnknownChatError("Hermes' session store cannot be read right now.") from error


def _key_of(connection: sqlite3.Connection, session_id: str) -> object:
    row = connection.execute("SELECT session_key FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return None if row is None else row[0]


def _find(connection: sqlite3.Connection, state: Path, key: str, source: str) -> str | None:
    have = {row[1] for row in connection.execute("PRAGMA table_info(sessions)")}
    if not have >= _NEEDED:
        return None
    routed = _routed(connection, state, key)
    row = next(iter(_rows(connection, have, "id = ?", routed)), None) if routed else None
    if row is not None and _may_be(row, key):
        return _newest(connection, have, row)
    own = _rows(connection, have, "session_key = ? AND source = ?", key, source)
    resumed = _resumed(own)
    if resumed is not None:
        return _newest(connection, have, resumed)
    # Hermes writes a session's row with its first turn: until then the routing alone knows it.
    return routed if routed and row is None else None


def _routed(connection: sqlite3.Connection, state: Path, key: str) -> str | None:
    """The session that the gateway's routing names for this chat; None where it names none, or different ones."""
    have = {row[1] for row in connection.execute("PRAGMA table_info(gateway_routing)")}
    if not {"session_key", "entry_json"} <= have:
        return None
    scope = "scope" if "scope" in have else "NULL"
    found = connection.execute(f"SELECT {scope}, entry_json FROM gateway_routing WHERE session_key = ?", (key,))
    named = {(at, session) for at, session in ((at, _session_in(entry)) for at, entry in found) if session}
    ours = {session for at, session in named if at == os.path.realpath(state.with_name("sessions"))}
    sessions = ours or {session for _, session in named}
    return sessions.pop() if len(sessions) == 1 else None


def _session_in(entry: object) -> str | None:
    try:
        value = json.loads(entry) if isinstance(entry, str) else None
    except (ValueError, RecursionError):
        return None
    session = value.get("session_id") if isinstance(value, dict) else None
    return session if isinstance(session, str) and session else None


def _rows(connection: sqlite3.Connection, have: set[str], where: str, *values: Any) -> list[_Row]:
    last = "s.last_activity_at" if "last_activity_at" in have else "NULL"
    handed = "s.handoff_state" if "handoff_state" in have else "NULL"
    found = connection.execute(
        f"SELECT s.id, s.source, s.session_key, s.ended_at, s.end_reason, coalesce({last}, s.started_at), {handed},"
        f" EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id) FROM sessions s WHERE {where}",
        values,
    )
    return [
        _Row(
            str(id_), str(of), key, _seconds(ended), reason, _seconds(active) or 0.0, bool(spoken), given == "completed"
        )
        for id_, of, key, ended, reason, active, given, spoken in found
    ]


def _seconds(cell: object) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) else None


def _may_be(row: _Row, key: str) -> bool:
    """May the routing mean this row? One that carries another chat's key is never shown to this one."""
    return row.key in (None, "", key) and (
        row.ended_at is None or row.end_reason in RECOVERABLE or row.end_reason == "compression"
    )


def _resumed(rows: Sequence[_Row]) -> _Row | None:
    """Of a key's rows, the one that Hermes would go on in after a restart."""
    fence = max((r.ended_at for r in rows if r.ended_at is not None and r.end_reason in RESETS), default=None)
    open_ = [
        row
        for row in rows
        if (row.ended_at is None or row.end_reason in RECOVERABLE or row.handed_off)
        and not (fence is not None and fence > row.activity)
    ]
    return max(open_, key=lambda row: (row.spoken, row.activity), default=None)


def _newest(connection: sqlite3.Connection, have: set[str], row: _Row) -> str:
    """The id that a conversation has now: compaction may have given it others since."""
    config = "model_config" if "model_config" in have else "NULL"
    seen = {row.id}
    session, reason = row.id, row.end_reason
    while reason == "compression" and len(seen) < DEPTH:
        children = connection.execute(
            f"SELECT id, end_reason, source, session_key, {config} FROM sessions WHERE parent_session_id = ?"
            " ORDER BY started_at DESC, id DESC",
            (session,),
        )
        following = next(
            (
                (str(child), why)
                for child, why, source, key, marks in children
                if source == row.source and key in (None, "", row.key) and not is_fork(marks, session)
            ),
            None,
        )
        if following is None or following[0] in seen:
            break
        session, reason = following
        seen.add(session)
    return session
