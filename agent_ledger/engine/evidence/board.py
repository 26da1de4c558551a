"""Kanban boards: their databases, and the events on them since a call, with proof that none of them was deleted.

Every change to a card leaves an event in the same transaction. Events are numbered without reuse, so a number that is
missing shows that an event was deleted. Times are whole seconds.
"""

from __future__ import annotations

import json
import os
import sqlite3
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from .around import once
from .facts import CannotTellError, Facts
from .verdict import quoted

GRAIN_S = 1.0

MOST = 50_000


@dataclass(frozen=True, slots=True)
class Event:
    """One row of `task_events`."""

    task_id: str
    kind: str
    at: float
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Board:
    """What one board shows since a moment."""

    path: Path
    events: tuple[Event, ...]
    whole: bool
    """Is every event since then still there?"""


@dataclass(frozen=True, slots=True)
class _Told:
    """All events of a board, in their order."""

    events: tuple[Event, ...]
    latest: tuple[float, ...]
    """For each event the latest time up to it: never falls, whatever a clock did."""
    whole_after: int
    """Of the events from the one behind this index on none is missing; -1: of none at all."""


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
    root = Path(named).expanduser() if named else root
    if slug and any(c in slug for c in "/\\."):
        raise CannotTellError("The board that was named has no name that can be one.")
    folder = root / "kanban" / "boards"
    others = facts.names(folder) if facts.look(folder).kind == "folder" else []
    paths = [root / "kanban.db"] if slug in ("", "default") else []
    paths += [folder / name / "kanban.db" for name in others if slug in ("", name)]
    if pinned:
        paths.append(Path(pinned).expanduser())
    return [path for path in paths if facts.look(path).exists]


def _board(facts: Facts, path: Path, since: float) -> Board:
    told = once(facts, ("board", path), lambda: _all(facts, path))
    start = bisect_left(told.latest, float(int(since)))  # The second in which the call came counts as well.
    return Board(path, told.events[start:], start > told.whole_after)


def _all(facts: Facts, path: Path) -> _Told:
    sql = "SELECT id, task_id, kind, created_at, payload FROM task_events ORDER BY id"
    rows = [row for row in facts.rows(path, sql, limit=MOST) if _number(row[3])]
    events = tuple(Event(str(r[1]), str(r[2]), float(r[3]), _payload(r[4])) for r in rows)
    given = facts.rows(path, "SELECT seq FROM sqlite_sequence WHERE name = 'task_events'")
    ids = [0, *(row[0] for row in rows)]
    gaps = [index for index in range(len(rows)) if ids[index + 1] != ids[index] + 1]
    if ids[-1] != (given[0][0] if given else 0):
        gaps.append(len(rows))
    return _Told(events, tuple(accumulate((event.at for event in events), max)), max(gaps, default=-1))


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _payload(text: object) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def row(facts: Facts, path: Path, sql: str, *params: Any) -> Mapping[str, Any] | None:
    """The only row of a question on a board, by column names; None where there is none or more than one."""
    facts.step()
    try:
        cursor = facts.database(path).execute(sql, params)
        rows = cursor.fetchmany(2)
    except sqlite3.Error as error:
        raise CannotTellError(f"{quoted(path)} cannot be asked ({error}).") from error
    return dict(zip((c[0] for c in cursor.description), rows[0], strict=True)) if len(rows) == 1 else None
