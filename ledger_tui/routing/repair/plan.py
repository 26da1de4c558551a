"""What a repair would do: every cell before and after, and which row each chat is led to. It writes nothing.

A person may choose a donor where the evidence does not name one; nothing here ever guesses.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ledger_tui.sources.guard import connect

from ..further import EMPTY_DONOR, Further, find_further
from ..orphans import CONTESTED, MAX_GAP_S, Orphan, find_orphans
from ..read import Store
from .adoption import Adoption, Change
from .cells import Cells, read_cells
from .would_be import Answer, Candidate, Desk, Ending, Skipped

__all__ = [
    "Adoption", "Answer", "Asked", "Change", "Ending", "Findings", "Plan", "Scan", "Skipped", "look", "make_plan",
    "propose",
]  # fmt: skip


LEFT_OUT = "left out by --only"


class Scan(Protocol):
    """What a plan is made of: the sessions, and what was found among them."""

    @property
    def store(self) -> Store: ...
    @property
    def orphans(self) -> Sequence[Orphan]: ...
    @property
    def further(self) -> Sequence[Further]: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What the plan was made for; the same question over the same rows gives the same plan."""

    now: float
    max_gap_s: float = MAX_GAP_S
    only: frozenset[str] | None = None
    choices: tuple[tuple[str, str], ...] = ()
    """(orphan, donor), as a person named them."""
    end: tuple[str, ...] = ()
    """Rows that a person wants ended."""


@dataclass(frozen=True, slots=True)
class Plan:
    adoptions: tuple[Adoption, ...]
    """In the order in which they are done."""
    skipped: tuple[Skipped, ...]
    answers: tuple[Answer, ...]
    recent: bool
    """The file is of a Hermes 0.22 or later."""
    asked: Asked = field(default_factory=lambda: Asked(0.0))
    endings: tuple[Ending, ...] = ()
    """Rows that a person ends, after the adoptions."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every cell, in the order in which it is written."""
        parts = [one.changes for one in self.adoptions] + [one.changes for one in self.endings]
        return tuple(change for part in parts for change in part)

    @property
    def empty(self) -> bool:
        """Would nothing be done?"""
        return not self.adoptions and not self.endings

    @property
    def decided(self) -> bool:
        """Does it hold anything that only a person can decide?"""
        return bool(self.endings) or any(one.chosen for one in self.adoptions)


@dataclass(frozen=True, slots=True)
class Findings:
    """The least that a plan is made of."""

    store: Store
    orphans: tuple[Orphan, ...]
    further: tuple[Further, ...]


def look(store: Store, *, max_gap_s: float = MAX_GAP_S) -> Findings:
    """What a repair is about, without everything else that a survey tells."""
    orphans = find_orphans(store.sessions, store.owner, max_gap_s=max_gap_s)
    return Findings(store, orphans, find_further(store, orphans, max_gap_s=max_gap_s))


def propose(
    path: Path,
    scan: Scan,
    *,
    only: Collection[str] | None = None,
    choices: Mapping[str, str] | None = None,
    end: Collection[str] = (),
    now: float,
    max_gap_s: float = MAX_GAP_S,
) -> Plan:
    """`make_plan` with the cells read from the file. Raises SourceError and sqlite3.Error."""
    with closing(connect(path, timeout_s=5.0)) as connection:
        cells = read_cells(connection, rows_concerned(scan, only=only, choices=choices or {}, end=end))
    return make_plan(scan, cells, only=only, choices=choices or {}, end=end, now=now, max_gap_s=max_gap_s)


def rows_concerned(
    scan: Scan, *, only: Collection[str] | None, choices: Mapping[str, str], end: Collection[str] = ()
) -> list[tuple[int, str]]:
    """Number and id of the rows whose cells a plan needs."""
    ids = {
        key for one in _candidates(scan, choices) if _wanted(one, only) and one.donor_id is not None
        for key in (one.orphan_id, one.donor_id)
    }  # fmt: skip
    ids.update(end)
    return [(scan.store.sessions[key].row, key) for key in ids if key in scan.store.sessions]


def make_plan(
    scan: Scan,
    cells: Cells,
    *,
    only: Collection[str] | None = None,
    choices: Mapping[str, str] | None = None,
    end: Collection[str] = (),
    now: float,
    max_gap_s: float = MAX_GAP_S,
) -> Plan:
    """Adopts what may be adopted, one after the other on rows as they would be, so that chains come out whole.

    `only`: ids of the orphans to take; None takes all. `choices`: donor by orphan. `end`: rows to end, as a person's
    `/reset` would. `now` and the gap in seconds.
    """
    chosen = dict(choices or {})
    asked = Asked(
        now, max_gap_s, None if only is None else frozenset(only), tuple(sorted(chosen.items())), tuple(sorted(end))
    )
    desk = Desk(scan.store, cells, now)
    waiting: dict[str | None, list[Candidate]] = defaultdict(list)
    settled = _settled(list(_candidates(scan, chosen)), only, desk)
    lost = {one.orphan_id for one in settled}
    ready: deque[Candidate] = deque()
    for one in settled:
        (waiting[one.donor_id] if one.donor_id in lost else ready).append(one)
    while ready:
        one = ready.popleft()
        if desk.take(one):
            ready.extend(waiting.pop(one.orphan_id, ()))
    for left in waiting.values():
        desk.skip(left, "the row it continues is an orphan itself and was not taken back")
    for key in asked.end:
        desk.end(key)
    made = tuple(desk.adoptions), tuple(desk.skipped), desk.answers()
    return Plan(*made, scan.store.recent_host, asked, tuple(desk.endings))


def _candidates(scan: Scan, choices: Mapping[str, str]) -> Iterable[Candidate]:
    """One per orphan: a person's choice first, then what only we see and may adopt, then what the host finds."""
    further = {one.orphan_id: one for one in scan.further}
    seen = set()
    for record in scan.orphans:
        seen.add(record.orphan_id)
        if record.orphan_id in choices:
            continue
        more = further.get(record.orphan_id)
        if more is not None and (more.kind == EMPTY_DONOR or not record.adoptable):
            yield _from_further(more)
        else:
            donor = record.donor_id if record.adoptable else None
            yield Candidate(record.orphan_id, donor, record.evidence, record.reason)
    yield from (_from_further(one) for key, one in further.items() if key not in seen and key not in choices)
    yield from (Candidate(orphan, donor, "choice", "", True) for orphan, donor in choices.items())


def _from_further(one: Further) -> Candidate:
    donor = one.donor_ids[0] if one.adoptable and one.donor_ids else None
    return Candidate(one.orphan_id, donor, one.kind, one.reason)


def _wanted(one: Candidate, only: Collection[str] | None) -> bool:
    return only is None or one.orphan_id in only or one.chosen


def _settled(candidates: list[Candidate], only: Collection[str] | None, desk: Desk) -> list[Candidate]:
    """Those that have a donor of their own; the others are noted as skipped."""
    taken: dict[str, list[Candidate]] = defaultdict(list)
    for one in candidates:
        if not _wanted(one, only):
            if one.donor_id is not None:
                desk.skip([one], LEFT_OUT)
        elif one.donor_id is None:
            desk.skip([one], one.reason)
        else:
            taken[one.donor_id].append(one)
    kept = []
    for claims in taken.values():
        chosen = [one for one in claims if one.chosen]
        winners = chosen if chosen else claims
        if len(winners) > 1:
            desk.skip(claims, CONTESTED)
            continue
        desk.skip([one for one in claims if one not in winners], "a person gave its predecessor to another row")
        kept += winners
    return kept
