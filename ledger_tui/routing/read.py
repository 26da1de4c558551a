"""A `state.db` of any version from 0.19 on, read whole: every session, and what its messages say about it.

Read-only to the letter, and never in the holder's way: one snapshot where the file is in WAL mode, and elsewhere
slices so short that the holder's commits get through between them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger_tui.sources.guard import connect, explain
from ledger_tui.sources.reading import one_snapshot

from .owners import store_owner
from .rows import COLUMNS, EARLIEST, LATEST, Session, session

SLICE_S = 0.03
"""Aim for one statement outside WAL mode, where a running read keeps the holder from committing."""

BREATH_S = 0.005
"""Pause between two slices, in which a waiting holder gets its turn."""

_FIRST, _SMALLEST, _LARGEST = 500, 20, 20_000
_BUSY_S = 5.0


class ReadingStoppedError(Exception):
    """The person called the reading off."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading is: rows read of rows there are; both counts grow with sessions and messages alike."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What this file holds, so that nothing is asked of it that it lacks."""

    tables: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    """Columns of `sessions`; empty where there is no such table."""
    messages: frozenset[str] = frozenset()
    wal: bool = True
    version: int | None = None
    """`schema_version`: 22 in Hermes 0.19.0, 31 in 0.22.2. None where the file does not tell."""


@dataclass(frozen=True, slots=True)
class Store:
    """All sessions of one file at one moment."""

    sessions: dict[str, Session] = field(default_factory=dict)
    """By id, in the order of the rows."""
    owner: str | None = None
    """Profile that the store belongs to; None fences nothing off."""
    layout: Layout = field(default_factory=Layout)
    lost_messages: dict[str, int] = field(default_factory=dict)
    """Messages by the id of a session that has no row."""
    routes: dict[str, str] = field(default_factory=dict)
    """`entry_json` of `gateway_routing` by session key; the newest where scopes share a key."""
    moved: bool = False
    """The file was written to while it was read in slices: rows may not agree with each other."""

    @property
    def recent_host(self) -> bool:
        """Was the file last opened for writing by a 0.22 or later, whose search after a restart is the newer one?"""
        return "last_activity_at" in self.layout.sessions


Tell = Callable[[Progress], None]
Stopped = Callable[[], bool]


def read_store(path: Path, home: Path, *, tell: Tell | None = None, stopped: Stopped | None = None) -> Store:
    """Reads the store at `path`. Raises SourceError (whose `state` may be `missing`) and ReadingStoppedError."""
    with closing(connect(path, timeout_s=_BUSY_S)) as connection:
        try:
            return read_sessions(connection, store_owner(path, home), tell=tell, stopped=stopped)
        except sqlite3.Error as error:
            raise explain(path, error) from error


def read_sessions(
    connection: sqlite3.Connection, owner: str | None, *, tell: Tell | None = None, stopped: Stopped | None = None
) -> Store:
    """The same over an open read-only connection in autocommit mode. Raises sqlite3.Error and ReadingStoppedError."""
    lenient(connection)
    layout = read_layout(connection)
    if "id" not in layout.sessions:
        return Store(owner=owner, layout=layout)
    with _undisturbed(connection, layout.wal) as moved:
        reader = _Reader(connection, layout, tell, stopped)
        spoken = reader.spoken()
        sessions = {}
        for values in reader.sessions():
            row = session(values)
            sessions[row.id] = row._replace(**_said(spoken.pop(row.id, None)))
        routes = reader.routes()
    lost = {key: count for key, (count, _) in spoken.items()}
    return Store(sessions, owner, layout, lost, routes, moved())


def read_layout(connection: sqlite3.Connection) -> Layout:
    """Tables and columns. Raises sqlite3.Error."""
    ((mode,),) = connection.execute("PRAGMA journal_mode").fetchall()
    tables = frozenset(str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'"))
    sessions, messages = (_names(connection, table) for table in ("sessions", "messages"))
    version = None
    if "schema_version" in tables and "version" in _names(connection, "schema_version"):
        row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
        version = row[0] if row and isinstance(row[0], int) else None
    return Layout(tables, sessions, messages, str(mode).lower() == "wal", version)


def lenient(connection: sqlite3.Connection) -> None:
    """Text that is no UTF-8 is read all the same; each odd byte stays one odd character."""
    connection.text_factory = _decoded


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _names(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))


@contextmanager
def _undisturbed(connection: sqlite3.Connection, wal: bool) -> Iterator[Callable[[], bool]]:
    """One snapshot in WAL mode, where it is in nobody's way; elsewhere only a look at whether something changed."""
    if wal:
        with one_snapshot(connection):
            yield lambda: False
        return
    before = _data_version(connection)
    yield lambda: _data_version(connection) != before


