"""What changed in a ledger since the last look, at the cost of what changed.

Plain functions of a blocking connection: the feed runs them in the connection's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agent_ledger.engine import queries
from agent_ledger.engine.process import is_dead, same_boot
from agent_ledger.engine.records import Call, Writer

from .counted import Counted
from .parts import read_counted, read_totals
from .reading import (
    Marks,
    Shape,
    Totals,
    one_snapshot,
    read_marks,
    read_merged,
    read_shape,
    read_writers,
)

PAGE = 2000
"""Rows in one message."""

NEWEST = 500
"""Rows of any state that come with the first reading."""

JUDGE_S = 2.0
"""Writers of pending rows are judged dead or alive this often."""

RECOUNT_S = 5.0
"""Least time between two full counts, which are needed only when a change cannot be told from the rows."""

SHARED_RECOUNT_S = 30.0
"""The same outside WAL mode, where counting is in the holder's way."""

_IDS = 500
"""Ids in one question."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One message of the tracker; see `LedgerChange`."""

    reset: bool
    calls: tuple[Call, ...]
    gone_through: int | None
    totals: Totals
    dead_writers: frozenset[int]
    same_boot_writers: frozenset[int]
    more: bool


@dataclass(frozen=True, slots=True)
class _Look:
    """What one reading found, before anything of it is believed."""

    version: int
    marks: Marks
    rows: list[Any]
    changed: int
    """Counter up to which the rows are complete."""
    more: bool
    merged: dict[str, int]
    totals: Totals | None


