"""Amendments of rows: read beside them, and taken back one by one, to see each row as it was when it was hashed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from .seal import ISSUE_COLUMNS, SETTLE_COLUMNS, Seal, as_text, link_again
from .spans import PRUNED

_ANYTHING = object()
"""A cell that a later settlement wrote over: what it held before is not known, and need not be."""


class Amendment(NamedTuple):
    """One row of the table `amendment`."""

    ledger_id: int | None
    seal: Seal
    kind: str
    did: str

    def is_genuine(self) -> bool:
        """Is it as it was written?"""
        seal = self.seal
        try:
            expected = link_again(seal.previous, self.kind, seal.number, self.ledger_id, seal.changed, (self.did,))
        except (TypeError, ValueError, AttributeError):
            return False
        return expected == seal.link

    def has_place(self) -> bool:
        """Can its place among the others be told?"""
        number, changed, previous, link = self.seal
        return type(number) is type(changed) is int and type(previous) is type(link) is bytes

    def cells(self) -> Mapping[str, tuple[Any, Any]]:
        """Column to (was, is); empty for a record that changed no cell."""
        if self.kind == PRUNED:
            return {}
        try:
            return {name: (was, now) for name, (was, now) in json.loads(self.did).items()}
        except (ValueError, TypeError, AttributeError, RecursionError):
            return {}


def by_row(connection: sqlite3.Connection) -> Iterator[tuple[int | None, list[Amendment]]]:
    """Amendments of each row in their order, rows in theirs; those of no row first."""
    found = connection.execute(
        "SELECT ledger_id, number, changed, previous, link, kind, did FROM amendment ORDER BY ledger_id, id"
    )
    read = (Amendment(row[0], Seal(*row[1:5]), row[5], row[6]) for row in found)
    return ((ledger_id, list(some)) for ledger_id, some in groupby(read, lambda one: one.ledger_id))


def holds(cells: dict[str, Any], issued: Seal | None, settled: Seal | None, amended: Sequence[Amendment]) -> bool:
    """Is a row with amendments what its records say, each of them? `cells`: every column as it is now, but seals."""
    ledger_id, changed = cells.pop("id"), cells.pop("changed")
    state = {name: as_text(name, value) for name, value in cells.items()}
    whole: list[tuple[Seal, str, Amendment | None]] = [(one.seal, one.kind, one) for one in amended]
    whole += [(seal, kind, None) for seal, kind in ((issued, "issue"), (settled, "settle")) if seal is not None]
    whole.sort(key=lambda record: record[0].number, reverse=True)
    if changed != whole[0][0].changed:
        return False
    for seal, kind, amendment in whole:
        if amendment is not None:
            if not _taken_back(state, amendment):
                return False
        elif kind == "settle":
            values = [state[name] for name in SETTLE_COLUMNS]
            if link_again(seal.previous, kind, seal.number, ledger_id, seal.changed, values) != seal.link:
                return False
            state.update(dict.fromkeys(SETTLE_COLUMNS, None), status=_ANYTHING, effect=_ANYTHING)
        else:
            return _as_issued(state, seal, ledger_id)
    return True  # Announced before the chain began: only what came later can be checked.


def _taken_back(state: dict[str, Any], amendment: Amendment) -> bool:
    for name, (was, now) in amendment.cells().items():
        if name in state:
            if state[name] is not _ANYTHING and state[name] != now:
                return False
            state[name] = was
    return True


def _as_issued(state: dict[str, Any], seal: Seal, ledger_id: int) -> bool:
    if state["status"] is _ANYTHING:
        state["status"] = "PENDING"
    values = [state.pop(name) for name in ISSUE_COLUMNS]
    rest_is_empty = all(value is None or value is _ANYTHING for value in state.values())
    return (
        rest_is_empty and link_again(seal.previous, "issue", seal.number, ledger_id, seal.changed, values) == seal.link
    )


class Amended:
    """Amendments along the rows: those of a row at its turn, those of no row that is there to `without_row`."""

    def __init__(
        self, connection: sqlite3.Connection, without_row: Callable[[int | None, list[Amendment]], None]
    ) -> None:
        self._groups, self._without_row = by_row(connection), without_row
        self._next = next(self._groups, None)

    def of(self, call_id: int) -> list[Amendment]:
        """Those of one row; ids are asked for in rising order."""
        while self._next is not None and _sorts_before(self._next[0], call_id):
            self._without_row(*self._next)
            self._next = next(self._groups, None)
        if self._next is None or self._next[0] != call_id:
            return []
        found = self._next[1]
        self._next = next(self._groups, None)
        return found

    def rest(self) -> None:
        while self._next is not None:
            self._without_row(*self._next)
            self._next = next(self._groups, None)


def _sorts_before(ledger_id: object, call_id: int) -> bool:
    """SQLite puts NULL first, then numbers; an edit can leave anything there."""
    return ledger_id is None or (isinstance(ledger_id, (int, float)) and ledger_id < call_id)
