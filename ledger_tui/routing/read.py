"""A `state.db` of any version from 0.19 on, read whole: every session, and what its messages say about it.

Read-only to the letter, and never in the holder's way: one snapshot where the file is in WAL mode, and elsewhere
slices so short that the holder's commits get through between them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ledger_tui.sources.guard import Connection, connect, explain
from ledger_tui.sources.reading import SliceTimeoutError, one_snapshot, slice_of_time

from .collecting import no_collections
from .owners import store_owner
from .progress import Progress, ReadingStoppedError, Stopped, Tell
from .resumed import Pause, find_resumed
from .routes import legacy_routes
from .rows import COLUMNS, EARLIEST, LATEST, SILENT, Session, as_stored, number, session, text

SLICE_S = 0.03
"""Aim for one statement outside WAL mode, where a running read keeps the holder from committing."""

BREATH_S = 0.002
"""Pause between two slices, in which a waiting holder gets its turn."""

MOST_S = 0.08
"""A statement that takes longer than this there is stopped and asked again for less."""

_FIRST, _LARGEST = 1_000, 50_000
_LEASES = (("compression_locks", "session_id"), ("session_turn_leases", "conversation_id"))
_BUSY_S = 5.0


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
class Lease:
    """Somebody claims to be at work on a session. Raw text, times in seconds since 1970."""

    table: str
    session_id: str
    holder: str
    expires_at: float | None


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
    """`entry_json` of `gateway_routing` by session key, the newest where scopes share a key; and what only the older
    `sessions.json` beside the store says, which the gateway still takes over."""
    moved: bool = False
    """The file was written to while it was read in slices: rows may not agree with each other."""
    leases: tuple[Lease, ...] = ()
    """Rows of `compression_locks` and `session_turn_leases`, expired ones too."""
    resumed: Mapping[str, Mapping[str, Pause]] = field(default_factory=dict)
    """By orphan, by keyed row: the pause of the keyed row within which the orphan was spoken in."""

    @property
    def recent_host(self) -> bool:
        """Was the file last opened for writing by a 0.22 or later, whose search after a restart is the newer one?"""
        return "last_activity_at" in self.layout.sessions


def read_store(path: Path, home: Path, *, tell: Tell | None = None, stopped: Stopped | None = None) -> Store:
    """Reads the store at `path`. Raises SourceError (whose `state` may be `missing`) and ReadingStoppedError."""
    with closing(connect(path, timeout_s=_BUSY_S)) as connection:
        try:
            store = read_sessions(connection, store_owner(path, home), tell=tell, stopped=stopped)
        except sqlite3.Error as error:
            raise explain(path, error) from error
    return replace(store, routes={**legacy_routes(path.parent), **store.routes})


def read_sessions(
    connection: sqlite3.Connection, owner: str | None, *, tell: Tell | None = None, stopped: Stopped | None = None
) -> Store:
    """The same over an open read-only connection in autocommit mode. Raises sqlite3.Error and ReadingStoppedError."""
    lenient(connection)
    layout = read_layout(connection)
    if "id" not in layout.sessions:
        return Store(owner=owner, layout=layout)
    with no_collections(), _undisturbed(connection, layout.wal) as moved:
        reader = _Reader(connection, layout, tell, stopped)
        connection.text_factory = str  # Ten times as fast; `_page` falls back where a text is no UTF-8.
        spoken = reader.spoken()
        sessions = {}
        for values in reader.sessions():
            row = session(values, spoken.pop(values[1], SILENT))
            sessions[row.id] = row
        lenient(connection)
        routes, leases = reader.routes(), reader.leases()
        resumed = find_resumed(connection, sessions.values(), owner, wal=layout.wal)
    lost = {key: said[0] for key, said in spoken.items()}
    return Store(sessions, owner, layout, lost, routes, moved(), leases, resumed)


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
    if isinstance(connection, Connection):
        connection.odd_text = _decoded


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _names(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def indexed_by_session(connection: sqlite3.Connection) -> bool:
    """Is there an index of messages by session? Without one, asking for a session's messages walks through all."""
    leading = connection.execute(
        "SELECT c.name FROM pragma_index_list('messages') i, pragma_index_info(i.name) c"
        " WHERE c.seqno = 0 AND NOT i.partial"
    )
    return ("session_id",) in leading.fetchall()


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


