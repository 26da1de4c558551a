"""Which rows a ledger may lack: those that `prune` took and wrote down."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

PRUNED = "pruned"
"""Kind of the record that `prune` leaves. `did`: {"ids": [first, last], "kept": [ids], "gone": [links as hex]}."""


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


def pruned(records: Iterable[str]) -> tuple[Spans, frozenset[bytes]]:
    """From the `did` of each such record: the ids that went, and the links that others may still build on."""
    ranges: list[tuple[int, int]] = []
    links: set[bytes] = set()
    for text in records:
        did = _read(text)
        if did is None:
            continue
        start = did["ids"][0]
        for kept in sorted(did["kept"]):
            ranges.append((start, kept - 1))
            start = kept + 1
        ranges.append((start, did["ids"][1]))
        links.update(map(bytes.fromhex, did["gone"]))
    return Spans(ranges), frozenset(links)


def _read(text: str) -> dict[str, Any] | None:
    """The record, or None for one that was written over: its own link tells of that."""
    try:
        did = json.loads(text)
        first, last = did["ids"]
        numbers = all(isinstance(number, int) for number in (first, last, *did["kept"]))
        links = all(isinstance(link, str) and len(bytes.fromhex(link)) for link in did["gone"])
    except (ValueError, TypeError, KeyError):
        return None
    return did if numbers and links else None
