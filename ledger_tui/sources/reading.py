"""One reading of a ledger over a blocking read-only connection, in slices too short for a writer to notice.

Outside WAL mode a running read keeps the holder from committing, so no statement runs longer than `SLICE_S`:
one that would is stopped and asked again over a part of the ids.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from agent_ledger.engine import queries, schema
from agent_ledger.engine.inert import inert
from agent_ledger.engine.queries import Filter, Query
from agent_ledger.engine.records import Call, Inert, Writer

SLICE_S = 0.08
"""Longest time a single statement may run."""

FIRST_SPAN = 20_000
"""Ids in the first part of a scan that is read in parts; grows and shrinks with the time a part takes."""

_LEAST_SPAN = 200
_WHOLE_COUNT_SPAN = 1_000_000
"""`count(*)` is one step that cannot be stopped half-way; beyond this many ids it is summed up from parts."""


class SliceTimeoutError(Exception):
    """A statement was stopped because it ran longer than a slice."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What this file is: its columns, whether it may be ours to write, and how it keeps its journal."""

    columns: frozenset[str]
    """Of table `ledger`; empty when the file holds no tables yet."""
    version: int
    tables: frozenset[str]
    wal: bool

    @property
    def foreign(self) -> bool:
        """By other software, or by a newer plugin: shown, never written."""
        return bool(self.columns) and (self.version > schema.VERSION or not schema.COLUMNS.keys() <= self.columns)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of rows. `pending` is every PENDING row, overdue or not: the clock tells those apart, not the file."""

    rows: int = 0
    pending: int = 0
    ghost: int = 0
    error: int = 0
    revived: int = 0
    confirmed: int = 0


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """Counts of one session's rows; `session_id` is empty for rows without one."""

    session_id: Inert
    pending: int = 0
    ghost: int = 0
    error: int = 0
    revived: int = 0
    confirmed: int = 0
    changed: int = 0
    """Newest change in microseconds since 1970; 0 where the file does not tell."""

    @property
    def rows(self) -> int:
        return self.pending + self.ghost + self.error + self.revived + self.confirmed


@dataclass(frozen=True, slots=True)
class Marks:
    """How far the file has come: highest change counter, lowest and highest id (None when it is empty)."""

    changed: int = 0
    lowest: int | None = None
    highest: int | None = None


