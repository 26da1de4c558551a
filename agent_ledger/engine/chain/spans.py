"""Which rows a ledger may lack: those that `prune` took and wrote down."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

PRUNED = "pruned"
"""Kind of the record that `prune` leaves.

`did`: {"ids": [first, last], "kept": [ids], "gone": [links as hex], "records": how many went with those rows}.
"""


class Spans:
    """Numbers that are allowed to be missing, as ranges that do not overlap."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._ranges: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if self._ranges and first <= self._ranges[-1][1] + 1:
                self._ranges[-1] = (self._ranges[-1][0], max(last, self._ranges[-1][1]))
            elif first <= last:
                self._ranges.append((first, last))

    def first_outside(self, first: int, last: int) -> int | None:
        """The first number from `first` to `last` that no range holds; None when all are held."""
        while first <= last:
            place = bisect_right(self._ranges, (first, float("inf"))) - 1
            if place < 0 or self._ranges[place][1] < first:
                return first
            first = self._ranges[place][1] + 1
        return None

    def outside(self, first: int, last: int) -> int:
        """How many numbers from `first` to `last` no range holds."""
        held = sum(max(0, min(last, end) - max(first, start) + 1) for start, end in self._ranges)
        return max(0, last - first + 1) - held


class Pruned:
    """What `prune` wrote down in all its bites."""

    def __init__(self, records: Iterable[tuple[int, str]]) -> None:
        """`records`: number and `did` of each. What was written over counts for nothing: its own link tells of that."""
        ranges: list[tuple[int, int]] = []
        links: set[bytes] = set()
        cuts: list[tuple[int, int]] = []
        self.records = 0
        """How many records went."""
        for number, text in records:
            did = _read(text)
            if did is None:
                continue
            start, last = did["ids"]
            for kept in sorted(did["kept"]):
                ranges.append((start, kept - 1))
                start = kept + 1
            ranges.append((start, last))
            links.update(map(bytes.fromhex, did["gone"]))
            self.records += did["records"]
            cuts.append((last, number))
        self.spans = Spans(ranges)
        self.links = frozenset(links)
        """Links of records that went, on which others build."""
        cuts.sort()
        self._lasts = [last for last, _ in cuts]
        self._newest = list(accumulate((number for _, number in reversed(cuts)), max))[::-1]

    def took(self, call_id: int) -> bool:
        """Did it take the row of this number?"""
        return bool(self._lasts) and call_id <= self._lasts[-1] and self.spans.first_outside(call_id, call_id) is None

    def stays(self, call_id: int, settled: int) -> bool:
        """May this settled row be there still? `settled`: the number of its settlement; 0 from before the chain.

        Each bite takes the oldest settled rows, so what was settled by then and older cannot have stayed.
        """
        place = bisect_left(self._lasts, call_id)
        return place == len(self._lasts) or settled > self._newest[place]


def counts(connection: sqlite3.Connection) -> bool:
    """Does SQLite count the numbers that it gives in this file, as in every one that the plugin made?

    Where it does not, the number of the newest row is given again once that row is gone.
    """
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name='ledger' COLLATE NOCASE").fetchone()
    return "autoincrement" in str(found[0]).lower()


def _read(text: str) -> dict[str, Any] | None:
    """The record, or None for one that was written over: its own link tells of that."""
    try:
        did = json.loads(text)
        first, last = did["ids"]
        numbers = all(type(number) is int for number in (first, last, did["records"], *did["kept"]))
        links = all(isinstance(link, str) and len(bytes.fromhex(link)) for link in did["gone"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return did if numbers and links else None
