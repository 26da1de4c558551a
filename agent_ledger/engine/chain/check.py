"""Checks the chain of a ledger: is every record as it was written, and is none missing?

Rows are read once, in the order of their ids, in one transaction: what others write meanwhile is not seen. Memory
holds the records whose place in time has not been reached yet, which are those of calls that ran long.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ..schema import COLUMNS, columns_of
from .amendments import Amended, Amendment, holds
from .kept import KINDS, as_kind, odd_columns
from .order import Break, Order
from .report import Checked, Head, calls
from .seal import HASH_AT, ISSUE_COLUMNS, SETTLE_COLUMNS, STATUS_AT, Seal, as_text, link_again, unpack
from .spans import PRUNED, Pruned, counts

STEP = 5_000
"""Rows between two words of progress."""

_SUSPECTS = 1_000
"""Rows and gaps among which the true number of a row that was moved is looked for."""

_UNMASKED = 10
"""Rows for which it is."""

_UNSETTLED = ("PENDING", "GHOST_REPORTED")
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
    connection: sqlite3.Connection,
    progress: Callable[[int], None] | None = None,
    expected: Head | None = None,
    altered: Collection[int] | None = None,
) -> Checked:
    """Check a whole ledger. `progress` gets the rows seen so far; what it raises ends the check.

    `expected`: a head that an earlier check gave and that somebody noted elsewhere. `altered`: of a copy that is kept
    elsewhere, the calls of which cells were changed on the way, to hide secrets; in a copy also calls may stand that
    `prune` took. Opens a transaction of its own unless the caller has one. Raises sqlite3.Error.
    """
    ours, usual = not connection.in_transaction, connection.text_factory
    if ours:
        connection.execute("BEGIN")
    try:
        return _Check(connection, progress, expected, altered).run()
    except sqlite3.OperationalError as error:
        if "UTF-8" not in str(error):
            raise
        # An edit can leave any bytes. Read so, every text takes longer.
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        return _Check(connection, progress, expected, altered).run()
    finally:
        connection.text_factory = usual
        if ours and connection.in_transaction:
            connection.execute("ROLLBACK")


class _Check:
    def __init__(
        self,
        connection: sqlite3.Connection,
        progress: Callable[[int], None] | None,
        expected: Head | None,
        altered: Collection[int] | None,
    ) -> None:
        self._connection, self._progress, self._expected = connection, progress, expected
        self._copied, self._altered = altered is not None, altered or ()
        self._report = Checked(altered=0 if self._copied else None)
        self._edited: list[tuple[Any, ...]] = []
        self._gaps: list[int] = []
        self._by_hand = 0
        """Rows gone at the head without a word of it."""
        self._lost = 0
        """Rows gone elsewhere."""

    def run(self) -> Checked:
        report = self._report
        if not self._has_chain():
            (report.rows,) = self._connection.execute("SELECT count(*) FROM ledger").fetchone()
            report.uncovered = report.rows
            return report
        records = self._connection.execute("SELECT number, did, changed FROM amendment WHERE kind=?", (PRUNED,))
        found = [(number, str(did), changed) for number, did, changed in records if isinstance(number, int)]
        self._pruned = Pruned((number, did) for number, did, _ in found)
        report.pruned_us = max((changed for _, _, changed in found if isinstance(changed, int)), default=None)
        self._kept = self._connection.execute("SELECT number, link, substr(seen_ts, 1, 40) FROM chain_head").fetchone()
        watched = {self._kept[0]: self._kept[1]} if self._kept and isinstance(self._kept[0], int) else {}
        self._order = Order(self._pruned.links, watched, self._expected)
        self._counting = counts(self._connection)
        self._rows()
        self._order.finish()
        self._unmask()
        self._end()
        self._breaks()
        self._numbers()
        last = self._order.last
        report.records = self._order.records
        report.head = Head(last.changed, last.link) if report.records else None
        if self._expected is not None:
            self._compare(self._expected)
        return report

    def _has_chain(self) -> bool:
        """Has this file what a chain needs? Where a part of that is gone, somebody took it."""
        names = {row[0] for row in self._connection.execute("SELECT lower(name) FROM sqlite_master WHERE type='table'")}
        parts = {"amendment", "chain_head"} & names
        if columns_of(self._connection) >= COLUMNS.keys() and len(parts) == 2:
            return True
        if parts or set(_SEALS) & columns_of(self._connection):
            what = "the tables beside the calls" if len(parts) < 2 else "columns of the calls"
            self._report.add(None, "deleted", f"There was a chain here, but {what} are gone or were renamed.")
        return False

    # -- row by row ------------------------------------------------------------------------------------------------

    def _rows(self) -> None:
        report, order = self._report, self._order
        amended = Amended(self._connection, self._amendment_without_row)
        expected, covered = 1, False
        for row in _read_rows(self._connection):
            call_id = row[0]
            report.rows += 1
            if self._progress is not None and not report.rows % STEP:
                self._progress(report.rows)
            amendments = amended.of(call_id)
            issued, settled = unpack(row[2]), unpack(row[3])
            if call_id > expected:
                self._gap(expected, call_id - 1, at_head=expected == 1, covered=covered)
            expected = max(expected, call_id + 1)
            covered = covered or row[2] is not None
            if call_id < 1 or (self._counting and not self._copied and self._pruned.took(call_id)):
                report.add(call_id, "added", f"Call #{call_id} {_NO_NUMBER if call_id < 1 else _PRUNED_NUMBER}.")
            elif row[2] is None:
                self._unsealed(call_id, covered, had_one=row[3] is not None)
            if issued is not None:
                order.advance(issued.number)
                order.add(issued, call_id)
            if settled is not None:
                order.add(settled, call_id)
            for amendment in amendments:
                if amendment.has_place():
                    order.add(amendment.seal, call_id)
            if covered and row[2] is None:
                continue
            if not self._is_as_written(row, issued, settled, amendments):
                self._not_as_written(row)
            elif not (self._copied or self._may_stay(row, settled)):
                report.add(
                    call_id, "deleted", f"Calls behind #{call_id} are gone, and it was not `prune` that took them."
                )
        amended.rest()
        self._after_last(expected)

    def _may_stay(self, row: tuple[Any, ...], settled: Seal | None) -> bool:
        """Could `prune` have left this row, and taken what is gone behind it?"""
        return row[_STATUS] in _UNSETTLED or self._pruned.stays(row[0], settled.number if settled else 0)

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
        if row[0] in self._altered:
            self._report.altered = (self._report.altered or 0) + 1
        elif len(self._edited) < _SUSPECTS:
            self._edited.append(row)
        else:
            self._report.add(row[0], "edited", _EDITED.format(row[0]))

    def _amendment_without_row(self, ledger_id: int | None, amendments: list[Amendment]) -> None:
        for amendment in amendments:
            if amendment.has_place() and (ledger_id in self._altered or amendment.is_genuine()):
                self._order.add(amendment.seal, ledger_id)
            else:
                whose = f"call #{ledger_id}" if isinstance(ledger_id, int) else "a call"
                place = ledger_id if isinstance(ledger_id, int) else None
                self._report.add(place, "edited", f"What was recorded of {whose} later was changed afterwards.")

    def _unsealed(self, call_id: int, covered: bool, *, had_one: bool) -> None:
        if not covered:
            self._report.uncovered += 1
        elif had_one:
            self._report.add(call_id, "edited", f"Call #{call_id} has lost the seal with which it was recorded.")
        else:
            self._report.add(
                call_id,
                "added",
                f"Call #{call_id} has no seal: other software wrote it, or a plugin from before there were seals, or"
                " its seal was taken away.",
            )

    def _gap(self, first: int, last: int, *, at_head: bool, covered: bool) -> None:
        outside = self._pruned.spans.first_outside(first, last)
        if outside is None or at_head:
            self._report.pruned += last - first + 1
            if outside is not None:
                self._by_hand = self._pruned.spans.outside(first, last)
                self._report.by_hand = True
        elif covered:
            self._lost += last - first + 1
            self._gaps += range(outside, min(last, outside + _SUSPECTS) + 1)
            self._report.add(outside, "deleted", f"{calls(outside, last)} gone, though `prune` took nothing there.")

    # -- as a whole ------------------------------------------------------------------------------------------------

    def _after_last(self, expected: int) -> None:
        found = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name='ledger' COLLATE NOCASE"
        ).fetchone()
        used = found[0] if found and isinstance(found[0], int) else 0
        outside = self._pruned.spans.first_outside(expected, used)
        if not self._report.rows and self._pruned.spans.first_outside(used, used) is None:
            self._gap(expected, used, at_head=True, covered=False)  # Up to the newest one pruned: none was cut off.
        elif outside is not None:
            self._report.add(outside, "cut off", f"{calls(outside, used)} gone from the end.")
        elif used >= expected:
            self._report.pruned += used - expected + 1
        elif used < expected - 1 and self._counting:
            self._report.add(
                expected,
                "cut off",
                f"The count of numbers given was set back to {used}: calls may be gone behind #{expected - 1}.",
            )

    def _end(self) -> None:
        """What stood at the start of the last turn must be there still."""
        kept, order = self._kept, self._order
        if not kept:
            if self._had_turn():
                self._report.add(None, "deleted", "What a turn wrote down of the chain is gone.")
            return
        if not isinstance(kept[0], int) or kept[0] < 1:
            self._report.add(None, "edited", "What a turn wrote down of the chain was changed.")
            return
        if order.other:
            self._report.add(
                None, "edited", f"The newest record at {kept[2]} was another one: the chain was made anew."
            )
        behind = kept[0] - order.last.number
        if behind <= 0:
            return
        if self._by_hand:
            order.missing += behind
            self._report.unproven += 1
        elif not any(one.kind == "cut off" for one in self._report.found):
            self._report.add(None, "cut off", f"Records are gone from the end: there were more at {kept[2]}.")

    def _had_turn(self) -> bool:
        """Is there a record that only the start of a turn writes? Its transaction keeps the head as well."""
        kinds = "kind IN ('reported', 'no signal')"
        return bool(self._connection.execute(f"SELECT 1 FROM amendment WHERE {kinds} LIMIT 1").fetchone())

    def _breaks(self) -> None:
        """Places where something is missing for which nothing else found accounts."""
        report, order = self._report, self._order
        first = report.first.ledger_id if report.first is not None else None
        told = [one for one in order.breaks if first is None or (max(one.before, one.after, one.reached + 1) < first)]
        if self._by_hand:  # Then where records are missing proves nothing, how many still does.
            report.unproven += sum(1 for one in order.breaks if one.missing)
            told = [one for one in told if not one.missing]
        for one in told:
            self._tell(one)

    def _lacks(self) -> int:
        """How many more records are missing than the rows that are gone account for."""
        # Before a row without seals none had two records: such a call can have been settled later, no more.
        by_hand = self._by_hand if self._report.uncovered else 2 * self._by_hand
        return self._order.missing - self._pruned.records - by_hand - 2 * self._lost

    def _numbers(self) -> None:
        if not self._report.broken and self._lacks() > 0:
            where = self._order.last_break
            near = "" if where is None else f"; the last gap is before a record of call #{where.after}"
            self._report.add(
                None if where is None else where.before or None,
                "deleted",
                f"More is missing than the calls that are gone can have had, such as another's settlement{near}.",
            )

    def _tell(self, one: Break) -> None:
        if not one.before:
            self._report.add(one.after or None, "deleted", f"What was recorded before call #{one.after} is gone.")
            return
        what = "one was written anew" if not one.missing else "something was taken out, such as a settlement"
        self._report.add(
            one.before, "edited", f"Between a record of call #{one.before} and one of call #{one.after} {what}."
        )

    def _compare(self, expected: Head) -> None:
        """Is the head that somebody noted elsewhere still there?"""
        report, order = self._report, self._order
        if order.found:
            report.expected, report.fixed_from = True, order.fixed_from or None
            return
        if order.room and report.whole:
            return  # It may have gone with the rest.
        report.expected = False
        gone = report.head is None or expected.changed > report.head.changed
        why = f"the newest records are gone, or {_OLDER[self._copied]}" if gone else "it was made anew"
        report.add(None, "cut off" if gone else "edited", f"The head that was noted is not in this chain: {why}.")

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


_OLDER = ("an older copy of the file was put back", "were not shipped yet")
_NO_NUMBER = "stands at a number that is never given"
_PRUNED_NUMBER = "stands at a number whose call `prune` took: somebody put it there"
_EDITED = "Call #{} is not as it was recorded: its cells were changed afterwards."


def _read_rows(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """The rows with their cells as they were hashed, whatever kinds the columns have in this file."""
    rows = connection.execute(f"SELECT {', '.join(_READ)} FROM ledger ORDER BY id")
    odd = odd_columns(connection)
    if not odd:
        return rows
    kinds = [(name in odd, KINDS[name]) for name in _READ]
    return (
        tuple(as_kind(cell, kind) if is_odd else cell for cell, (is_odd, kind) in zip(row, kinds, strict=True))
        for row in rows
    )


def _plain(row: tuple[Any, ...], call_id: int, issued: Seal | None, settled: Seal | None) -> bool:
    """Does a row without amendments agree with its seals?"""
    if issued is not None:
        values = list(row[_ISSUE])
        values[STATUS_AT] = "PENDING"
        values[HASH_AT] = as_text("args_hash", values[HASH_AT])
        if link_again(issued.previous, "issue", issued.number, call_id, issued.changed, values) != issued.link:
            return False
        if settled is None:
            pending = row[_STATUS] == "PENDING" and row[_SETTLED.start :] == _NOTHING_AFTER
            return bool(pending and row[1] == issued.changed)
    if settled is None:
        return True
    if row[1] != settled.changed or (issued is not None and row[_SETTLED.stop :] != _NO_REST):
        return False
    values = [row[_STATUS], *row[_SETTLED]]
    return link_again(settled.previous, "settle", settled.number, call_id, settled.changed, values) == settled.link


def _was(row: tuple[Any, ...], call_id: int, issued: Seal | None, settled: Seal | None) -> bool:
    """Was this row recorded under that number?"""
    try:
        return issued is not None and _plain(row, call_id, issued, settled)
    except (TypeError, ValueError, AttributeError, UnicodeError):
        return False