def _data_version(connection: sqlite3.Connection) -> int:
    ((version,),) = connection.execute("PRAGMA data_version").fetchall()
    return int(version)


def _said(counted: tuple[int, float | None] | None) -> dict[str, Any]:
    return {} if counted is None else {"messages": counted[0], "spoken_at": counted[1]}


class _Reader:
    """Goes through the tables by key, in pages that take about one slice each."""

    def __init__(
        self, connection: sqlite3.Connection, layout: Layout, tell: Tell | None, stopped: Stopped | None
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._tell = tell
        self._stopped = stopped
        self._done = 0
        self._total = self._highest("sessions", "rowid")
        if "id" in layout.messages:
            self._total += self._highest("messages", "id")

    def _highest(self, table: str, key: str) -> int:
        ((highest,),) = self._connection.execute(f"SELECT max({key}) FROM {table}").fetchall()
        return int(highest or 0)

    def sessions(self) -> Iterator[Sequence[Any]]:
        """Every row that has an id, in the order of `COLUMNS`."""
        have = self._layout.sessions
        columns = ", ".join(name if name == "rowid" or name in have else "NULL" for name in COLUMNS)
        sql = f"SELECT {columns} FROM sessions WHERE rowid > ? AND id IS NOT NULL ORDER BY rowid LIMIT ?"
        for page in self._pages(sql, -(2**63), lambda row: row[0]):
            yield from page

    def spoken(self) -> dict[str, tuple[int, float | None]]:
        """Messages and time of the newest one, by session id."""
        if not {"session_id", "timestamp"} <= self._layout.messages:
            return {}
        trusted = f"CASE WHEN timestamp BETWEEN {EARLIEST} AND {LATEST} THEN timestamp END"
        if self._indexed():
            sql = (
                f"SELECT session_id, count(*), max({trusted}) FROM messages WHERE session_id > ?"
                " GROUP BY session_id ORDER BY session_id LIMIT ?"
            )
            pages = self._pages(sql, "", lambda row: row[0])
            return {str(row[0]): (row[1], row[2]) for page in pages for row in page}
        sql = f"SELECT id, session_id, {trusted} FROM messages WHERE id > ? ORDER BY id LIMIT ?"
        found: dict[str, tuple[int, float | None]] = {}
        for page in self._pages(sql, -(2**63), lambda row: row[0]):
            for _, key, moment in page:
                count, newest = found.get(key, (0, None))
                latest = moment if newest is None or (moment is not None and moment > newest) else newest
                found[key] = (count + 1, latest)
        return found

    def _indexed(self) -> bool:
        """Is there an index by session? Without one, grouping would sort the whole table in one statement."""
        leading = self._connection.execute(
            "SELECT c.name FROM pragma_index_list('messages') i, pragma_index_info(i.name) c"
            " WHERE c.seqno = 0 AND NOT i.partial"
        )
        return ("session_id",) in leading.fetchall()

    def routes(self) -> dict[str, str]:
        if "gateway_routing" not in self._layout.tables:
            return {}
        have = _names(self._connection, "gateway_routing")
        if not {"session_key", "entry_json"} <= have:
            return {}
        order = "updated_at" if "updated_at" in have else "rowid"
        rows = self._connection.execute(f"SELECT session_key, entry_json FROM gateway_routing ORDER BY {order}")
        return {str(key): entry for key, entry in rows.fetchall() if isinstance(entry, str)}

    def _pages(self, sql: str, start: Any, key: Callable[[Any], Any]) -> Iterator[list[Any]]:
        """Pages of `sql`, whose parameters are the last key seen and how many rows."""
        size, last = _FIRST, start
        while True:
            began = time.monotonic()
            page = self._connection.execute(sql, (last, size)).fetchall()
            took = time.monotonic() - began
            yield page
            self._step(len(page))
            if len(page) < size:
                return
            last = key(page[-1])
            if not self._layout.wal:
                time.sleep(BREATH_S)
            size = max(_SMALLEST, min(_LARGEST, int(size * min(2.0, SLICE_S / max(took, 1e-6)))))

    def _step(self, rows: int) -> None:
        if self._stopped is not None and self._stopped():
            raise ReadingStoppedError
        self._done += rows
        if self._tell is not None:
            self._tell(Progress(min(self._done, self._total), self._total))
