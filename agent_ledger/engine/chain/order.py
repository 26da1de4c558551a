"""Records in the order of time: does each build on the one before it?"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from .report import Checked
from .seal import FIRST, Seal

_Record = tuple[int, bytes, bytes, int | None]


class Order:
    """Takes records roughly in order and looks at them in order. Holds only what is ahead of its time."""

    def __init__(self, report: Checked, gone: frozenset[bytes], watched: Iterable[int] = ()) -> None:
        """`gone`: links of records that went by `prune`, on which others may build; `watched`: change counters."""
        self._report, self._gone = report, gone
        self.watched: dict[int, bytes | None] = dict.fromkeys(watched)
        """Links of the records with these change counters; None where there is no such record."""
        self._ahead: list[_Record] = []
        self.last = Seal(0, FIRST, FIRST)
        self.breaks: list[tuple[int | None, int | None]] = []
        """Rows of two records that follow each other, of which the second builds on another than the first."""
        self._row: int | None = None

    def add(self, seal: Seal, ledger_id: int | None) -> None:
        heappush(self._ahead, (*seal, ledger_id))

    def advance(self, changed: int) -> None:
        """Look at everything before this moment: nothing earlier can come any more."""
        ahead, last = self._ahead, self.last.link
        if not ahead or ahead[0][0] >= changed:
            return
        record: _Record = ahead[0]
        while ahead and ahead[0][0] < changed:
            record = heappop(ahead)
            if record[1] != last and record[1] not in self._gone:
                self._explain(record)
            last, self._row = record[2], record[3]
            if record[0] in self.watched:
                self.watched[record[0]] = last
            self._report.records += 1
        self.last = Seal(*record[:3])

    def finish(self) -> None:
        self.advance(2**63)

    def _explain(self, record: _Record) -> None:
        if self._report.by_hand:
            self._report.unproven += 1
        else:
            self.breaks.append((self._row, record[3]))