def _column(name: str) -> str:
    """Settings of a model may be long; only those that speak of descent are fetched (see `rows.markers`)."""
    return f"CASE WHEN instr({name}, '_from\"') THEN {name} END" if name == "model_config" else name


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
        columns = ", ".join(_column(name) if name == "rowid" or name in have else "NULL" for name in COLUMNS)
        sql = f"SELECT {columns} FROM sessions WHERE rowid > ? AND id IS NOT NULL ORDER BY rowid LIMIT ?"
        for page in self._pages(sql, -(2**63), lambda row: row[0]):
            yield from page

    def spoken(self) -> dict[Any, tuple[int, float | None, int | None]]:
        """What the messages say, by session id."""
        if not {"session_id", "timestamp"} <= self._layout.messages:
            return {}
        trusted = f"CASE WHEN timestamp BETWEEN {EARLIEST} AND {LATEST} THEN timestamp END"
        live = "coalesce(active, 1) <> 0" if "active" in self._layout.messages else "1"
        if indexed_by_session(self._connection):
            sql = (
                f"SELECT session_id, count(*), max({trusted}), sum({live}) FROM messages"
                " WHERE session_id > CAST(? AS TEXT) AND typeof(session_id) = 'text'"
                " GROUP BY session_id ORDER BY session_id LIMIT ?"
            )
            pages = self._pages(sql, b"", lambda row: as_stored(row[0]))
            return {row[0]: row[1:] for page in pages for row in page}
        sql = f"SELECT rowid, session_id, {trusted}, {live} FROM messages WHERE rowid > ? ORDER BY rowid LIMIT ?"
        found: dict[Any, tuple[int, float | None, int | None]] = {}
        for page in self._pages(sql, -(2**63), lambda row: row[0]):
            for _, key, moment, shown in page:
                if isinstance(key, str):
                    count, newest, shown_yet = found.get(key, (0, None, 0))
                    later = moment if newest is None or (moment is not None and moment > newest) else newest
                    found[key] = (count + 1, later, (shown_yet or 0) + shown)
        return found

    def routes(self) -> dict[str, str]:
        if "gateway_routing" not in self._layout.tables:
            return {}
        have = _names(self._connection, "gateway_routing")
        if not {"session_key", "entry_json"} <= have:
            return {}
        order = "updated_at" if "updated_at" in have else "rowid"
        rows = self._connection.execute(f"SELECT session_key, entry_json FROM gateway_routing ORDER BY {order}")
        return {str(key): entry for key, entry in rows.fetchall() if isinstance(entry, str)}

    def leases(self) -> tuple[Lease, ...]:
        found = []
        for table, key in _LEASES:
            if {key, "holder", "expires_at"} <= _names(self._connection, table):
                rows = self._connection.execute(f"SELECT {key}, holder, expires_at FROM {table}").fetchall()
                found += [Lease(table, text(row[0]) or "", text(row[1]) or "", number(row[2])) for row in rows]
        return tuple(found)

    def _pages(self, sql: str, start: Any, key: Callable[[Any], Any]) -> Iterator[list[Any]]:
        """Pages of `sql`, whose parameters are the last key seen and how many rows."""
        size, last = _FIRST, start
        while True:
            try:
                page, took = self._page(sql, last, size)
            except SliceTimeoutError:
                size = max(1, size // 4)
                time.sleep(BREATH_S)
                continue
            yield page
            self._step(len(page))
            if len(page) < size:
                return
            after = key(page[-1])
            if after is None or not after > last:
                raise sqlite3.DatabaseError("its keys are out of order")  # Of a damaged index; we would read forever.
            last = after
            if not self._layout.wal:
                time.sleep(BREATH_S)
            size = max(1, min(_LARGEST, int(size * min(4.0, SLICE_S / max(took, 1e-6)))))

    def _page(self, sql: str, last: Any, size: int) -> tuple[list[Any], float]:
        """Rows, and the seconds in which others had to wait. Raises SliceTimeoutError, but waits for a single row.

        The first step of a statement is where it waits for the holder to finish: that is our time, not the holder's.
        """
        try:
            return self._rows(sql, last, size)
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        lenient(self._connection)
        return self._rows(sql, last, size)

    def _rows(self, sql: str, last: Any, size: int) -> tuple[list[Any], float]:
        cursor = self._connection.execute(sql, (last, size))
        began = time.monotonic()
        if self._layout.wal or size == 1:
            page = cursor.fetchall()
        else:
            with slice_of_time(self._connection, MOST_S):
                page = cursor.fetchall()
        return page, time.monotonic() - began

    def _step(self, rows: int) -> None:
        if self._stopped is not None and self._stopped():
            raise ReadingStoppedError
        self._done += rows
        if self._tell is not None:
            self._tell(Progress(min(self._done, self._total), self._total))
