"""A plan carried out: checks, a verified copy, a journal, one short transaction, and proof.

Whatever goes wrong before the commit leaves the store as it was, to the byte. Source: hermes-agent #82616, #82665.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ledger_tui.sources.guard import connect, explain, real_path

from ..owners import store_owner
from ..read import Store, read_sessions
from ..resolver import Peer, Resolver
from ..routes import legacy_routes
from . import journal as journals
from .backup import Backup, broken_links, integrity, make_backup, need_room, remove
from .cells import read_cells
from .holders import FAIL, OK, UNKNOWN, SafetyCheck, require_safe
from .journal import APPLIED, PREPARED, Journal
from .plan import Answer, Plan, look, make_plan, rows_concerned
from .refused import RefusedError
from .settle import AFTER, BEFORE, hold, settle
from .writing import AGAIN, CHANGED, Fault, data_version, file_number, need_rights, nothing, write_rows

PROOFS = frozenset({"read-back", "integrity", "resolver", "journal"})
"""Checks that are made after writing; those before it are over with it."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far it is: `checks`, `scan`, `backup`, `write` or `proof`; counts where there is something to count."""

    stage: str
    done: int = 0
    total: int = 0


Tell = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Applied:
    repair_id: str
    backup: Path
    checks: tuple[SafetyCheck, ...]
    """Those before, then the proof after: `read-back`, `integrity`, `resolver` and `journal`."""
    answers: tuple[Answer, ...]
    """As the store itself gives them now."""
    orphan_ids: tuple[str, ...]
    ended: int = 0
    """Rows that a person ended."""

    @property
    def proven(self) -> bool:
        return all(check.state != FAIL for check in self.checks)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a repair works, and what it is told. `fault` is called by name at every step; tests end there."""

    path: Path
    home: Path
    clock: Callable[[], float]
    stopped_by: str | None = None
    chosen_by: str | None = None
    tell: Tell | None = None
    fault: Fault = nothing
    processes: Path = Path("/proc")

    def at(self, stage: str, done: int = 0, total: int = 0) -> None:
        if self.tell is not None:
            self.tell(Step(stage, done, total))

    def safe(self) -> tuple[SafetyCheck, ...]:
        """Raises RefusedError."""
        return require_safe(
            self.path, self.home, now=self.clock(), stopped_by=self.stopped_by, processes=self.processes
        )


def apply(
    path: Path,
    home: Path,
    plan: Plan,
    *,
    clock: Callable[[], float],
    stopped_by: str | None = None,
    chosen_by: str | None = None,
    tell: Tell | None = None,
    fault: Fault = nothing,
    processes: Path = Path("/proc"),
) -> Applied:
    """Does what `plan` says, or nothing. Raises RefusedError, and SourceError for a store that cannot be read.

    `stopped_by`: who says that everything is stopped; needed only where a check can see nothing. `chosen_by`: who chose
    a donor or ends a row, and why; needed where the plan holds such a thing. Both go into the journal.
    """
    desk = Desk(path, home, clock, stopped_by, chosen_by, tell, fault, processes)
    if plan.empty:
        raise RefusedError("There is nothing to repair", "look again")
    if plan.decided and not chosen_by:
        raise RefusedError("A person has to decide this, and nobody is named who did", "say who, and why")
    with journals.alone(home):
        desk.at("checks")
        settle(path, home, clock=clock, stopped_by=stopped_by, processes=processes)
        checks = desk.safe()
        need_rights(path)
        fault("checked")
        with closing(connect(path, timeout_s=5.0)) as reader:
            try:
                return _apply(desk, reader, plan, checks)
            except sqlite3.Error as error:
                raise explain(path, error) from error


def _apply(desk: Desk, reader: sqlite3.Connection, plan: Plan, checks: tuple[SafetyCheck, ...]) -> Applied:
    desk.at("scan")
    number, version = file_number(desk.path), data_version(reader)
    store, broken = _same_plan(desk, reader, plan), broken_links(reader)
    desk.fault("scanned")
    copy = _backup(desk, reader)
    journal = _prepare(desk, plan, store, copy, checks)

    def still_good() -> None:
        desk.safe()
        if data_version(reader) != version or file_number(desk.path) != number:
            raise RefusedError(f"The store {CHANGED}", AGAIN)

    desk.at("write")
    try:
        write_rows(desk.path, journal.rows, still_good=still_good, fault=desk.fault)
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            if hold(reader, journal.rows) == BEFORE:  # Nothing happened, so nothing of it stays.
                journals.remove(desk.home, journal.repair_id)
                remove(copy.path)
        raise
    desk.at("proof")
    answers, proof = _proof(desk, reader, plan, journal, broken)
    proof = (*_in_place(desk, number, proof), _noted(desk, journal))
    desk.fault("applied")
    orphans = tuple(one.orphan_id for one in plan.adoptions)
    return Applied(journal.repair_id, copy.path, (*checks, *proof), answers, orphans, len(plan.endings))


def _same_plan(desk: Desk, reader: sqlite3.Connection, plan: Plan) -> Store:
    """The store as it is now. Raises RefusedError where the same question gives another plan than was shown."""
    asked = plan.asked
    store = _read(desk, reader)
    findings = look(store, max_gap_s=asked.max_gap_s)
    only, choices, end = asked.only, dict(asked.choices), asked.end
    cells = read_cells(reader, rows_concerned(findings, only=only, choices=choices, end=end))
    fresh = make_plan(findings, cells, only=only, choices=choices, end=end, now=asked.now, max_gap_s=asked.max_gap_s)
    if store.moved or (fresh.changes, fresh.answers, fresh.recent) != (plan.changes, plan.answers, plan.recent):
        raise RefusedError(f"The store {CHANGED}", AGAIN)
    return store


def _read(desk: Desk, reader: sqlite3.Connection) -> Store:
    store = read_sessions(reader, store_owner(desk.path, desk.home))
    return replace(store, routes={**legacy_routes(desk.path.parent), **store.routes})


def _backup(desk: Desk, reader: sqlite3.Connection) -> Backup:
    """Raises RefusedError; then no copy is left."""
    folder = journals.folder(desk.home)
    need_room(reader, folder)
    desk.at("backup")
    target = folder / f"{journals.new_id(desk.clock())}{journals.PART}"
    copy = make_backup(reader, target, copied=lambda done, total: desk.at("backup", done, total))
    desk.fault("backed-up")
    named = target.with_suffix(".db")  # Until now it was a part of something that may never come to be.
    os.rename(target, named)
    return replace(copy, path=named)


def _prepare(desk: Desk, plan: Plan, store: Store, copy: Backup, checks: tuple[SafetyCheck, ...]) -> Journal:
    """The journal, on the disk. Raises RefusedError; then neither it nor the copy stays."""
    journal = Journal(
        repair_id=copy.path.stem,
        state=PREPARED,
        store=real_path(desk.path),
        at=desk.clock(),
        rows=journals.rows_of(plan, store.sessions),
        backup=copy.path.name,
        adoptions=tuple(journals.people(plan)),
        endings=tuple(journals.readable(one.session_id) for one in plan.endings),
        stopped_by=desk.stopped_by,
        chosen_by=desk.chosen_by,
        checks=tuple(asdict(check) for check in checks),
    )
    try:
        journals.write(desk.home, journal)
    except OSError as error:
        remove(copy.path)
        reason = f"The journal cannot be written ({error.strerror or error})"
        raise RefusedError(reason, "check the disk and its folder, then try again") from error
    desk.fault("prepared")
    return journal


def _proof(
    desk: Desk, reader: sqlite3.Connection, plan: Plan, journal: Journal, broken: int
) -> tuple[tuple[Answer, ...], tuple[SafetyCheck, ...]]:
    """What the store says now. It has been written: whatever goes wrong here must not look like a refusal."""
    try:
        answers = _answers_now(desk, reader, plan)
        return answers, (_read_back(reader, journal), _whole(reader, broken), _led(plan, answers))
    except sqlite3.Error as error:
        text = f"The repair took effect, but could not be read back: {explain(desk.path, error)}"
        return plan.answers, (SafetyCheck("read-back", UNKNOWN, text, "look again with repair-routing"),)


def _in_place(desk: Desk, number: tuple[int, int], proof: tuple[SafetyCheck, ...]) -> tuple[SafetyCheck, ...]:
    """The proof holds for the file that was written: is it still the one at its path?"""
    try:
        if file_number(desk.path) == number:
            return proof
    except OSError:
        pass
    text = "The store was repaired, and then another file was put in its place, or none."
    return SafetyCheck("read-back", FAIL, text, "look at the store that lies there now with repair-routing"), *proof[1:]


def _answers_now(desk: Desk, reader: sqlite3.Connection, plan: Plan) -> tuple[Answer, ...]:
    """Asks the store as it is now for each chat of the plan."""
    store = _read(desk, reader)
    resolver = Resolver(store.sessions.values(), store.owner, recent=store.recent_host)
    ids = [one.session_id for one in plan.endings] + [one.orphan_id for one in plan.adoptions]
    rows = [store.sessions[key] for key in ids if key in store.sessions]
    by_chat = {(row.session_key, row.source): row for row in rows}
    found = []
    for answer in plan.answers:
        row = by_chat.get((answer.session_key, answer.source))
        now = resolver.resolve(Peer.of(row)) if row is not None else None
        found.append(replace(answer, after_id=now.id if now else None))
    return tuple(found)


def _read_back(reader: sqlite3.Connection, journal: Journal) -> SafetyCheck:
    if hold(reader, journal.rows) == AFTER:
        return SafetyCheck("read-back", OK, "Every cell holds what was announced.")
    return SafetyCheck("read-back", FAIL, "Some cells do not hold what was announced.", "undo this repair")


def _whole(reader: sqlite3.Connection, broken: int) -> SafetyCheck:
    """`broken`: links to missing rows that were there before."""
    if integrity(reader) or broken_links(reader) > broken:
        remedy = "keep the backup, and let Hermes check it"
        return SafetyCheck("integrity", FAIL, "SQLite finds the store damaged.", remedy)
    return SafetyCheck("integrity", OK, "SQLite finds the store whole, and no parent is missing that was not before.")


def _led(plan: Plan, answers: tuple[Answer, ...]) -> SafetyCheck:
    if answers == plan.answers:
        return SafetyCheck("resolver", OK, "Every chat is led to the row that was announced.")
    return SafetyCheck("resolver", FAIL, "A chat is led to another row than was announced.", "undo this repair")


def _noted(desk: Desk, journal: Journal) -> SafetyCheck:
    """The journal says that it took effect; where it cannot, the rows do."""
    try:
        journals.moved(desk.home, journal, APPLIED)
    except OSError:
        text = "The journal could not be brought up to date; the rows themselves say that the repair took effect."
        return SafetyCheck("journal", UNKNOWN, text, "make room on the disk; repair-undo works all the same")
    return SafetyCheck("journal", OK, "The journal holds every cell as it was, for an undo.")
