"""The host's sessions as a stream of changes, from a `state.db` of any version."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import Inert, utc_seconds

from .health import Beside, Health, health_of
from .reading import SLICE_S, SliceTimeoutError, slice_of_time
from .source import Source

__all__ = ["Health", "SessionInfo", "StateChange", "StateSource"]

FLOOR_S = 0.5
"""Least time between two readings: the host commits with every message, and the list of sessions need not race it."""

FIRST = 500
"""Sessions that come with the first reading: the most recent."""

KEPT = 1000
"""Sessions that are followed; the ones quiet for longest are let go."""

_NEW_MESSAGES = 5000
"""Of at most so many messages it is looked up whose they are."""

_AT_ONCE = 100
_COLUMNS = (
    "id", "source", "title", "parent_session_id", "started_at", "ended_at", "end_reason", "message_count",
    "last_activity_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session. Text is inert; what the file does not tell is None; times are seconds since 1970."""

    id: Inert
    source: Inert | None
    title: Inert | None
    parent_session_id: Inert | None
    started_at: float | None
    ended_at: float | None
    end_reason: Inert | None
    message_count: int | None
    last_active: float | None
    """The later of the host's own mark and the newest message; its start where there is neither."""


@dataclass(frozen=True, slots=True)
class StateChange:
    at: float
    """Clock when it was read, seconds since 1970."""
    reset: bool
    """The first reading, or another file, or sessions went: forget everything."""
    sessions: dict[str, SessionInfo]
    """By id, those that changed; on reset the most recent ones."""
    health: Health


class StateSource(Source):
    """`async with StateSource(paths) as source: async for change in source.changes(): ...`"""

    def __init__(self, paths: Paths, *, state: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        super().__init__(
            state if state is not None else paths.state, what="session store", clock=clock, floor_s=FLOOR_S
        )
        self._sessions = Sessions()
        self._health: Health | None = None

    async def changes(self) -> AsyncGenerator[StateChange, None]:
        """Every change, and every change of health. The first comes at once, also when there is no file. Never ends."""
        self._anew()
        self._health = None
        async with aclosing(self._moments()) as moments:
            async for _ in moments:
                missing = self._missing
                found = await self._look(self._anew, lambda db: self._sessions.advance(db))
                gone = self._missing and not missing
                health = health_of(self.trouble, Beside(), foreign=False)
                if found is None and not gone and health == self._health:
                    continue
                self._health = health
                reset, sessions = found or (gone, {})
                self._held = bool(sessions) or (self._held and not reset)
                yield StateChange(self._clock(), reset, sessions, health)

    def _anew(self) -> None:
        self._sessions = Sessions()


class Sessions:
    """Follows the sessions of one `state.db` over one connection, at the cost of the ones it follows."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._known: dict[str, SessionInfo] = {}
        self._row = 0
        self._message = 0

    def advance(self, connection: sqlite3.Connection) -> tuple[bool, dict[str, SessionInfo]] | None:
        """(everything anew?, sessions that changed), None when nothing did. Raises sqlite3.Error."""
        ((version,),) = connection.execute("PRAGMA data_version").fetchall()
        if version == self._version:
            return None
        first = self._version is None
        store = _Store(connection)
        row, message = store.tops()
        if row < self._row or message < self._message:
            first = True
        ids = store.newest(FIRST) if first else [*self._known, *store.added(self._row)]
        ids += store.spoken(max(0 if first else self._message, message - _NEW_MESSAGES))
        found = store.read(dict.fromkeys(ids))
        if not first and not self._known.keys() <= found.keys():
            self._version = None  # Sessions were deleted.
            return self.advance(connection)
        changed = found if first else {key: info for key, info in found.items() if self._known.get(key) != info}
        if first:
            changed = _most_recent(found, FIRST)
        self._known = _most_recent(changed if first else self._known | found, KEPT)
        self._version, self._row, self._message = version, row, message
        return (first, changed) if first or changed else None


def _most_recent(sessions: dict[str, SessionInfo], limit: int) -> dict[str, SessionInfo]:
    ordered = sorted(sessions.items(), key=lambda item: item[1].last_active or 0.0, reverse=True)
    return dict(ordered[:limit])


class _Store:
    """The questions, as far as this file's tables and columns allow; what is not there is empty."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._columns = self._names("sessions")
        messages = self._names("messages")
        self._messages = {"id", "session_id"} <= messages
        # Without an index that starts with the session, the newest message of each would cost the whole table.
        self._timed = "timestamp" in messages and self._session_index()

    def _names(self, table: str) -> frozenset[str]:
        return frozenset(row[0] for row in self._rows("SELECT name FROM pragma_table_info(?)", (table,)))

    def _session_index(self) -> bool:
        leading = self._rows(
            "SELECT c.name FROM pragma_index_list('messages') i, pragma_index_info(i.name) c WHERE c.seqno = 0"
        )
        return ("session_id",) in leading

    def _rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, params).fetchall()

    def tops(self) -> tuple[int, int]:
        """Highest row of sessions and highest message; 0 where there is none."""
        row = self._rows("SELECT max(rowid) FROM sessions")[0][0] if self._columns else 0
        message = self._rows("SELECT max(id) FROM messages")[0][0] if self._messages else 0
        return row or 0, message or 0

    def newest(self, limit: int) -> list[str]:
        return self._ids("SELECT id FROM sessions ORDER BY rowid DESC LIMIT ?", limit)

    def added(self, row: int) -> list[str]:
        return self._ids("SELECT id FROM sessions WHERE rowid > ?", row)

    def spoken(self, message: int) -> list[str]:
        """Sessions with messages after this one."""
        return self._ids("SELECT DISTINCT session_id FROM messages WHERE id > ?", message) if self._messages else []

    def _ids(self, sql: str, value: int) -> list[str]:
        return [str(row[0]) for row in self._rows(sql, (value,))] if "id" in self._columns else []

    def read(self, ids: Iterable[str]) -> dict[str, SessionInfo]:
        """Those of `ids` that exist."""
        wanted = list(ids)
        found: dict[str, SessionInfo] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            for row in self._read_part(wanted[start : start + _AT_ONCE]):
                found[str(row[0])] = _session(row)
        return found

    def _read_part(self, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        columns = ", ".join(f"s.{name}" if name in self._columns else "NULL" for name in _COLUMNS)
        newest = "(SELECT max(timestamp) FROM messages m WHERE m.session_id = s.id)" if self._timed else "NULL"
        sql = f"SELECT {columns}, {newest} FROM sessions s WHERE s.id IN ({','.join('?' * len(ids))})"
        if not self._timed:
            return self._rows(sql, ids)
        try:
            with slice_of_time(self._connection, SLICE_S):
                return self._rows(sql, ids)
        except SliceTimeoutError:
            # Then the host's own mark of activity has to do, rather than holding up its writes.
            self._timed = False
            return self._read_part(ids)


def _session(row: Sequence[Any]) -> SessionInfo:
    key, source, title, parent, started, ended, reason, count, active, spoken = row
    times = [moment for moment in (utc_seconds(active), utc_seconds(spoken)) if moment is not None]
    return SessionInfo(
        id=inert(str(key)),
        source=_text(source),
        title=_text(title),
        parent_session_id=_text(parent),
        started_at=utc_seconds(started),
        ended_at=utc_seconds(ended),
        end_reason=_text(reason),
        message_count=int(count) if isinstance(count, (int, float)) else None,
        last_active=max(times, default=utc_seconds(started)),
    )


def _text(value: object) -> Inert | None:
    if value is None:
        return None
    return inert(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))
