"""The Lineage screen's memory: which lines stand in the tree, and what each of them says. No Textual."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ledger.engine.severity import LOW, SEVERITIES
from ledger_tui.routing.anomalies import Anomaly
from ledger_tui.routing.cards import Card, card
from ledger_tui.routing.survey import Survey
from ledger_tui.routing.zombies import Zombie
from widgets.session_tree import TreeRow

from .lineage_terms import LineageFilter
from .lineage_tree import Drawing, Facts, Key, Line, Wanted, facts_of

EVERYTHING = LineageFilter()

ORPHAN, ZOMBIE, BAD, MINOR = "◇", "◉", "▲", "△"
"""Marks of rows: lost its identity; still answers for a chat that went on elsewhere; other anomalies by weight."""

DORMANT = "dormant"
"""Grade of a zombie from which nobody took over: quiet, no more."""


@dataclass(frozen=True, slots=True)
class View:
    """Made in a thread, taken over at once."""

    facts: Facts
    drawing: Drawing
    lines: list[Line]
    keys: list[Key]
    wanted: LineageFilter
    matches: int
    zombies: Mapping[str, Zombie]
    kinds: Mapping[str, int]
    """Anomalies by kind."""
    sources: Sequence[str]
    profiles: Sequence[str]
    worst: Key | None
    """The first line of those with the most severe anomalies."""


def prepare(survey: Survey, wanted: LineageFilter, folds: Mapping[str, bool], known: Facts | None = None) -> View:
    """Everything that costs time with the number of sessions. `known` saves the facts of the same survey."""
    facts = known if known is not None and known.survey is survey else facts_of(survey)
    sessions, marks, owner = survey.store.sessions, survey.anomalies, survey.store.owner
    matches = None
    if wanted != EVERYTHING:
        matches = frozenset(id for id, row in sessions.items() if wanted.matches(row, marks.get(id, ()), owner))
    marked = frozenset(
        id for id, several in marks.items() if id in sessions and any(one.severity != LOW for one in several)
    )
    drawing = Drawing(facts, Wanted(matches, marked, folds))
    lines = drawing.all()
    zombies = {one.session_id: one for one in survey.zombies}
    sources = sorted({row.source for row in sessions.values()} - {""})
    profiles = sorted({row.profile_name for row in sessions.values() if row.profile_name})
    kinds = dict(sorted(survey.counts().items()))
    count = len(sessions) if matches is None else len(matches)
    keys = [line.key for line in lines]
    return View(facts, drawing, lines, keys, wanted, count, zombies, kinds, sources, profiles, _worst(keys, survey))


def _worst(keys: Sequence[Key], survey: Survey) -> Key | None:
    weights = {
        id: min(SEVERITIES.index(one.severity) for one in several)
        for id, several in survey.anomalies.items()
        if several
    }
    marked = [key for key in keys if not key.ghost and key.id in weights]
    return min(marked, key=lambda key: weights[key.id], default=None)


class LineageModel:
    """As rows it is what a SessionTree shows."""

    def __init__(self, time_of: Callable[[float | None], str]) -> None:
        self._time_of = time_of
        self.view: View | None = None
        self.folds: dict[str, bool] = {}

    @property
    def survey(self) -> Survey | None:
        return self.view.facts.survey if self.view else None

    def take(self, view: View) -> None:
        """Show what was prepared. Folds that were changed meanwhile are made up for."""
        self.view = view
        for id, fold in self.folds.items():
            if view.drawing.folds.get(id) != fold:
                self._refold(id, fold)

    # Rows

    def __len__(self) -> int:
        return len(self.view.lines) if self.view else 0

    def key(self, index: int) -> Hashable:
        assert self.view is not None
        return self.view.keys[index]

    def index(self, key: Hashable) -> int | None:
        try:
            return self.view.keys.index(key) if self.view and isinstance(key, Key) else None
        except ValueError:
            return None

    def line(self, index: int) -> Line | None:
        return self.view.lines[index] if self.view and 0 <= index < len(self.view.lines) else None

    def row(self, index: int) -> TreeRow:
        assert self.view is not None
        view, line = self.view, self.view.lines[index]
        id = line.key.id
        shown = card(view.facts.survey.store.sessions[id])
        glyph, style = self._mark(id)
        return TreeRow(
            guides=line.guides,
            fold="" if not line.children else "▾" if line.open else "▸",
            glyph=ORPHAN if line.key.ghost else glyph,
            style="" if line.key.ghost else style,
            name=shown.name,
            is_id=not shown.named,
            kind="after repair" if line.key.ghost else self._kind(id),
            messages=shown.messages,
            active=self._time_of(shown.last_active),
            source=shown.source,
            end="open" if shown.open else shown.end_reason or "ended",
            below=0 if line.open or line.key.ghost else view.drawing.below.get(id, 0),
            ghost=line.key.ghost,
            quiet=not view.drawing.is_match(id),
        )

    def _mark(self, id: str) -> tuple[str, str]:
        """Glyph and style; nothing for a row that nobody needs to look at."""
        view, marks = self.view, self.marks(id)
        kinds = {one.kind for one in marks}
        if view is None or not marks:
            return "", ""
        if "orphan" in kinds:
            return ORPHAN, "orphan"
        if "zombie" in kinds and (id not in view.zombies or view.zombies[id].grade != DORMANT):
            return ZOMBIE, "zombie"
        return (MINOR, "minor") if all(one.severity == LOW for one in marks) else (BAD, "bad")

    def _kind(self, id: str) -> str:
        assert self.view is not None
        glyph, _ = self._mark(id)
        if glyph == ORPHAN:
            return "orphan"
        if glyph == ZOMBIE:
            return "zombie" if self.view.zombies[id].grade == "proven" else "zombie?"
        return self.view.facts.survey.forest.relations.get(id, "")

    # One session

    def marks(self, id: str) -> Sequence[Anomaly]:
        """Its anomalies, worst first; those that were set aside are not among them."""
        found = self.survey.anomalies.get(id, ()) if self.survey else ()
        return sorted(found, key=lambda one: SEVERITIES.index(one.severity))

    def set_aside(self, id: str) -> Sequence[str]:
        """Kinds of its anomalies that a person ignores."""
        return sorted(kind for session, kind in self.survey.ignored if session == id) if self.survey else ()

    def card(self, id: str) -> Card | None:
        row = self.survey.store.sessions.get(id) if self.survey else None
        return card(row) if row is not None else None

    def donor_of(self, id: str) -> str | None:
        return self.view.facts.donor_of.get(id) if self.view else None

    # Folding

    def fold(self, index: int, fold: bool | None) -> bool:
        """Fold (True), unfold (False), or change (None). Was there anything to fold?"""
        line = self.line(index)
        if line is None or not line.children or (fold is not None and line.open is not fold):
            return False
        self.folds[line.key.id] = line.open
        self._refold(line.key.id, line.open)
        return True

    def fold_all(self, fold: bool) -> None:
        """Every row that has rows below it; the view must be prepared anew after it."""
        survey = self.survey
        self.folds = dict.fromkeys(survey.forest.children, fold) if survey else {}
        if self.view is not None and fold:
            self.folds.update(dict.fromkeys(self.view.facts.ghosts, fold))

    def _refold(self, id: str, fold: bool) -> None:
        view = self.view
        assert view is not None
        view.drawing.folds[id] = fold
        index = self.index(Key(id))
        if index is None:
            return
        line, end = view.lines[index], index + 1
        while end < len(view.lines) and view.lines[end].depth > line.depth:
            end += 1
        lines = view.drawing.tree(line)
        view.lines[index:end] = lines
        view.keys[index:end] = [one.key for one in lines]

    def parent_index(self, index: int) -> int | None:
        line = self.line(index)
        if line is None or self.view is None:
            return None
        at = index - 1
        while at >= 0:
            if self.view.lines[at].depth < line.depth:
                return at
            at -= 1
        return None

    def next_marked(self, index: int, step: int) -> int | None:
        """The next line, up or down, that somebody should look at; round the end."""
        if self.view is None:
            return None
        lines, anomalies, below = self.view.lines, self.view.facts.survey.anomalies, self.view.drawing.below
        for offset in range(1, len(lines) + 1):
            at = (index + step * offset) % len(lines)
            line = lines[at]
            if not line.key.ghost and (line.key.id in anomalies or (not line.open and line.key.id in below)):
                return at
        return None

    # Setting aside

    def put_aside(self, id: str, kinds: Sequence[str]) -> None:
        """Show a row without these anomalies, until the next reading says the same."""
        survey = self.survey
        if self.view is None or survey is None:
            return
        kept = dict(survey.anomalies)
        left = tuple(one for one in kept.pop(id, ()) if one.kind not in kinds)
        if left:
            kept[id] = left
        ignored = survey.ignored | {(id, kind) for kind in kinds}
        changed = replace(survey, anomalies=kept, ignored=ignored, hidden=survey.hidden + len(kinds))
        facts = replace(self.view.facts, survey=changed)
        self.view = replace(self.view, facts=facts)

    # Everything in view, for a file

    def shapes(self) -> list[dict[str, object]]:
        """The sessions in view in the order of the lines, with raw values."""
        if self.view is None:
            return []
        survey = self.view.facts.survey
        rows = (
            (line, survey.store.sessions[line.key.id])
            for line in self.view.lines
            if not line.key.ghost and self.view.drawing.is_match(line.key.id)
        )
        return [
            {
                "id": row.id, "source": row.source, "session_key": row.session_key,
                "parent_session_id": row.parent_session_id, "relation": survey.forest.relations.get(row.id, ""),
                "started_at": row.started_at, "ended_at": row.ended_at, "end_reason": row.end_reason,
                "message_count": row.messages, "last_active": row.last_active,
                "anomalies": [
                    {"kind": one.kind, "severity": one.severity, "text": one.text}
                    for one in survey.anomalies.get(row.id, ())
                ],
            }
            for line, row in rows
        ]  # fmt: skip