@contextmanager
def slice_of_time(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Stops a statement that runs longer than `seconds`, by SliceTimeoutError."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, 2000)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and time.monotonic() > end:
            raise SliceTimeoutError from error
        raise
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def one_snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read inside agrees with itself: one short transaction, always ended."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def read_shape(connection: sqlite3.Connection) -> Shape:
    """Raises sqlite3.Error, and ValueError with a sentence where the file is a database but no ledger."""
    ((mode,),) = connection.execute("PRAGMA journal_mode").fetchall()
    with one_snapshot(connection):
        tables = frozenset(row[0] for row in connection.execute("SELECT name FROM sqlite_master").fetchall())
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        columns = frozenset(row[0] for row in connection.execute(*queries.COLUMNS_QUERY).fetchall())
    if tables and not columns:
        raise ValueError("is a database without a ledger in it")
    if columns and not {"id", "ts", "tool_name", "status"} <= columns:
        raise ValueError("holds a table named ledger that is not a ledger of tool calls")
    return Shape(columns, version, tables, str(mode).lower() == "wal")


def read_marks(connection: sqlite3.Connection, shape: Shape) -> Marks:
    if not shape.columns:
        return Marks()
    ((changed, lowest, highest),) = connection.execute(*queries.counter(shape.columns)).fetchall()
    return Marks(int(changed or 0), lowest, highest)


def read_totals(connection: sqlite3.Connection, shape: Shape, *, slice_s: float = SLICE_S) -> Totals:
    """Counts over the whole file: from indexes in one statement, or from parts where that takes too long.

    From parts it is one snapshot only if nobody writes meanwhile.
    """
    if not shape.columns:
        return Totals()
    marks = read_marks(connection, shape)
    if shape.wal or (marks.highest or 0) - (marks.lowest or 0) <= _WHOLE_COUNT_SPAN:
        with suppress(SliceTimeoutError), slice_of_time(connection, 5.0 if shape.wal else slice_s):
            ((rows, pending, ghost, error, revived),) = connection.execute(*queries.totals(shape.columns)).fetchall()
            return Totals(rows, pending, ghost, error, revived, rows - pending - ghost - error - revived)
    sessions = read_session_totals(connection, shape, slice_s=slice_s)
    names = ("pending", "ghost", "error", "revived", "confirmed")
    sums = {name: sum(getattr(session, name) for session in sessions) for name in names}
    return Totals(rows=sum(sums.values()), **sums)


def read_open(
    connection: sqlite3.Connection, shape: Shape, *, slice_s: float = SLICE_S
) -> list[tuple[int, str, int | None]]:
    """Id, status and writer of every unsettled row, by id: from an index, or from parts where there is none."""
    if not shape.columns:
        return []
    writer = "writer_id" if "writer_id" in shape.columns else "NULL"
    query: Query = (
        f"SELECT id, status, {writer} FROM ledger"
        " WHERE status IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED' ORDER BY id",
        (),
    )
    with suppress(SliceTimeoutError), slice_of_time(connection, 5.0 if shape.wal else slice_s):
        return connection.execute(*query).fetchall()
    found: list[tuple[int, str, int | None]] = []
    parts = Parts(read_marks(connection, shape), slice_s)
    while not parts.done:
        found += parts.read(connection, query) or []
    return found


class Parts:
    """All ids of a file, from the lowest to the highest, in parts that each take less than a slice to read."""

    def __init__(self, marks: Marks, slice_s: float) -> None:
        self._low, self._high = (marks.lowest or 1) - 1, marks.highest or 0
        self._span, self._slice_s = FIRST_SPAN, slice_s

    @property
    def done(self) -> bool:
        return self._low >= self._high

    def read(self, connection: sqlite3.Connection, query: Query) -> list[Any] | None:
        """Rows of the next part; None when it was too long and must be asked again. Raises sqlite3.Error."""
        through = min(self._high, self._low + self._span)
        began = time.monotonic()
        # The smallest part is let through whatever it takes, or it would never end.
        allowed = self._slice_s if self._span > _LEAST_SPAN else 5.0
        try:
            with slice_of_time(connection, allowed):
                rows = connection.execute(*_ranged(query, self._low, through)).fetchall()
        except SliceTimeoutError:
            self._span = max(_LEAST_SPAN, self._span // 4)
            return None
        if time.monotonic() - began < self._slice_s / 4:
            self._span *= 2
        self._low = through
        return rows


class CallScan:
    """A page of calls that may have to be looked for far and wide, read part by part: `while not scan.done`.

    `found` is newest first, or oldest first when `after_id` is given without `before_id`.
    """

    def __init__(
        self,
        shape: Shape,
        wanted: Filter | None,
        *,
        before_id: int | None = None,
        after_id: int | None = None,
        limit: int = 200,
        slice_s: float = SLICE_S,
    ) -> None:
        self.found: list[Call] = []
        self.done = limit <= 0 or not shape.columns
        self._shape, self._wanted, self._limit, self._slice_s = shape, wanted, limit, slice_s
        self._low, self._high = after_id, before_id
        self._newest_first = after_id is None or before_id is not None
        self._span: int | None = None

    def step(self, connection: sqlite3.Connection) -> None:
        """Reads the next part. The first try is the whole; it takes no longer than a slice. Raises sqlite3.Error."""
        if self._span is None:
            try:
                with slice_of_time(connection, self._slice_s):
                    self._read(connection, self._low, self._high)
                self.done = True
            except SliceTimeoutError:
                self._bound(connection)
            return
        self._step_part(connection)

    def _bound(self, connection: sqlite3.Connection) -> None:
        marks = read_marks(connection, self._shape)
        lowest, highest = marks.lowest or 0, marks.highest or 0
        self._low = lowest - 1 if self._low is None else max(self._low, lowest - 1)
        self._high = highest + 1 if self._high is None else min(self._high, highest + 1)
        self._span = FIRST_SPAN

    def _step_part(self, connection: sqlite3.Connection) -> None:
        assert self._low is not None
        assert self._high is not None
        assert self._span is not None
        low, high = self._low, self._high
        if self._newest_first:
            low = max(low, high - self._span - 1)
        else:
            high = min(high, low + self._span + 1)
        began = time.monotonic()
        # The smallest part is let through whatever it takes, or nothing would ever be found.
        allowed = self._slice_s if self._span > _LEAST_SPAN else 5.0
        try:
            with slice_of_time(connection, allowed):
                self._read(connection, low, high)
        except SliceTimeoutError:
            self._span = max(_LEAST_SPAN, self._span // 4)
            return
        if time.monotonic() - began < self._slice_s / 4:
            self._span *= 2
        if self._newest_first:
            self._high = low + 1
        else:
            self._low = high - 1
        self.done = len(self.found) >= self._limit or self._high - self._low <= 1

    def _read(self, connection: sqlite3.Connection, low: int | None, high: int | None) -> None:
        query = queries.calls(
            self._shape.columns,
            self._wanted,
            before_id=high,
            after_id=low,
            newest_first=self._newest_first,
            limit=self._limit - len(self.found),
        )
        rows = connection.execute(*query).fetchall()
        self.found.extend(queries.call_from_row(row) for row in rows)


def read_calls(
    connection: sqlite3.Connection,
    shape: Shape,
    wanted: Filter | None = None,
    *,
    before_id: int | None = None,
    after_id: int | None = None,
    limit: int = 200,
    slice_s: float = SLICE_S,
) -> list[Call]:
    """At most `limit` calls, newest first. Raises sqlite3.Error."""
    scan = CallScan(shape, wanted, before_id=before_id, after_id=after_id, limit=limit, slice_s=slice_s)
    while not scan.done:
        scan.step(connection)
    return scan.found


class SessionScan:
    """Counts per session over the whole file, part by part: `while not scan.done: scan.step(...)`."""

    def __init__(self, shape: Shape, *, slice_s: float = SLICE_S) -> None:
        self._shape, self._slice_s = shape, slice_s
        self._parts: Parts | None = None
        self._counts: dict[str, dict[str, int]] = {}

    @property
    def done(self) -> bool:
        return not self._shape.columns or (self._parts is not None and self._parts.done)

    def step(self, connection: sqlite3.Connection) -> None:
        """Reads the next part. Raises sqlite3.Error."""
        if self._parts is None:
            self._parts = Parts(read_marks(connection, self._shape), self._slice_s)
        elif not self._parts.done:
            self._add(self._parts.read(connection, queries.session_totals(self._shape.columns)) or [])

    def _add(self, rows: Sequence[Sequence[Any]]) -> None:
        for session_id, state, count, changed in rows:
            counts = self._counts.setdefault(str(session_id), {"changed": 0})
            name = str(state).lower()
            counts[name] = counts.get(name, 0) + count
            counts["changed"] = max(counts["changed"], int(changed or 0))

    def result(self) -> list[SessionTotals]:
        """Last changed first."""
        found = [SessionTotals(inert(name), **counts) for name, counts in self._counts.items()]
        return sorted(found, key=lambda session: (-session.changed, session.session_id))


def read_session_totals(
    connection: sqlite3.Connection, shape: Shape, *, slice_s: float = SLICE_S
) -> list[SessionTotals]:
    """Counts per session, last changed first. Reads every row once, in parts. Raises sqlite3.Error."""
    scan = SessionScan(shape, slice_s=slice_s)
    while not scan.done:
        scan.step(connection)
    return scan.result()


def _ranged(query: Query, after: int, through: int) -> Query:
    """The same question to the ids `after` < id <= `through` only: within it, `ledger` names that part."""
    sql, params = query
    part = "WITH ledger AS (SELECT * FROM main.ledger WHERE id > ? AND id <= ?) "
    return part + sql, (after, through, *params)


def read_writers(connection: sqlite3.Connection, shape: Shape, ids: Sequence[int] | None = None) -> dict[int, Writer]:
    """The processes that wrote to the ledger, by id; `ids` names those of interest (at most some thousands)."""
    if "writer" not in shape.tables:
        return {}
    sql, params = queries.WRITERS_QUERY
    if ids is not None:
        sql, params = f"{sql} WHERE id IN ({','.join('?' * len(ids))})", tuple(ids)
    writers = (queries.writer_from_row(row) for row in connection.execute(sql, params).fetchall())
    return {writer.id: writer for writer in writers}


def read_merged(connection: sqlite3.Connection, shape: Shape) -> dict[str, int]:
    """How many bytes of each spool file are in the ledger already."""
    if "spool_merged" not in shape.tables:
        return {}
    return {str(name): int(size) for name, size in connection.execute("SELECT name, size FROM spool_merged").fetchall()}


def read_tool_names(connection: sqlite3.Connection, shape: Shape) -> list[str]:
    """Names of recorded tools, from the newest 5,000 rows: what a person may want to filter by."""
    if not shape.columns:
        return []
    rows = connection.execute(
        "SELECT DISTINCT tool_name FROM (SELECT tool_name FROM ledger ORDER BY id DESC LIMIT 5000)"
    ).fetchall()
    return sorted(inert(str(row[0])) for row in rows)


def read_repeats(connection: sqlite3.Connection, shape: Shape, call_id: int) -> list[int]:
    """Ids of the other calls that are one chain of repeats with this one, in order; at most 1,000.

    A repeat has the same hash of its arguments as what it repeats, and the hash has an index.
    """
    if not {"repeat_of", "args_hash"} <= shape.columns:
        return []
    rows = connection.execute(
        "SELECT id, repeat_of FROM ledger WHERE args_hash = (SELECT args_hash FROM ledger WHERE id = ?)"
        " ORDER BY id DESC LIMIT 1000",
        (call_id,),
    ).fetchall()
    linked, grown = {call_id}, True
    while grown:
        near = {key for pair in rows if linked & {*pair} for key in pair if key is not None}
        grown = not near <= linked
        linked |= near
    return sorted(linked - {call_id})
