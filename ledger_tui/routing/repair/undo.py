"""A repair taken back: every cell as it was, if it still holds what the repair wrote, in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ledger_tui.sources.guard import SourceError, explain, real_path

from . import journal as journals
from .apply import Desk, Tell
from .holders import FAIL, OK, UNKNOWN, SafetyCheck
from .journal import APPLIED, UNDOING, UNDONE, Journal
from .refused import NothingToUndoError, RefusedError
from .settle import BEFORE, Repair, hold_in, repairs, settle
from .writing import Fault, need_rights, nothing, write_rows

__all__ = ["Repair", "Undone", "finish", "repairs", "undo"]


@dataclass(frozen=True, slots=True)
class Undone:
    repair_id: str
    rows: int
    """Sessions that were put back."""
    checks: tuple[SafetyCheck, ...]


def undo(
    path: Path,
    home: Path,
    repair_id: str | None = None,
    *,
    clock: Callable[[], float],
    stopped_by: str | None = None,
    tell: Tell | None = None,
    fault: Fault = nothing,
    processes: Path = Path("/proc"),
) -> Undone:
    """Takes back the named repair of this store, else the newest that took effect. Raises RefusedError, SourceError."""
    desk = Desk(path, home, clock, stopped_by, None, tell, fault, processes)
    with journals.alone(home):
        return _undo(desk, repair_id)


def finish(
    path: Path,
    home: Path,
    *,
    clock: Callable[[], float],
    stopped_by: str | None = None,
    processes: Path = Path("/proc"),
) -> tuple[str, ...]:
    """Brings repairs of this store to an end that were cut short; says what became of each. Raises RefusedError."""
    with journals.alone(home):
        return settle(path, home, clock=clock, stopped_by=stopped_by, processes=processes)


def _undo(desk: Desk, repair_id: str | None) -> Undone:
    path, home, fault = desk.path, desk.home, desk.fault
    desk.at("checks")
    settled = settle(path, home, clock=desk.clock, stopped_by=desk.stopped_by, processes=desk.processes)
    journal = _wanted(path, home, repair_id, settled)
    checks = desk.safe()
    need_rights(path)
    fault("checked")
    _note(home, journal, UNDOING)
    fault("prepared")

    desk.at("write")
    try:
        write_rows(path, journal.rows, back=True, still_good=lambda: _still_safe(desk), fault=fault)
    except BaseException:
        with contextlib.suppress(SourceError, sqlite3.Error, OSError):
            if hold_in(path, journal.rows) != BEFORE:  # It did not come to that.
                journals.moved(home, journal, APPLIED)
        raise
    desk.at("proof")
    proof = _proof(path, home, journal)
    fault("undone")
    return Undone(journal.repair_id, len(journal.rows), (*checks, *proof))


def _still_safe(desk: Desk) -> None:
    desk.safe()


def _wanted(path: Path, home: Path, repair_id: str | None, settled: Sequence[str]) -> Journal:
    """The journal of the repair to take back. Raises RefusedError."""
    there = [one for one in journals.read_all(home) if one.store == real_path(path)]
    if repair_id is not None:
        there = [one for one in there if one.repair_id == repair_id]
        if not there:
            raise RefusedError(f"There is no repair {repair_id} of {path}", "name one that repair-undo lists")
    applied = [one for one in there if one.state == APPLIED]
    if applied:
        return applied[-1]
    said = f" ({settled[-1]})" if settled else f" ({there[-1].repair_id}: {there[-1].state})" if there else ""
    raise NothingToUndoError(f"No repair of {path} is in effect{said}", "nothing needs to be undone")


def _note(home: Path, journal: Journal, state: str) -> None:
    """Raises RefusedError where the journal cannot be written."""
    try:
        journals.moved(home, journal, state)
    except OSError as error:
        reason = f"The journal cannot be written ({error.strerror or error})"
        raise RefusedError(reason, "check the disk and its folder, then try again") from error


def _proof(path: Path, home: Path, journal: Journal) -> tuple[SafetyCheck, ...]:
    """What the store says now. It has been written: whatever goes wrong here must not look like a refusal."""
    try:
        back = hold_in(path, journal.rows) == BEFORE
    except (SourceError, sqlite3.Error) as error:
        problem = error if isinstance(error, SourceError) else explain(path, error)
        text = f"The rows were put back, but could not be read again: {problem}"
        return (SafetyCheck("read-back", UNKNOWN, text, "look again with repair-undo --list"),)
    if not back:
        return (
            SafetyCheck("read-back", FAIL, "Some cells do not hold what they held.", "compare them with the backup"),
        )
    held = SafetyCheck("read-back", OK, "Every cell holds what it held before the repair.")
    try:
        journals.moved(home, journal, UNDONE)
    except OSError:
        text = "The journal could not be brought up to date; the rows themselves say that the repair was taken back."
        return held, SafetyCheck("journal", UNKNOWN, text, "make room on the disk; nothing else needs to be done")
    return (held,)
