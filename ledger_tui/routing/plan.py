"""What a repair would do: every cell before and after, and which row each chat is led to. It writes nothing.

A person may choose a donor where the evidence does not name one; nothing here ever guesses.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ledger_tui.sources.guard import connect

from .adoption import Adoption, Change, adopt, applied, refusal
from .cells import Cell, Cells, read_cells
from .further import EMPTY_DONOR, Further, find_further
from .orphans import CONTESTED, MAX_GAP_S, Orphan, find_orphans
from .owners import is_gateway
from .read import Store
from .resolver import Peer, Resolver
from .rows import Session

__all__ = [
    "Adoption", "Answer", "Asked", "Change", "Findings", "Plan", "Scan", "Skipped", "look", "make_plan", "propose",
]  # fmt: skip


class Scan(Protocol):
    """What a plan is made of: the sessions, and what was found among them."""

    @property
    def store(self) -> Store: ...
    @property
    def orphans(self) -> Sequence[Orphan]: ...
    @property
    def further(self) -> Sequence[Further]: ...


@dataclass(frozen=True, slots=True)
class Skipped:
    """An orphan that stays as it is, and why."""

    orphan_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a chat goes on after the next start of the gateway, as things are and as they would be. Raw ids."""

    session_key: str
    source: str
    before_id: str | None
    after_id: str | None
    effective: bool
    """Is it one of the rows that this plan brings back?"""
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the plan was made for; the same question over the same rows gives the same plan."""

    now: float
    max_gap_s: float = MAX_GAP_S
    only: frozenset[str] | None = None
    choices: tuple[tuple[str, str], ...] = ()
    """(orphan, donor), as a person named them."""


@dataclass(frozen=True, slots=True)
class Plan:
    adoptions: tuple[Adoption, ...]
    """In the order in which they are done."""
    skipped: tuple[Skipped, ...]
    answers: tuple[Answer, ...]
    recent: bool
    """The file is of a Hermes 0.22 or later."""
    asked: Asked = field(default_factory=lambda: Asked(0.0))

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for adoption in self.adoptions for change in adoption.changes)


@dataclass(frozen=True, slots=True)
class _Candidate:
    orphan_id: str
    donor_id: str | None
    evidence: str
    reason: str
    chosen: bool = False


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
    now: float,
    max_gap_s: float = MAX_GAP_S,
) -> Plan:
    """`make_plan` with the cells read from the file. Raises SourceError and sqlite3.Error."""
    with closing(connect(path, timeout_s=5.0)) as connection:
        cells = read_cells(connection, rows_concerned(scan, only=only, choices=choices or {}))
    return make_plan(scan, cells, only=only, choices=choices or {}, now=now, max_gap_s=max_gap_s)


def rows_concerned(scan: Scan, *, only: Collection[str] | None, choices: Mapping[str, str]) -> list[tuple[int, str]]:
    """Number and id of the rows whose cells a plan needs."""
    ids = {
        key for one in _candidates(scan, choices) if _wanted(one, only) and one.donor_id is not None
        for key in (one.orphan_id, one.donor_id)
    }  # fmt: skip
    return [(scan.store.sessions[key].row, key) for key in ids if key in scan.store.sessions]


def make_plan(
    scan: Scan,
    cells: Cells,
    *,
    only: Collection[str] | None = None,
    choices: Mapping[str, str] | None = None,
    now: float,
    max_gap_s: float = MAX_GAP_S,
) -> Plan:
    """Adopts what may be adopted, one after the other on rows as they would be, so that chains come out whole.

    `only`: ids of the orphans to take; None takes all. `choices`: donor by orphan. `now` and the gap in seconds.
    """
    chosen = dict(choices or {})
    asked = Asked(now, max_gap_s, None if only is None else frozenset(only), tuple(sorted(chosen.items())))
    desk = _Desk(scan.store, cells, now)
    waiting: dict[str | None, list[_Candidate]] = defaultdict(list)
    settled = _settled(list(_candidates(scan, chosen)), only, desk)
    lost = {one.orphan_id for one in settled}
    ready: deque[_Candidate] = deque()
    for one in settled:
        (waiting[one.donor_id] if one.donor_id in lost else ready).append(one)
    while ready:
        one = ready.popleft()
        if desk.take(one):
            ready.extend(waiting.pop(one.orphan_id, ()))
    for left in waiting.values():
        desk.skip(left, "the row it continues is an orphan itself and was not taken back")
    return Plan(tuple(desk.adoptions), tuple(desk.skipped), desk.answers(), scan.store.recent_host, asked)


def _candidates(scan: Scan, choices: Mapping[str, str]) -> Iterable[_Candidate]:
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
            yield _Candidate(record.orphan_id, donor, record.evidence, record.reason)
    yield from (_from_further(one) for key, one in further.items() if key not in seen and key not in choices)
    yield from (_Candidate(orphan, donor, "choice", "", True) for orphan, donor in choices.items())


def _from_further(one: Further) -> _Candidate:
    donor = one.donor_ids[0] if one.adoptable and one.donor_ids else None
    return _Candidate(one.orphan_id, donor, one.kind, one.reason)


def _wanted(one: _Candidate, only: Collection[str] | None) -> bool:
    return only is None or one.orphan_id in only or one.chosen


def _settled(candidates: list[_Candidate], only: Collection[str] | None, desk: _Desk) -> list[_Candidate]:
    """Those that have a donor of their own; the others are noted as skipped."""
    taken: dict[str, list[_Candidate]] = defaultdict(list)
    for one in candidates:
        if not _wanted(one, only):
            if one.donor_id is not None:
                desk.skip([one], "left out by --only")
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


class _Desk:
    """Rows and cells as they would be, and what led there."""

    def __init__(self, store: Store, cells: Cells, now: float) -> None:
        self._store = store
        self._rows = dict(store.sessions)
        self._cells: dict[str, dict[str, Cell]] = {key: dict(row) for key, row in cells.items()}
        self._now = now
        self.adoptions: list[Adoption] = []
        self.skipped: list[Skipped] = []

    def skip(self, candidates: Iterable[_Candidate], reason: str) -> None:
        """Notes them; rows that carry no key by nature are nobody's damage and are passed over unless named."""
        for one in candidates:
            row = self._store.sessions.get(one.orphan_id)
            if row is None or is_gateway(row.source) or one.chosen:
                self.skipped.append(Skipped(one.orphan_id, reason))

    def take(self, one: _Candidate) -> bool:
        orphan, donor = self._rows.get(one.orphan_id), self._rows.get(one.donor_id or "")
        reason = refusal(orphan, donor, self._store.owner)
        if reason or orphan is None or donor is None:
            self.skip([one], reason)
            return False
        own, others = self._cells.get(orphan.id), self._cells.get(donor.id)
        if own is None or others is None:
            self.skip([one], "the row changed while it was read")
            return False
        changes, notes = adopt(orphan, donor, own, others, recent=self._store.recent_host, now=self._now)
        for change in changes:
            self._cells[change.session_id][change.column] = change.after
            self._rows[change.session_id] = applied(self._rows[change.session_id], change.column, change.after)
        self.adoptions.append(Adoption(orphan.id, donor.id, one.evidence, one.chosen, changes, notes))
        return True

    def answers(self) -> tuple[Answer, ...]:
        """One per chat that the adoptions are about."""
        if not self.adoptions:
            return ()
        owner, recent = self._store.owner, self._store.recent_host
        before = Resolver(self._store.sessions.values(), owner, recent=recent)
        after = Resolver(self._rows.values(), owner, recent=recent)
        back: dict[tuple[str, str], list[Session]] = defaultdict(list)
        for adoption in self.adoptions:
            row = self._rows[adoption.orphan_id]
            back[row.session_key or "", row.source].append(row)
        found = []
        for (key, source), rows in back.items():
            peer = Peer.of(rows[-1])
            old, new = before.resolve(peer), after.resolve(peer)
            held = self._held(key)
            good = new is not None and any(new.id == row.id for row in rows) and held is None
            found.append(Answer(
                key, source, old.id if old else None, new.id if new else None, good, _words(good, new, held)
            ))  # fmt: skip
        return tuple(found)

    def _held(self, key: str) -> str | None:
        """The row that the gateway's own map names for this chat and keeps, because it has not ended."""
        named = _entry_session(self._store.routes.get(key))
        row = self._rows.get(named or "")
        if row is None or not row.open or any(row.id == one.orphan_id for one in self.adoptions):
            return None
        return row.id


def _entry_session(entry: str | None) -> str | None:
    try:
        found = json.loads(entry or "null")
    except (ValueError, RecursionError):
        return None
    named = found.get("session_id") if isinstance(found, dict) else None
    return named if isinstance(named, str) else None


def _words(good: bool, after: Session | None, held: str | None) -> str:
    if good:
        return "After the next start the chat goes on in the conversation that was lost."
    if held is not None:
        return "Without effect on the chat: the gateway's routing table names another row that is still open."
    if after is None:
        return (
            "Without effect on the chat: the row was ended or lies before a reset, and a new conversation would start."
        )
    return "Without effect on the chat: another row of the same chat is newer, or a reset lies between."
