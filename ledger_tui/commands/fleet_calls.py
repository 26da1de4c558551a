"""`calls` of several homes: one list by time, each row with the home that it is from."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import utc_seconds
from ledger_tui.commands.fleet import Round
from ledger_tui.commands.output import fit
from ledger_tui.commands.place import Place
from ledger_tui.commands.reading import oldest_first

_MOST_NAME = 20
"""Cells for the name of a home beside its calls."""

Row = Mapping[str, Any]


def merged(asked: Round, wanted: Filter, limit: int | None) -> Iterable[Row]:
    """Matching calls of every home, or the newest `limit` over all, oldest first: as in `calls --json`, with `home`.

    The calls of one home stay in the order of its ledger, whatever its clock did.
    """
    rows = heapq.merge(
        *(asked.kept(place, _rows(place, wanted, limit)) for place in asked.fleet.places),
        key=lambda row: utc_seconds(row["ts"]) or 0.0,
    )
    return rows if limit is None else deque(rows, maxlen=limit)


def _rows(place: Place, wanted: Filter, limit: int | None) -> Iterator[Row]:
    rows: Iterable[Row] = oldest_first(place, wanted, limit=limit)
    for row in rows if limit is None else list(rows):  # At once, so that not every ledger stays open.
        yield {"home": place.home_text, **row}


def column(asked: Round, rows: Sequence[Row]) -> list[str]:
    """What people call the home of each row. (One whose ledger was never brought here has no row.)"""
    there = [place for place in asked.fleet.places if place.shipped is None or place.home not in asked.failed]
    named = {place.home_text: place.name for place in there}
    return [named.get(row["home"]) or str(row["home"]) for row in rows]


def name_width(names: Iterable[str], width: int) -> int:
    """Cells of the first column in lines of `width`."""
    return min(_MOST_NAME, width // 6, max(map(cell_len, ("HOME", *names))))


def beside(names: Sequence[str], lines: Sequence[str], width: int) -> list[str]:
    """The lines of a table, its head first, with the names in a column of `width` cells before them."""
    return [f"{fit(name, width)}  {line}" for name, line in zip(("HOME", *names), lines, strict=True)]
