"""Checks the chain of a ledger: is every record as it was written, and is none missing?

Rows are read once, in the order of their ids, in one transaction: what others write meanwhile is not seen. Memory
holds the records whose place in time has not been reached yet, which are those of calls that ran long.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from ..schema import COLUMNS, columns_of
from .amendments import Amendment, by_row, holds
from .order import Order
from .report import Checked, Head, calls
from .seal import ISSUE_COLUMNS, SETTLE_COLUMNS, STATUS_AT, Seal, link_of, unpack
from .spans import PRUNED, pruned

STEP = 5_000
"""Rows between two words of progress."""

_UNMASKED = 10
"""Rows for which that is tried."""

_SUSPECTS = 1_000
"""Rows and gaps among which the true number of a row that was moved is looked for."""

_AFTER = SETTLE_COLUMNS[1:]
_SEALS = ("issue_seal", "settle_seal")
_REST = tuple(name for name in COLUMNS if name not in {"id", "changed", *_SEALS, *ISSUE_COLUMNS, *_AFTER})
_READ = ("id", "changed", *_SEALS, *ISSUE_COLUMNS, *_AFTER, *_REST)
_ISSUE = slice(4, 4 + len(ISSUE_COLUMNS))
_SETTLED = slice(_ISSUE.stop, _ISSUE.stop + len(_AFTER))
_STATUS = _ISSUE.start + STATUS_AT
_NOTHING_AFTER = (None,) * (len(_AFTER) + len(_REST))
_NO_REST = (None,) * len(_REST)


def check_chain(
    connection: sqlite3.Connection, progress: Callable[[int], None] | None = None, expected: Head | None = None
) -> Checked:
    """Check a whole ledger. `progress` gets the rows seen so far; what it raises ends the check.

    `expected`: a head that an earlier check gave and that somebody noted elsewhere. Opens a transaction of its own
    unless the caller has one. Raises sqlite3.Error.
    """
    if connection.in_transaction:
        return _Check(connection, progress, expected).run()
    connection.execute("BEGIN")
    try:
        return _Check(connection, progress, expected).run()
    finally:
        connection.execute("ROLLBACK")


class _Check:
    def __init__(
        self, connection: sqlite3.Connection, progress: Callable[[int], None] | None, expected: Head | None
    ) -> None:
        self._connection, self._progress, self._expected = connection, progress, expected
        self._report = Checked()
        self._edited: list[tuple[Any, ...]] = []
        self._gaps: list[int] = []

    def run(self) -> Checked:
        report = self._report
        if not columns_of(self._connection) >= COLUMNS.keys():
            (report.rows,) = self._connection.execute("SELECT count(*) FROM ledger").fetchone()
            report.uncovered = report.rows
            return report
        records = self._connection.execute("SELECT did FROM amendment WHERE kind=?", (PRUNED,))
        self._spans, gone = pruned(str(did) for (did,) in records)
        self._order = Order(report, gone, () if self._expected is None else (self._expected.changed,))
        self._rows()
        self._order.finish()
        self._end()
        self._unmask()
        if not report.broken:
            for before, after in self._order.breaks:
                self._break(before, after)
        last = self._order.last
        report.head = Head(last.changed, last.link) if report.records else None
        if self._expected is not None:
            self._compare(self._expected)
        return report

    def _break(self, before: int | None, after: int | None) -> None:
        if before is None:
            self._report.add(after, "deleted", f"What was recorded before call #{after} is gone.")
            return
        self._report.add(
            before,
            "edited",
            f"Between a record of call #{before} and one of call #{after} something was taken out, such as a"
            f" settlement, or the first of them was written anew.",
        )

    def _compare(self, expected: Head) -> None:
        """Is the head that somebody noted elsewhere still there?"""
        report, found = self._report, self._order.watched[expected.changed]
        if found is None and report.pruned and (report.head is None or expected.changed < report.head.changed):
            return
        report.expected = found == expected.link
        if not report.expected:
            what = "is gone" if found is None else "is another one now"
            report.add(
                None, "edited", f"The head that was noted ({expected.changed}:…) {what}: the chain was made anew."
            )

    def _rows(self) -> None:
        report, order = self._report, self._order
        amended = _Amended(self._connection, self._amendment_without_row)
        expected, covered = 1, False
        for row in _read(self._connection):
            call_id = row[0]
            report.rows += 1
            if self._progress is not None and not report.rows % STEP:
                self._progress(report.rows)
            amendments = amended.of(call_id)
            issued, settled = unpack(row[2]), unpack(row[3])
            if call_id != expected:
                self._gap(expected, call_id - 1, at_head=expected == 1, covered=covered)
            expected = call_id + 1
            covered = covered or row[2] is not None
            if row[2] is None:
                self._unsealed(call_id, covered)
            if issued is not None:
                order.advance(issued.changed)
                order.add(issued, call_id)
            if settled is not None:
                order.add(settled, call_id)
            for amendment in amendments:
                order.add(amendment.seal, call_id)
            if not self._is_as_written(row, issued, settled, amendments):
                self._not_as_written(row)
        amended.rest()
        self._after_last(expected)

    def _is_as_written(
        self, row: tuple[Any, ...], issued: Seal | None, settled: Seal | None, amendments: list[Amendment]
    ) -> bool:
        if (row[2] is not None and issued is None) or (row[3] is not None and settled is None):
            return False
        try:
            if amendments:
                if not all(amendment.is_genuine() for amendment in amendments):
                    return False
                cells = {name: value for name, value in zip(_READ, row, strict=True) if name not in _SEALS}
                return holds(cells, issued, settled, amendments)
            return _plain(row, row[0], issued, settled)
        except (TypeError, ValueError, AttributeError, UnicodeError, KeyError):
            return False  # A cell of a kind that nobody wrote.

    def _not_as_written(self, row: tuple[Any, ...]) -> None:
        if len(self._edited) < _SUSPECTS:
            self._edited.append(row)
        else:
            self._report.add(row[0], "edited", _EDITED.format(row[0]))

    def _amendment_without_row(self, ledger_id: int | None, amendments: list[Amendment]) -> None:
        for amendment in amendments:
            if amendment.is_genuine():
                self._order.add(amendment.seal, ledger_id)
            else:
                self._report.add(ledger_id, "edited", f"What was recorded of call #{ledger_id} was changed afterwards.")

    def _unsealed(self, call_id: int, covered: bool) -> None:
        if not covered:
            self._report.uncovered += 1
            return
        self._report.add(
            call_id,
            "added",
            f"Call #{call_id} has no seal: other software wrote it, or a plugin from before there were seals.",
        )

    def _gap(self, first: int, last: int, *, at_head: bool, covered: bool) -> None:
        outside = self._spans.first_outside(first, last)
        if outside is None or at_head:
            self._report.pruned += last - first + 1
            self._report.by_hand |= outside is not None
        elif covered:
            self._gaps += range(outside, min(last, outside + _SUSPECTS) + 1)
            self._report.add(outside, "deleted", f"{calls(outside, last)} gone, though `prune` took nothing there.")

    def _after_last(self, expected: int) -> None:
        found = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name='ledger'").fetchone()
        used = found[0] if found and isinstance(found[0], int) else 0
        outside = self._spans.first_outside(expected, used)
        if outside is not None:
            self._report.add(outside, "cut off", f"{calls(outside, used)} gone from the end.")
        elif used >= expected:
            self._report.pruned += used - expected + 1

    def _end(self) -> None:
        """What stood at the start of the last turn must be there still."""
        found = self._connection.execute("SELECT changed, link, seen_ts FROM chain_head").fetchone()
        last = self._order.last
        if found is None or self._report.broken or self._edited:
            return
        if isinstance(found[0], int) and found[0] > last.changed:
            if self._report.by_hand:
                self._report.unproven += 1
            else:
                self._report.add(None, "cut off", f"Records are gone from the end: there were more at {found[2]}.")
        elif found[0] == last.changed and found[1] != last.link:
            self._report.add(None, "edited", f"The last record is another one than at {found[2]}.")

    def _unmask(self) -> None:
        """Rows that are not as they were written: were they moved, or changed?"""
        for place, row in enumerate(self._edited):
            call_id = row[0]
            others = [other[0] for other in self._edited] + self._gaps[:_SUSPECTS] if place < _UNMASKED else []
            seals = unpack(row[2]), unpack(row[3])
            was = next((other for other in others if other != call_id and _was(row, other, *seals)), None)
            if was is not None:
                self._report.add(call_id, "reordered", f"Call #{call_id} was recorded as call #{was}.")
            else:
                self._report.add(call_id, "edited", _EDITED.format(call_id))


_EDITED = "Call #{} is not as it was recorded: its cells were changed afterwards."


def _plain(row: tuple[Any, ...], call_id: int, issued: Seal | None, settled: Seal | None) -> bool:
    """Does a row without amendments agree with its seals?"""
    if issued is not None:
        values = list(row[_ISSUE])
        values[STATUS_AT] = "PENDING"
        if link_of(issued.previous, "issue", call_id, issued.changed, values) != issued.link:
            return False
        if settled is None:
            pending = row[_STATUS] == "PENDING" and row[_SETTLED.start :] == _NOTHING_AFTER
            return bool(pending and row[1] == issued.changed)
    if settled is None:
        return True
    if row[1] != settled.changed or (issued is not None and row[_SETTLED.stop :] != _NO_REST):
        return False
    values = [row[_STATUS], *row[_SETTLED]]
    return link_of(settled.previous, "settle", call_id, settled.changed, values) == settled.link


def _was(row: tuple[Any, ...], call_id: int, issued: Seal | None, settled: Seal | None) -> bool:
    try:
        return issued is not None and _plain(row, call_id, issued, settled)
    except (TypeError, ValueError, AttributeError, UnicodeError):
        return False


class _Amended:
    """Amendments beside the rows, both in the order of their ids."""

    def __init__(
        self, connection: sqlite3.Connection, without_row: Callable[[int | None, list[Amendment]], None]
    ) -> None:
        self._groups, self._without_row = by_row(connection), without_row
        self._next = next(self._groups, None)

    def of(self, call_id: int) -> list[Amendment]:
        """Those of one row; ids are asked for in rising order."""
        while self._next is not None and (self._next[0] is None or self._next[0] < call_id):
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


def _read(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Every row. Text that is none (an edit can leave any bytes) is read with marks for its bytes."""
    question = f"SELECT {', '.join(_READ)} FROM ledger WHERE id > ? ORDER BY id"
    last, usual = -(2**63), connection.text_factory
    try:
        while True:
            try:
                for row in connection.execute(question, (last,)):
                    last = row[0]
                    yield row
                return
            except sqlite3.OperationalError as error:
                if "UTF-8" not in str(error) or connection.text_factory is not usual:
                    raise
                connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    finally:
        connection.text_factory = usual
