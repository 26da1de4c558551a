"""Rows as they would be: adoptions and endings one upon the other, and what the host's search would then answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from agent_ledger.engine.end_reasons import ENDED_BY_A_PERSON

from ..owners import is_gateway
from ..read import Store
from ..resolver import Peer, Resolver
from ..routes import route
from ..rows import Session
from .adoption import Adoption, Change, adopt, applied, refusal
from .cells import Cell, Cells


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
class Ending:
    """A row that a person ends, so that its chat begins anew instead of falling back into it."""

    session_id: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An orphan with the donor that it would get, if any, and why."""

    orphan_id: str
    donor_id: str | None
    evidence: str
    reason: str
    chosen: bool = False


class Desk:
    """Where a plan is laid out, step by step."""

    def __init__(self, store: Store, cells: Cells, now: float) -> None:
        self._store = store
        self._rows = dict(store.sessions)
        self._cells: dict[str, dict[str, Cell]] = {key: dict(row) for key, row in cells.items()}
        self._now = now
        self.adoptions: list[Adoption] = []
        self.endings: list[Ending] = []
        self.skipped: list[Skipped] = []

    def skip(self, candidates: Iterable[Candidate], reason: str) -> None:
        """Notes them; rows that carry no key by nature are nobody's damage and are passed over unless named."""
        for one in candidates:
            row = self._store.sessions.get(one.orphan_id)
            if row is None or is_gateway(row.source) or one.chosen:
                self.skipped.append(Skipped(one.orphan_id, reason))

    def take(self, one: Candidate) -> bool:
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
        self._make(changes)
        self.adoptions.append(Adoption(orphan.id, donor.id, one.evidence, one.chosen, changes, notes))
        return True

    def end(self, key: str) -> None:
        """Ends an open row of a chat, as a reset by its user would."""
        row, cells = self._rows.get(key), self._cells.get(key)
        if row is None or cells is None:
            self.skipped.append(Skipped(key, "there is no such row"))
        elif not row.open or not row.session_key or not is_gateway(row.source):
            self.skipped.append(Skipped(key, "it is no open row of a messaging platform's chat"))
        else:
            changes = (
                Change(key, "ended_at", cells["ended_at"], self._now),
                Change(key, "end_reason", cells["end_reason"], ENDED_BY_A_PERSON),
            )
            self._make(changes)
            self.endings.append(Ending(key, changes))

    def _make(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._cells[change.session_id][change.column] = change.after
            self._rows[change.session_id] = applied(self._rows[change.session_id], change.column, change.after)

    def answers(self) -> tuple[Answer, ...]:
        """One per chat that the plan is about."""
        back = _by_chat(self._rows[one.orphan_id] for one in self.adoptions)
        ended = _by_chat(self._rows[one.session_id] for one in self.endings)
        if not back and not ended:
            return ()
        owner, recent = self._store.owner, self._store.recent_host
        before = Resolver(self._store.sessions.values(), owner, recent=recent)
        after = Resolver(self._rows.values(), owner, recent=recent)
        found = []
        for (key, source), rows in {**ended, **back}.items():
            peer = Peer.of(rows[-1])
            old, new = before.resolve(peer), after.resolve(peer)
            held = self._held(key)
            wanted: list[str | None] = [*(row.id for row in back.get((key, source), ()))] or [None]
            good = (new.id if new else None) in wanted and held is None
            text = _words(good, wanted[0] is None, new, held)
            found.append(Answer(key, source, old.id if old else None, new.id if new else None, good, text))
        return tuple(found)

    def _held(self, key: str) -> str | None:
        """The row that the gateway's own map names for this chat and keeps, because it has not ended."""
        named = route(self._store.routes.get(key))
        row = self._rows.get(named.session_id) if named else None
        if row is None or not row.open or any(row.id == one.orphan_id for one in self.adoptions):
            return None
        return row.id


def _by_chat(rows: Iterable[Session]) -> dict[tuple[str, str], list[Session]]:
    found: dict[tuple[str, str], list[Session]] = defaultdict(list)
    for row in rows:
        found[row.session_key or "", row.source].append(row)
    return found


def _words(good: bool, anew: bool, after: Session | None, held: str | None) -> str:
    if good and anew:
        return "The next message after the next start begins a new conversation."
    if good:
        return "After the next start the chat goes on in the conversation that was lost."
    if held is not None:
        return "Without effect on the chat: the gateway's routing table names another row that is still open."
    if anew:
        return "Without effect on the chat: another row of the same chat would be opened."
    if after is None:
        return (
            "Without effect on the chat: the row was ended or lies before a reset, and a new conversation would start."
        )
    return "Without effect on the chat: another row of the same chat is newer, or a reset lies between."