class Tracker:
    """Follows one ledger over one connection. When that one is closed, it is thrown away too."""

    def __init__(self, *, page: int = PAGE, newest: int = NEWEST, slice_s: float | None = None) -> None:
        self._page, self._newest, self._slice_s = page, newest, slice_s
        self.shape = Shape(frozenset(), 0, frozenset(), wal=False)
        self.merged: dict[str, int] = {}
        """Bytes of each spool file that are in the ledger."""
        self._version: int | None = None
        self._schema: int | None = None
        self._marks = Marks()
        self._counted = Counted()
        self._backlog: list[int] = []
        self._unfinished = False
        self._writers: dict[int, Writer] = {}
        self._dead: frozenset[int] = frozenset()
        self._judged = self._recounted = float("-inf")
        self._doubt = False

    def advance(self, connection: sqlite3.Connection, now: float) -> Delta | None:
        """The next message, or None when nothing is new. `now` is a monotonic clock in seconds.

        Ask again at once while `more` is set. After an error the same question may be asked again: nothing is
        lost by it. Raises sqlite3.Error, and ValueError for what is no ledger.
        """
        delta = self._advance(connection, now)
        died = self._judge(now)
        if delta is None:
            return self._message((), reset=False) if died else None
        return delta if not died else self._message(delta.calls, reset=delta.reset)

    def _advance(self, connection: sqlite3.Connection, now: float) -> Delta | None:
        if self._backlog:
            return self._from_backlog(connection)
        if self._version is None:
            return self._first(connection, now)
        ((version,),) = connection.execute("PRAGMA data_version").fetchall()
        recount = self._doubt and now - self._recounted >= (RECOUNT_S if self.shape.wal else SHARED_RECOUNT_S)
        if version == self._version and not self._unfinished and not recount:
            return None
        self._unfinished = True
        if recount:
            self._recounted = now
        ((schema,),) = connection.execute("PRAGMA schema_version").fetchall()
        look = self._look(connection, recount=recount) if schema == self._schema else None
        return self._first(connection, now) if look is None else self._believe(connection, look, now)

    @contextmanager
    def _agreeing(self, connection: sqlite3.Connection) -> Iterator[None]:
        """One snapshot where that costs the holder nothing.

        Outside WAL mode it would keep the holder from committing; there, each statement sees the file as it is
        at that moment, and what came in between is found by the next look.
        """
        if not self.shape.wal:
            yield
            return
        with one_snapshot(connection):
            yield

    # -- the first reading ---------------------------------------------------------------------------------------

    def _first(self, connection: sqlite3.Connection, now: float) -> Delta:
        self._version = None
        self.shape = read_shape(connection)
        with self._agreeing(connection):
            version, schema = _versions(connection)
            marks = read_marks(connection, self.shape)
            counted = read_counted(connection, self.shape, slice_s=self._slice_s)
            # Up to here, what turns up as changed is in the counts already.
            through = read_marks(connection, self.shape).changed
            rows = self._newest_rows(connection)
            self.merged = read_merged(connection, self.shape)
        calls = {call.id: call for call in map(queries.call_from_row, rows)}
        older = sorted(row[0] for row in counted.unsettled if row[0] not in calls)
        fits = max(0, len(older) - max(0, self._page - len(calls)))
        calls |= {call.id: call for call in self._calls_by_id(connection, older[fits:])}
        chosen = tuple(calls[key] for key in sorted(calls))
        self._writers, self._dead, self._judged = {}, frozenset(), float("-inf")
        self._learn_writers(connection, chosen)
        self._counted, self._backlog = Counted(), older[:fits]
        self._counted.start(counted, marks.highest or 0, through, chosen)
        self._marks, self._schema = marks, schema
        # Outside WAL mode the parts are read one after another: the next look brings what came in meanwhile.
        self._unfinished = not self.shape.wal
        self._doubt, self._recounted = False, now
        self._version = version
        return self._message(chosen, reset=True)

    def _newest_rows(self, connection: sqlite3.Connection) -> list[Any]:
        if not self.shape.columns:
            return []
        return connection.execute(*queries.calls(self.shape.columns, limit=self._newest)).fetchall()

    def _from_backlog(self, connection: sqlite3.Connection) -> Delta:
        """Older unsettled rows that did not fit in the first message, the newest of them first."""
        calls = self._calls_by_id(connection, self._backlog[-self._page :])
        self._learn_writers(connection, calls)
        del self._backlog[-self._page :]
        self._counted.note(calls)
        return self._message(calls, reset=False)

    # -- what changed --------------------------------------------------------------------------------------------

    def _look(self, connection: sqlite3.Connection, *, recount: bool) -> _Look | None:
        """Reads what is new; None when what we know no longer holds and everything must be read again."""
        with self._agreeing(connection):
            version, _ = _versions(connection)
            marks = read_marks(connection, self.shape)
            if self._went_back(marks):
                return None
            rows, changed, more = self._changed_rows(connection)
            wanted = self._counted.uncounted_ids()
            again = self._rows_by_id(connection, wanted)
            if len(again) < len(wanted):
                return None
            totals = self._full_count(connection, marks) if recount and not more else None
            merged = read_merged(connection, self.shape)
        return _Look(version, marks, rows + again, changed, more, merged, totals)

    def _full_count(self, connection: sqlite3.Connection, marks: Marks) -> Totals | None:
        """None where somebody wrote meanwhile, so that it says nothing about the rows of this look."""
        totals = read_totals(connection, self.shape, slice_s=self._slice_s)
        return totals if self.shape.wal or read_marks(connection, self.shape) == marks else None

    def _went_back(self, marks: Marks) -> bool:
        """Restored from a copy or pruned?"""
        known = self._marks
        if known.highest is None:
            return False
        return (
            marks.highest is None
            or marks.highest < known.highest
            or marks.changed < known.changed
            or marks.lowest != known.lowest
        )

    def _changed_rows(self, connection: sqlite3.Connection) -> tuple[list[Any], int, bool]:
        """Rows in the order of their change, the counter up to which they are complete, and whether there are more."""
        columns = self.shape.columns
        if not columns:
            return [], 0, False
        if "changed" not in columns:
            query = queries.calls(columns, after_id=self._counted.highest, newest_first=False, limit=self._page)
            rows = connection.execute(*query).fetchall()
            return rows, 0, len(rows) == self._page
        query = queries.calls(columns, changed_after=self._marks.changed, limit=self._page)
        rows = connection.execute(*query).fetchall()
        more = len(rows) == self._page
        if more and rows[0][-1] != rows[-1][-1]:
            # Rows that share the last counter may continue on the next page: all of them are left to it.
            last = rows[-1][-1]
            rows = [row for row in rows if row[-1] != last]
        changed = rows[-1][-1] if rows else self._marks.changed
        # Rows by other software carry no counter; its index finds them all the same.
        ids = connection.execute(
            "SELECT id FROM ledger WHERE changed IS NULL AND id > ? ORDER BY id LIMIT ?",
            (self._counted.highest_uncounted, self._page),
        ).fetchall()
        rows += self._rows_by_id(connection, [row[0] for row in ids])
        return rows, changed, more or len(ids) == self._page

    def _believe(self, connection: sqlite3.Connection, look: _Look, now: float) -> Delta | None:
        known = [queries.call_from_row(row) for row in look.rows]
        self._learn_writers(connection, known)
        before = self._counted.totals(), self._marks.lowest
        calls = self._counted.note(known)
        # A commit that left no trace in the counter: other tables most often, but rows may have been deleted.
        traceless = not calls and look.version != self._version
        self._version, self._unfinished, self.merged = look.version, look.more, look.merged
        if look.more:
            self._marks = Marks(look.changed, self._marks.lowest, self._marks.highest)
        else:
            # A look is complete up to its last row, whatever higher counter came in meanwhile.
            lowest = look.marks.lowest if look.marks.lowest is not None else min((c.id for c in known), default=None)
            self._marks = Marks(look.changed, lowest, self._counted.settle_top())
        if look.totals is not None:
            self._doubt = False
            if self._counted.correct(look.totals):
                return self._first(connection, now)
        self._doubt = self._doubt or self._counted.unsure or traceless or self._counted.overlooks
        if calls or (self._counted.totals(), self._marks.lowest) != before:
            return self._message(calls, reset=False)
        return None

    def _calls_by_id(self, connection: sqlite3.Connection, ids: Sequence[int]) -> list[Call]:
        return [queries.call_from_row(row) for row in self._rows_by_id(connection, ids)]

    def _rows_by_id(self, connection: sqlite3.Connection, ids: Sequence[int]) -> list[Any]:
        rows: list[Any] = []
        for start in range(0, len(ids), _IDS):
            part = ids[start : start + _IDS]
            rows += connection.execute(*queries.calls(self.shape.columns, ids=part, newest_first=False)).fetchall()
        return rows

    # -- who wrote it --------------------------------------------------------------------------------------------

    def _learn_writers(self, connection: sqlite3.Connection, calls: Iterable[Call]) -> None:
        wanted = {call.writer_id for call in calls if call.writer_id is not None} - self._writers.keys()
        ids = sorted(wanted)
        for start in range(0, len(ids), _IDS):
            self._writers |= read_writers(connection, self.shape, ids[start : start + _IDS])

    def _judge(self, now: float) -> bool:
        """Looks whether the writers of pending rows still live. True when one turned out dead."""
        if now - self._judged < JUDGE_S:
            return False
        self._judged = now
        doubtful = self._counted.pending_writers() - self._dead
        died = {key for key in doubtful if key in self._writers and is_dead(self._writers[key])}
        self._dead |= died
        return bool(died)

    def _message(self, calls: Sequence[Call], *, reset: bool) -> Delta:
        return Delta(
            reset=reset,
            calls=tuple(calls),
            gone_through=self._marks.lowest,
            totals=self._counted.totals(),
            dead_writers=self._dead,
            same_boot_writers=frozenset(key for key, writer in self._writers.items() if same_boot(writer)),
            more=self._unfinished or bool(self._backlog),
        )


def _versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """Of the data as this connection sees it, and of the schema."""
    ((data,),) = connection.execute("PRAGMA data_version").fetchall()
    ((schema,),) = connection.execute("PRAGMA schema_version").fetchall()
    return data, schema
