"""Questions that may concern every row, asked part by part, so that no holder of the file notices.

Outside WAL mode a running read keeps the holder from committing. So a statement that takes longer than a slice is
stopped and asked again over a part of the ids; between two parts the holder gets its turn.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from agent_ledger.engine import queries
from agent_ledger.engine.inert import inert
from agent_ledger.engine.queries import Filter, Query
from agent_ledger.engine.records import Call

from .reading import (
    Marks,
    SessionTotals,
    Shape,
    SliceTimeoutError,
    Totals,
    one_snapshot,
    read_marks,
    slice_of_time,
)

FIRST_SPAN = 20_000
"""Ids in the first part; it grows and shrinks with the time that a part takes."""

_LEAST_SPAN = 200
_WHOLE_S = 5.0
"""Longest time for what cannot be divided further, or stands in nobody's way."""

_STATES = ("pending", "ghost", "error", "revived", "confirmed")


def read_totals(connection: sqlite3.Connection, shape: Shape, *, slice_s: float | None = None) -> Totals:
    """Counts over the whole file; in WAL mode from indexes in one statement. Raises sqlite3.Error."""
    if shape.wal:
        with suppress(SliceTimeoutError), slice_of_time(connection, _WHOLE_S if slice_s is None else slice_s):
            query = queries.totals(shape.columns, status_may_be_null=shape.status_may_be_null)
            ((rows, pending, ghost, error, revived),) = connection.execute(*query).fetchall()
            return Totals(rows, pending, ghost, error, revived, rows - pending - ghost - error - revived)
    return read_counted(connection, shape, slice_s=slice_s).totals


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Counts, and every unsettled row, as they were when the part they lie in was read."""

    totals: Totals
    unsettled: list[tuple[int, str, int | None]]
    """Id, status and writer of each, by id."""


def read_counted(connection: sqlite3.Connection, shape: Shape, *, slice_s: float | None = None) -> CountedRows:
    """Counts and unsettled rows up to the highest id of this moment. Raises sqlite3.Error.

    Both agree for each row, also while somebody writes: a row is in the list exactly if it was counted as
    unsettled. In WAL mode, inside one snapshot, that holds for the whole.
    """
    if not shape.columns:
        return CountedRows(Totals(), [])
    if shape.wal and slice_s is None:
        with suppress(SliceTimeoutError), slice_of_time(connection, _WHOLE_S):
            return CountedRows(read_totals(connection, shape), connection.execute(*_open_query(shape)).fetchall())
    states = dict.fromkeys(_STATES, 0)
    unsettled: list[tuple[int, str, int | None]] = []
    parts = Parts(read_marks(connection, shape), shape.slice_s if slice_s is None else slice_s)
    while not parts.done:
        found = parts.read(connection, queries.session_totals(shape.columns), _open_query(shape, by_id=True))
        if found is not None:
            for _, state, count, _ in found[0]:
                states[str(state).lower()] += count
            unsettled += found[1]
    return CountedRows(Totals(rows=sum(states.values()), **states), unsettled)


def _open_query(shape: Shape, *, by_id: bool = False) -> Query:
    writer = "writer_id" if "writer_id" in shape.columns else "NULL"
    # Within a part it is the ids that narrow; the sign keeps SQLite from the index of all unsettled rows.
    status = "+status" if by_id else "status"
    return (
        f"SELECT id, status, {writer} FROM ledger"
        f" WHERE {status} IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED' ORDER BY id",
        (),
    )


class Parts:
    """All ids of a file, from the lowest to the highest, in parts that each take less than a slice to read."""

    def __init__(self, marks: Marks, slice_s: float) -> None:
        self._low, self._high = (marks.lowest or 1) - 1, marks.highest or 0
        self._span, self._slice_s = FIRST_SPAN, slice_s

    @property
    def done(self) -> bool:
        return self._low >= self._high

    def read(self, connection: sqlite3.Connection, *asked: Query) -> list[list[Any]] | None:
        """The rows of the next part for each query, as one snapshot; None when it was too long and must be asked again.

        Raises sqlite3.Error.
        """
        through = min(self._high, self._low + self._span)
        began = time.monotonic()
        # The smallest part is let through whatever it takes, or it would never end.
        allowed = self._slice_s if self._span > _LEAST_SPAN else _WHOLE_S
        try:
            with slice_of_time(connection, allowed), _part_of_snapshot(connection):
                answers = [connection.execute(*_ranged(query, self._low, through)).fetchall() for query in asked]
        except SliceTimeoutError:
            self._span = max(_LEAST_SPAN, self._span // 4)
            return None
        if time.monotonic() - began < self._slice_s / 4:
            self._span *= 2
        self._low = through
        return answers


@contextmanager
def _part_of_snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """A snapshot of its own, or the one that is being read already."""
    if connection.in_transaction:
        yield
        return
    with one_snapshot(connection):
        yield


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
        slice_s: float | None = None,
    ) -> None:
        self.found: list[Call] = []
        self.done = limit <= 0 or not shape.columns
        self._shape, self._wanted, self._limit = shape, wanted, limit
        self._slice_s = shape.slice_s if slice_s is None else slice_s
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
        allowed = self._slice_s if self._span > _LEAST_SPAN else _WHOLE_S
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
    slice_s: float | None = None,
) -> list[Call]:
    """At most `limit` calls, newest first. Raises sqlite3.Error."""
    scan = CallScan(shape, wanted, before_id=before_id, after_id=after_id, limit=limit, slice_s=slice_s)
    while not scan.done:
        scan.step(connection)
    return scan.found


class SessionScan:
    """Counts per session over the whole file, part by part: `while not scan.done: scan.step(...)`."""

    def __init__(self, shape: Shape, *, slice_s: float | None = None) -> None:
        self._shape = shape
        self._slice_s = shape.slice_s if slice_s is None else slice_s
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
            for rows in self._parts.read(connection, queries.session_totals(self._shape.columns)) or ():
                self._add(rows)

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
    connection: sqlite3.Connection, shape: Shape, *, slice_s: float | None = None
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
