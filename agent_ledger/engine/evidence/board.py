"""Kanban boards: their databases, and the events on them since a call, with proof that none of them was deleted.

Every change to a card leaves an event in the same transaction. Events are numbered without reuse, so a number that is
missing shows that an event was deleted. Times are whole seconds.
"""

from __future__ import annotations

import json
import math
import os
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from .around import once
from .facts import CannotTellError, Facts

GRAIN_S = 1.0

MOST = 50_000


@dataclass(frozen=True, slots=True)
class Event:
    """One row of `task_events`."""

    task_id: str
    kind: str
    at: float
    latest: float = 0.0
    """The latest time of an event up to this one: never falls, whatever a clock did."""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """All events of a board, in their order."""

    events: Sequence[Event]
    of_card: Mapping[str, Sequence[Event]]
    cards: Mapping[str, tuple[str, str | None]]
    """Title and text of each card that is there."""
    edited: frozenset[str]
    """Cards whose title or text may have been changed."""
    whole_after: int
    """Of the events from the one behind this index on none is missing; -1: of none at all."""


@dataclass(frozen=True, slots=True)
class Board:
    """What one board shows since a moment."""

    path: Path
    whole: bool
    """Is every event since then still there?"""
    since: float
    told: Told

    def events(self, kinds: tuple[str, ...], task_id: str | None, until: float | None) -> list[Event]:
        """Events of these kinds since the moment, of one card or of all, up to `until`."""
        found = self.told.of_card.get(task_id, []) if task_id is not None else self.told.events
        first = bisect_left(found, self.since, key=lambda event: event.latest)
        last = len(found) if until is None else bisect_right(found, until, key=lambda event: event.latest)
        return [event for event in found[first:last] if event.kind in kinds]


def boards(facts: Facts, slug: str, since: float) -> tuple[Board, ...]:
    """The boards on which a call may have worked. `slug`: the one it named, or empty: any of them.

    Raises CannotTellError where there is none, or one cannot be read.
    """
    found = [_board(facts, path, since) for path in _paths(facts, slug)]
    if not found:
        raise CannotTellError("There is no kanban board in this home.")
    return tuple(found)


def _paths(facts: Facts, slug: str) -> list[Path]:
    """All profiles share the boards of the root; an environment variable may name other places."""
    home = facts.home
    root = home.parent.parent if home.parent.name == "profiles" else home
    named = os.environ.get("HERMES_KANBAN_HOME", "").strip()
    pinned = os.environ.get("HERMES_KANBAN_DB", "").strip()
    root = Path(os.path.expanduser(named)) if named else root
    if slug and any(c in slug for c in "/\\."):
        raise CannotTellError("The board that was named has no name that can be one.")
    folder = root / "kanban" / "boards"
    others = facts.names(folder) if facts.look(folder).kind == "folder" else []
    paths = [root / "kanban.db"] if slug in ("", "default") else []
    paths += [folder / name / "kanban.db" for name in others if slug in ("", name)]
    if pinned:
        paths.append(Path(os.path.expanduser(pinned)))
    return [path for path in paths if facts.look(path).exists]


def _board(facts: Facts, path: Path, since: float) -> Board:
    told = once(facts, ("board", path), lambda: _all(facts, path))
    first = float(int(since))  # The second in which the call came counts as well.
    start = bisect_left(told.events, first, key=lambda event: event.latest)
    whole = start > told.whole_after and not facts.look(path).put_back_since(since)
    return Board(path, whole, first, told)


def _all(facts: Facts, path: Path) -> Told:
    sql = "SELECT id, task_id, kind, created_at, payload FROM task_events ORDER BY id"
    rows = [row for row in facts.rows(path, sql, limit=MOST) if isinstance(row[0], int) and _number(row[3])]
    latest = accumulate((float(row[3]) for row in rows), max)
    events = [
        Event(str(r[1]), str(r[2]), float(r[3]), until, _payload(r[4])) for r, until in zip(rows, latest, strict=True)
    ]
    given = facts.rows(path, "SELECT seq FROM sqlite_sequence WHERE name = 'task_events'")
    ids = [0, *(row[0] for row in rows)]
    gaps = [index for index in range(len(rows)) if ids[index + 1] != ids[index] + 1]
    if ids[-1] != (given[0][0] if given else 0):
        gaps.append(len(rows))
    of_card: dict[str, list[Event]] = {}
    for event in events:
        of_card.setdefault(event.task_id, []).append(event)
    cards = facts.rows(path, "SELECT id, title, body FROM tasks", limit=MOST)
    return Told(
        events,
        of_card,
        {str(card): (str(title), None if body is None else str(body)) for card, title, body in cards},
        frozenset(event.task_id for event in events if event.kind in ("edited", "specified")),
        max(gaps, default=-1),
    )


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _payload(text: object) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
