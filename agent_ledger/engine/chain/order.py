"""Records in the order of their numbers: does each build on the one before it, and how many are missing?"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from .report import Head
from .seal import FIRST, Seal

_KEPT = 1_000
"""Breaks that are kept."""

_Record = tuple[Seal, int]


class Break(NamedTuple):
    """Two records that stand next to each other, of which the second builds on another than the first."""

    before: int
    """Row of the first; 0 where there is none."""
    after: int
    reached: int
    """The highest row that had been issued by then."""
    missing: int
    """How many records stood in between; none where one of the two was written anew."""


class Order:
    """Takes records roughly in order and looks at them in order. Holds only what is ahead of its time."""

    def __init__(self, gone: frozenset[bytes], watched: Mapping[int, bytes], expected: Head | None) -> None:
        """`gone`: links of records that went by `prune`, on which others may build.

        `watched`: links that records of these numbers must have; `expected`: a record to look out for.
        """
        self._gone, self._watched, self._expected = gone, watched, expected
        self._ahead: list[_Record] = []
        self.last = Seal(0, 0, FIRST, FIRST)
        self.records = self.missing = 0
        self.breaks: list[Break] = []
        """Not explained by `prune`; the first of them."""
        self.last_break: Break | None = None
        self.other: list[int] = []
        """Watched numbers whose records have other links."""
        self.found = False
        """Is the expected record there?"""
        self.fixed_from = 0
        """Row of the first record from which on none is missing before the expected one; 0: from the first of all."""
        self.room = False
        """Is a record missing where the expected one belongs?"""
        self._row = 0
        self._reached = 0

    def add(self, seal: Seal, ledger_id: int | None) -> None:
        heappush(self._ahead, (seal, ledger_id or 0))

    def advance(self, number: int) -> None:
        """Look at everything before this record: nothing earlier can come any more."""
        ahead = self._ahead
        while ahead and ahead[0][0].number < number:
            self._look(*heappop(ahead))

    def finish(self) -> None:
        self.advance(2**64)

    def _look(self, seal: Seal, ledger_id: int) -> None:
        last = self.last
        missing = seal.number - last.number - 1
        if missing:
            self.missing += max(0, missing)
            fits = missing > 0 and seal.previous in self._gone
        else:
            fits = seal.previous == last.link
        if not fits:
            self._break(Break(self._row, ledger_id, self._reached, max(0, missing)))
        if self._expected is not None:
            self._compare(self._expected, seal, ledger_id, missing)
        if seal.number in self._watched and self._watched[seal.number] != seal.link:
            self.other.append(seal.number)
        self.last, self._row = seal, ledger_id
        if ledger_id > self._reached:
            self._reached = ledger_id
        self.records += 1

    def _break(self, found: Break) -> None:
        self.last_break = found
        if len(self.breaks) < _KEPT:
            self.breaks.append(found)

    def _compare(self, expected: Head, seal: Seal, ledger_id: int, missing: int) -> None:
        if missing and not self.found:
            self.fixed_from = ledger_id
        if expected.link == seal.link:
            self.found = True
        if self.last.changed < expected.changed <= seal.changed and missing > 0:
            self.room = True
