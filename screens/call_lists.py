"""Calls in the order of a pane, each found by its id. Pure values, no Textual.

`SortedRows` holds all rows of a kind. `Window` holds a stretch of a list that may be far longer in the ledger.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from agent_ledger.engine.records import Call

WINDOW_LIMIT = 5000
"""Rows that a window keeps at most; what falls out at the far end is fetched again when somebody goes there."""

Id = TypeVar("Id")


class Named(Protocol):
    """A row that its id names."""

    @property
    def id(self) -> Any: ...


Row = TypeVar("Row", bound=Named)


class SortedRows(Generic[Id, Row]):
    """Rows by a rank, lowest first, ties by id; ids can be compared. One insertion is one binary search."""

    def __init__(self) -> None:
        self._keys: list[tuple[float, Any]] = []
        self._rows: dict[Id, tuple[tuple[float, Any], Row]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, id: Id) -> bool:
        return id in self._rows

    def __iter__(self) -> Iterator[Row]:
        return (self._rows[id][1] for _, id in self._keys)

    def at(self, index: int) -> Row:
        return self._rows[self._keys[index][1]][1]

    def get(self, id: Id) -> Row | None:
        found = self._rows.get(id)
        return None if found is None else found[1]

    def index(self, id: Id) -> int | None:
        found = self._rows.get(id)
        return None if found is None else bisect_left(self._keys, found[0])

    def put(self, row: Row, rank: float) -> None:
        """Insert a row, or replace the one with its id."""
        key = (rank, row.id)
        found = self._rows.get(row.id)
        if found is not None and found[0] != key:
            self.drop(row.id)
            found = None
        if found is None:
            insort(self._keys, key)
        self._rows[row.id] = (key, row)

    def drop(self, id: Id) -> Row | None:
        """Take a row out; None when it was not there."""
        found = self._rows.pop(id, None)
        if found is None:
            return None
        del self._keys[bisect_left(self._keys, found[0])]
        return found[1]

    def clear(self) -> None:
        self._keys.clear()
        self._rows.clear()


SortedCalls = SortedRows[int, Call]
"""The calls of one ledger."""


class Window:
    """A contiguous stretch of rows, newest (highest id) first.

    `at_newest` and `at_oldest` say whether nothing lies beyond that end in the ledger. Rows that arrive live
    are taken only where the stretch stays contiguous.
    """

    def __init__(self, limit: int = WINDOW_LIMIT) -> None:
        self._rows = SortedCalls()
        self._limit = limit
        self.at_newest = True
        self.at_oldest = False

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._rows)

    def at(self, index: int) -> Call:
        return self._rows.at(index)

    def get(self, call_id: int) -> Call | None:
        return self._rows.get(call_id)

    def index(self, call_id: int) -> int | None:
        return self._rows.index(call_id)

    @property
    def newest_id(self) -> int | None:
        return self._rows.at(0).id if len(self._rows) else None

    @property
    def oldest_id(self) -> int | None:
        return self._rows.at(len(self._rows) - 1).id if len(self._rows) else None

    def start(self, *, newest: bool) -> None:
        """Empty, at one end of the ledger; the rows come with the first page."""
        self._rows.clear()
        self.at_newest, self.at_oldest = newest, not newest

    def live(self, call: Call) -> bool:
        """Take a row that was just settled or changed, if it lies within the stretch. True when it was taken."""
        if call.id not in self._rows and not self._within(call.id):
            return False
        self._put(call)
        self._trim(keep_newest=self.at_newest)
        return True

    def _within(self, call_id: int) -> bool:
        newest, oldest = self.newest_id, self.oldest_id
        if newest is None or oldest is None:
            return self.at_newest
        return (call_id <= newest or self.at_newest) and (call_id >= oldest or self.at_oldest)

    def drop(self, call_id: int) -> bool:
        return self._rows.drop(call_id) is not None

    def drop_through(self, call_id: int) -> None:
        """Forget rows up to that id: they were pruned from the ledger."""
        while (oldest := self.oldest_id) is not None and oldest <= call_id:
            self._rows.drop(oldest)
            self.at_oldest = True

    def first_page(self, page: Iterable[Call], *, full: bool) -> None:
        """The newest page of the ledger. What came live in the meantime stays where it fits."""
        rows = list(page)
        oldest = min((call.id for call in rows), default=0)
        if full:
            for call_id in [call.id for call in self._rows if call.id < oldest]:
                self._rows.drop(call_id)
        self.at_oldest = not full
        for call in rows:
            self._put(call)

    def last_page(self, page: Iterable[Call], *, full: bool) -> None:
        """The oldest page of the ledger, after `start(newest=False)`."""
        for call in page:
            self._put(call)
        self.at_newest = not full

    def older(self, page: Iterable[Call], *, full: bool) -> None:
        """The page that follows the oldest row."""
        for call in page:
            self._put(call)
        self.at_oldest = not full
        self._trim(keep_newest=False)

    def newer(self, page: Iterable[Call], *, full: bool) -> None:
        """The page that comes before the newest row."""
        for call in page:
            self._put(call)
        self.at_newest = not full
        self._trim(keep_newest=True)

    def _put(self, call: Call) -> None:
        held = self._rows.get(call.id)
        if held is None or held.changed <= call.changed:
            self._rows.put(call, -call.id)

    def _trim(self, *, keep_newest: bool) -> None:
        while len(self._rows) > self._limit:
            if keep_newest:
                self._rows.drop(self._rows.at(len(self._rows) - 1).id)
                self.at_oldest = False
            else:
                self._rows.drop(self._rows.at(0).id)
                self.at_newest = False
