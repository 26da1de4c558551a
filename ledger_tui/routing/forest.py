"""Sessions by parent, as trees: safe against cycles, deep chains and parents that are not there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .relations import ROOT, relation
from .rows import Session

DRAWN_DEPTH = 12
"""Levels that are drawn with a guide each. Chains of hundreds are real; deeper rows name their level instead."""


class Line(NamedTuple):
    """One row of the drawn tree."""

    session_id: str
    depth: int
    guides: str
    """What stands before the row, as `│  └─ `; empty for a root."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Every session is in it exactly once. Raw ids."""

    roots: tuple[str, ...]
    """In order of their start. A row whose parent is missing, or that closes a cycle, is one."""
    children: Mapping[str, tuple[str, ...]]
    """By parent, in order of their start; a row without children has no entry."""
    relations: Mapping[str, str]
    """What links a row to its parent, see `relations.RELATIONS`."""
    parents: Mapping[str, str]
    """By child; a root has no entry."""
    dangling: frozenset[str] = frozenset()
    """Rows that name a parent which is not there."""
    cut: frozenset[str] = frozenset()
    """Rows at which a cycle was cut open; a row that names itself is one."""

    def ancestors(self, session_id: str) -> Iterator[str]:
        """From the parent up to the root."""
        while (parent := self.parents.get(session_id)) is not None:
            yield parent
            session_id = parent

    def with_ancestors(self, ids: Collection[str]) -> set[str]:
        """`ids` and every row above one of them."""
        found: set[str] = set()
        for one in ids:
            if one not in found and one in self.relations:
                found.add(one)
                for above in self.ancestors(one):
                    if above in found:
                        break
                    found.add(above)
        return found

    def lines(self, *, only: Collection[str] | None = None, closed: Collection[str] = ()) -> Iterator[Line]:
        """The drawn tree from the top. `only` names the rows to show (see `with_ancestors`), `closed` folded ones."""
        pending = [Line(root, 0, "") for root in reversed(self.roots) if only is None or root in only]
        while pending:
            line = pending.pop()
            yield line
            if line.session_id in closed:
                continue
            below = [one for one in self.children.get(line.session_id, ()) if only is None or one in only]
            for place, child in enumerate(reversed(below)):
                pending.append(Line(child, line.depth + 1, _guides(line, last=place == 0)))


def _guides(parent: Line, *, last: bool) -> str:
    depth = parent.depth + 1
    end = "└─ " if last else "├─ "
    if depth > DRAWN_DEPTH:
        return f"{'   ' * (DRAWN_DEPTH - 1)}{depth:>3} {end}"
    above = parent.guides
    if above:
        above = above[:-3] + ("   " if above.endswith("└─ ") else "│  ")
    return above + end


def grow(sessions: Mapping[str, Session]) -> Forest:
    """The forest of these rows, in time that grows with their number."""
    parents = {
        row.id: row.parent_session_id
        for row in sessions.values()
        if row.parent_session_id and row.parent_session_id in sessions
    }
    dangling = frozenset(row.id for row in sessions.values() if row.parent_session_id and row.id not in parents)
    cut = _cut_cycles(sessions, parents)
    children: dict[str, list[str]] = defaultdict(list)
    roots = []
    for row in sorted(sessions.values(), key=_start):
        parent = parents.get(row.id)
        if parent is None:
            roots.append(row.id)
        else:
            children[parent].append(row.id)
    links = {
        row.id: relation(row, sessions[parents[row.id]]) if row.id in parents else ROOT for row in sessions.values()
    }
    return Forest(tuple(roots), {key: tuple(below) for key, below in children.items()}, links, parents, dangling, cut)


def _start(row: Session) -> float:
    return row.started_at if row.started_at is not None else -math.inf


def _cut_cycles(sessions: Mapping[str, Session], parents: dict[str, str]) -> frozenset[str]:
    """Takes the link of the oldest row of each cycle out of `parents`; returns those rows."""
    settled: set[str] = set()
    cut = set()
    for first in sessions:
        path: list[str] = []
        walked: set[str] = set()
        here: str | None = first
        while here is not None and here not in settled and here not in walked:
            walked.add(here)
            path.append(here)
            here = parents.get(here)
        if here is not None and here in walked:
            ring = path[path.index(here) :]
            oldest = min(ring, key=lambda one: _start(sessions[one]))
            del parents[oldest]
            cut.add(oldest)
        settled.update(walked)
    return frozenset(cut)
