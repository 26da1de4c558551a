"""The walkthrough's memory: which rows lost their way, what a person decided about each, and the plan. No Textual."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ledger_tui.routing.cards import Card, card
from ledger_tui.routing.further import candidates
from ledger_tui.routing.repair.plan import Plan
from ledger_tui.routing.survey import Survey

from .policy_model import Rows

ACCEPT, SKIP, CHOSEN, PERSON, END = "accept", "skip", "chosen", "needs a person", "end"
"""What is decided about a finding. The fourth: the evidence names no single donor, and nobody has chosen one."""

DORMANT = "dormant"
"""Evidence of a session that lost nothing: it is open and silent, and only a person knows whether its talk is over."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One lost row. Ids are raw, texts inert."""

    orphan_id: str
    donor_id: str | None
    """Where the evidence names one, or a person did."""
    evidence: str
    """`lineage`, `contiguity`, the kind of a further finding, or DORMANT; empty where there is none."""
    reason: str
    decision: str


def findings_of(survey: Survey) -> list[Finding]:
    """Every lost row of a messaging platform, in order of its start: the surest evidence there is for each."""
    found: dict[str, Finding] = {}
    for one in survey.lost:
        state = ACCEPT if one.adoptable else PERSON
        found[one.orphan_id] = Finding(
            one.orphan_id, one.donor_id if one.adoptable else None, one.evidence, one.reason, state
        )
    for more in survey.further:
        known = found.get(more.orphan_id)
        if not more.gateway or (known is not None and known.decision == ACCEPT):
            continue
        donor = more.donor_ids[0] if more.adoptable and more.donor_ids else None
        found[more.orphan_id] = Finding(more.orphan_id, donor, more.kind, more.reason, ACCEPT if donor else PERSON)
    sessions = survey.store.sessions
    return sorted(found.values(), key=lambda one: sessions[one.orphan_id].started_at or 0.0)


def dormant(survey: Survey, only: Collection[str]) -> list[Finding]:
    """Those of `only` that are open and silent. There may be hundreds, so nobody is shown them unasked."""
    return [
        Finding(one.session_id, None, DORMANT, one.text, SKIP)
        for one in survey.zombies
        if one.grade == DORMANT and one.session_id in only
    ]


def concerned(survey: Survey, session_id: str) -> frozenset[str]:
    """The lost rows that a row is about: itself, those that go on from it, and those that it goes on from."""
    found = {one.orphan_id: one for one in findings_of(survey)}
    zombies = {one.session_id: one.orphan_ids for one in survey.zombies}
    wanted = [session_id, *zombies.get(session_id, ())]
    wanted += [id for id, one in found.items() if one.donor_id == session_id]
    ids: set[str] = set()
    while wanted:
        id = wanted.pop()
        one = found.get(id)
        if one is not None and id not in ids:
            ids.add(id)
            wanted.append(one.donor_id or "")
    return frozenset(ids) or frozenset(one.orphan_id for one in dormant(survey, {session_id}))


class RepairModel:
    """Findings with decisions; as rows they are what the table shows."""

    def __init__(self, only: Collection[str] | None = None) -> None:
        self._only = only
        self.survey: Survey | None = None
        self.rows: Rows[Finding] = Rows(lambda one: one.orphan_id)
        self._found: dict[str, Finding] = {}
        """As the survey has them, before anybody decided."""
        self.chosen_by: dict[str, str] = {}
        """By session: who chose its donor or ends it, and why."""
        self.plan: Plan | None = None

    def take(self, survey: Survey) -> None:
        """A newer survey: decisions stay where the finding is the same, the plan goes."""
        known = {one.orphan_id: one for one in self.rows.rows}
        fresh = [one for one in findings_of(survey) if self._only is None or one.orphan_id in self._only]
        fresh += dormant(survey, self._only or ())
        self._found = {one.orphan_id: one for one in fresh}
        self.survey, self.plan = survey, None
        self.rows.rows = [self._decided(one, known.get(one.orphan_id)) for one in fresh]

    def _decided(self, fresh: Finding, known: Finding | None) -> Finding:
        assert self.survey is not None
        if known is None:
            return fresh
        if known.decision == CHOSEN and known.donor_id in self.survey.store.sessions:
            return replace(fresh, donor_id=known.donor_id, decision=CHOSEN)
        if known.decision == END and fresh.evidence != DORMANT:
            return fresh
        return replace(fresh, decision=known.decision) if known.decision in {SKIP, END} else fresh

    def decide(self, orphan_id: str, decision: str) -> None:
        """Accept or skip. Accepting needs a donor; a choice that is skipped is forgotten."""
        for at, one in enumerate(self.rows.rows):
            if one.orphan_id == orphan_id:
                self._put(at, self._accepted(one) if decision == ACCEPT else replace(one, decision=SKIP))

    def _accepted(self, one: Finding) -> Finding:
        return one if one.decision == CHOSEN else self._found.get(one.orphan_id, one)

    def choose(self, orphan_id: str, donor_id: str, chosen_by: str) -> None:
        """A person named the donor."""
        for at, one in enumerate(self.rows.rows):
            if one.orphan_id == orphan_id:
                self._put(at, replace(one, donor_id=donor_id, decision=CHOSEN))
                self.chosen_by[orphan_id] = chosen_by

    def end(self, session_id: str, chosen_by: str) -> None:
        """A person says that the talk of this dormant session is over."""
        for at, one in enumerate(self.rows.rows):
            if one.orphan_id == session_id and one.evidence == DORMANT:
                self._put(at, replace(one, decision=END))
                self.chosen_by[session_id] = chosen_by

    def _put(self, at: int, one: Finding) -> None:
        rows = list(self.rows.rows)
        rows[at] = one
        self.rows.rows, self.plan = rows, None

    @property
    def only(self) -> frozenset[str]:
        """Orphans that are to be taken back."""
        return frozenset(one.orphan_id for one in self.rows.rows if one.decision in {ACCEPT, CHOSEN})

    @property
    def choices(self) -> Mapping[str, str]:
        return {one.orphan_id: one.donor_id or "" for one in self.rows.rows if one.decision == CHOSEN}

    @property
    def ends(self) -> frozenset[str]:
        """Sessions that are to be ended."""
        return frozenset(one.orphan_id for one in self.rows.rows if one.decision == END)

    @property
    def who_chose(self) -> str | None:
        """For the journal."""
        decided = sorted({*self.choices, *self.ends})
        told = [f"{id}: {self.chosen_by[id]}" for id in decided if id in self.chosen_by]
        return "; ".join(told) or None

    def card(self, id: str | None) -> Card | None:
        row = self.survey.store.sessions.get(id or "") if self.survey else None
        return card(row) if row is not None else None

    def told(self, id: str) -> tuple[object, ...]:
        """Everything that is said of a lost row and of where it goes on from, whatever was decided about it."""
        found = self._found.get(id)
        return found, self.card(id), self.card(found.donor_id if found is not None else None)

    def donors(self, orphan_id: str) -> tuple[str, ...]:
        """Rows that a person may choose from, the one that the evidence names first."""
        if self.survey is None:
            return ()
        found = self._found.get(orphan_id)
        named = found.donor_id if found is not None else None
        others = candidates(self.survey.store, orphan_id, max_gap_s=self.survey.max_gap_s)
        return tuple(dict.fromkeys([*([named] if named else []), *others]))
