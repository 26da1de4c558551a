"""Counts over a ledger, kept exact from the rows that change."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ledger.engine.records import CONFIRMED, GHOST_REPORTED, PENDING, Call

from .parts import CountedRows
from .reading import Totals

REMEMBERED = 20_000
"""Settled rows whose kind is remembered."""

REREAD = 500
"""Unsettled rows without a change counter that are read again at each look, the newest."""


def kind_of(call: Call) -> str:
    """The field of `Totals` that counts this row; agrees with `queries.totals`."""
    if call.status == PENDING:
        return "pending"
    if call.status == GHOST_REPORTED:
        return "ghost"
    if call.reported_ts is not None:
        return "revived"
    return "confirmed" if call.status == CONFIRMED else "error"


def _counts(totals: Totals) -> dict[str, int]:
    return {name: getattr(totals, name) for name in ("pending", "ghost", "error", "revived", "confirmed")}


class Counted:
    """Counts kept up to date from the rows that changed, by remembering what each of them was before."""

    def __init__(self) -> None:
        self._counts = _counts(Totals())
        self._open: dict[int, tuple[str, int | None]] = {}
        """Unsettled rows: kind and writer."""
        self._settled: dict[int, str] = {}
        """The rows last seen settled, oldest first."""
        self._uncounted: dict[int, Call] = {}
        self._through = 0
        self.top = 0
        """Highest id at the last complete look: what lies above is new."""
        self.highest = 0
        self.highest_uncounted = 0
        self.unsure = False
        """A row changed of which we do not know what it was before."""

    def start(self, counted: CountedRows, top: int, through: int, calls: Iterable[Call]) -> None:
        """The first reading: rows up to the id `top`, and changes up to the counter `through`, are in it."""
        self._counts = _counts(counted.totals)
        self._open = {
            key: ("pending" if status == PENDING else "ghost", writer) for key, status, writer in counted.unsettled
        }
        self.top = self.highest = self.highest_uncounted = top
        self._through = through
        for call in calls:
            if call.id in self._open or call.id > top:
                self._note(call)
            else:
                self._remember(call, kind_of(call))

    def correct(self, totals: Totals) -> bool:
        """Takes a full count over. True when rows went or turned without a trace: what we know is no longer so."""
        lost = totals.rows != self.totals().rows or (not self.unsure and totals != self.totals())
        self._counts, self.unsure = _counts(totals), False
        return lost

    def totals(self) -> Totals:
        return Totals(rows=sum(self._counts.values()), **self._counts)

    def pending_writers(self) -> set[int]:
        return {writer for kind, writer in self._open.values() if kind == "pending" and writer is not None}

    def uncounted_ids(self) -> list[int]:
        """Unsettled rows without a change counter: only reading them again shows a change."""
        return sorted(self._uncounted)[-REREAD:]

    @property
    def overlooks(self) -> bool:
        """Are there more of them than are read again?"""
        return len(self._uncounted) > REREAD

    def settle_top(self) -> int | None:
        """Everything up to here has been seen. Returns the highest id, None when there is none."""
        self.top = self.highest
        while len(self._settled) > REMEMBERED:
            del self._settled[next(iter(self._settled))]
        return self.top or None

    def note(self, calls: Iterable[Call]) -> list[Call]:
        """Counts these rows as they are now. Returns those that are news, in the same order."""
        return [call for call in calls if self._note(call)]

    def _note(self, call: Call) -> bool:
        kind = kind_of(call)
        before = self._open[call.id][0] if call.id in self._open else self._settled.get(call.id)
        known = self._uncounted.get(call.id)
        if before is not None:
            self._counts[before] -= 1
            self._counts[kind] += 1
        elif call.id > self.top:
            self._counts[kind] += 1
        elif call.changed > self._through or not call.changed:
            self.unsure = True
        self._remember(call, kind)
        return known is None or known != call

    def _remember(self, call: Call, kind: str) -> None:
        self.highest = max(self.highest, call.id)
        self._settled.pop(call.id, None)
        self._open.pop(call.id, None)
        self._uncounted.pop(call.id, None)
        if call.settled:
            self._settled[call.id] = kind
        else:
            self._open[call.id] = (kind, call.writer_id)
        if call.changed == 0:
            self.highest_uncounted = max(self.highest_uncounted, call.id)
            if not call.settled:
                self._uncounted[call.id] = call
