"""The forest as lines to draw: order, guides, folds, and where a repair would put an orphan. No Textual.

Built in a thread for all sessions at once; what a fold changes costs only the tree that it stands in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger_tui.routing.survey import Survey

DEEPEST = 6
"""Levels that are indented; below, a row says how deep it stands."""

FOLDED_FROM = 12
"""A row with more rows than that below it starts folded, unless something below it has a mark."""


class Key(NamedTuple):
    """Names a line: a session by its raw id, or the place that a repair would give it."""

    id: str
    ghost: bool = False


class Line(NamedTuple):
    key: Key
    guides: str = ""
    """What leads to the row."""
    hold: str = ""
    """What leads past it to the rows below, for drawing its children."""
    depth: int = 0
    children: int = 0
    """Lines right below it, when unfolded."""
    open: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What one survey says of the trees."""

    survey: Survey
    roots: tuple[str, ...]
    """By the newest activity in their trees, newest first."""
    order: tuple[str, ...]
    """Every row that has a parent, each after its parent."""
    ghosts: Mapping[str, tuple[str, ...]]
    """By donor: rows elsewhere that would continue it."""
    donor_of: Mapping[str, str]
    """By orphan, where nobody needs to choose."""
    sizes: Mapping[str, int]
    """Rows below a row that has any."""


def facts_of(survey: Survey) -> Facts:
    """In time that grows with the number of sessions."""
    sessions, forest = survey.store.sessions, survey.forest
    donor_of = {one.orphan_id: one.donor_id for one in survey.orphans if one.adoptable and one.donor_id}
    for further in survey.further:
        if further.adoptable and len(further.donor_ids) == 1:
            donor_of.setdefault(further.orphan_id, further.donor_ids[0])
    ghosts: dict[str, tuple[str, ...]] = {}
    for orphan, donor in donor_of.items():
        if forest.parents.get(orphan) != donor and donor in sessions:
            ghosts[donor] = (*ghosts.get(donor, ()), orphan)
    newest: dict[str, float] = {}
    for id, row in sessions.items():
        latest = row.last_active or 0.0
        for ghost in ghosts.get(id, ()):
            latest = max(latest, sessions[ghost].last_active or 0.0)
        newest[id] = latest
    order = _order(forest.roots, forest.children)
    sizes: dict[str, int] = {}
    for id in reversed(order):
        parent = forest.parents[id]
        newest[parent] = max(newest[parent], newest[id])
        sizes[parent] = sizes.get(parent, 0) + sizes.get(id, 0) + 1
    roots = tuple(sorted(forest.roots, key=newest.__getitem__, reverse=True))
    return Facts(survey, roots, order, ghosts, donor_of, sizes)


def _order(roots: Collection[str], children: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    order = [child for root in roots for child in children.get(root, ())]
    at = 0
    while at < len(order):
        order += children.get(order[at], ())
        at += 1
    return tuple(order)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be seen of the facts."""

    matches: Collection[str] | None = None
    """Ids that are looked for; None for all. Rows above them come along."""
    marked: Collection[str] = frozenset()
    """Ids with a mark of their own."""
    folds: Mapping[str, bool] = field(default_factory=dict)
    """What a person folded (True) or unfolded, by id."""


class Drawing:
    """Which lines there are, given facts and wishes."""

    def __init__(self, facts: Facts, wanted: Wanted) -> None:
        forest = facts.survey.forest
        self._facts, self._wanted = facts, wanted
        self._children = forest.children
        self.folds = dict(wanted.folds)
        self.below = _count_below(facts, wanted.marked)
        """How many marked rows lie below each row that has any."""
        self._shown = None if wanted.matches is None else forest.with_ancestors(wanted.matches)
        if self._shown is not None:
            lit = [donor for donor, ghosts in facts.ghosts.items() if not self._shown.isdisjoint(ghosts)]
            self._shown |= forest.with_ancestors(lit)

    def is_match(self, id: str) -> bool:
        return self._wanted.matches is None or id in self._wanted.matches

    def is_folded(self, id: str) -> bool:
        chosen = self.folds.get(id)
        if chosen is not None:
            return chosen
        return self._shown is None and self._facts.sizes.get(id, 0) > FOLDED_FROM and id not in self.below

    def all(self) -> list[Line]:
        """Every line that no fold hides."""
        lines: list[Line] = []
        shown, children, ghosts = self._shown, self._children, self._facts.ghosts
        for root in self._facts.roots:
            if shown is not None and root not in shown:
                continue
            if root in children or root in ghosts:
                lines += self.tree(Line(Key(root)))
            else:
                lines.append(Line(Key(root)))
        return lines

    def tree(self, top: Line) -> list[Line]:
        """The line of one row as it is now, and those below it."""
        lines: list[Line] = []
        stack = [top]
        while stack:
            line = stack.pop()
            key = line.key
            below = [] if key.ghost else self._below(key.id)
            opened = bool(below) and not self.is_folded(key.id)
            lines.append(line._replace(children=len(below), open=opened))
            if opened:
                last = len(below) - 1
                stack += [self._line(line, below[at], at == last) for at in range(last, -1, -1)]
        return lines

    def _below(self, id: str) -> list[Key]:
        shown = self._shown
        ghosts = [Key(one, True) for one in self._facts.ghosts.get(id, ()) if shown is None or one in shown]
        children = self._children.get(id, ())
        return ghosts + [Key(one) for one in children if shown is None or one in shown]

    def _line(self, above: Line, key: Key, last: bool) -> Line:
        """A link that a repair would draw is dashed."""
        depth, hold = above.depth + 1, above.hold
        if depth > DEEPEST:
            # In the place of the deepest guide, so that nothing runs off: the level stands there as a number.
            corner = "╰" if last and hold[-3:-2] != "│" else "├"
            return Line(key, f"{hold[:-3]}{corner}{depth}", hold, depth)
        corner = "╰" if last else "├"
        would_be = key.ghost or self._facts.donor_of.get(key.id) == above.key.id
        link = "╌╌" if would_be else "──"
        return Line(key, hold + corner + link, hold + ("   " if last else "│  "), depth)


def _count_below(facts: Facts, marked: Collection[str]) -> dict[str, int]:
    below: dict[str, int] = {}
    if not marked:
        return below
    parents = facts.survey.forest.parents
    for id in reversed(facts.order):
        count = below.get(id, 0) + (id in marked)
        if count:
            parent = parents[id]
            below[parent] = below.get(parent, 0) + count
    return below
