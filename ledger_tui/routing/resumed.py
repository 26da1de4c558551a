"""Keyed rows that were silent while an orphan was spoken in, and then went on: the incident after the chat fell back.

By their last word such rows no longer match the orphan, and the host's finder passes them over; their messages still
show the pause.
"""

from __future__ import annotations

import sqlite3
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from typing import NamedTuple

from ledger_tui.sources.reading import one_snapshot

from .orphans import is_orphan, same_profile
from .owners import is_gateway
from .rows import Session, as_stored, usable

NEAR_S = 6 * 3_600.0
"""The keyed row may have begun this long after the orphan at most: the widest gap that makes any sense."""

_MOST_PER_ORPHAN = 30
_MOST_PAIRS = 20_000
_SLICE_S, _BREATH_S = 0.03, 0.002

_PAUSE = (
    "SELECT (SELECT max(timestamp) FROM messages WHERE session_id = CAST(?1 AS TEXT) AND timestamp < ?2),"
    " (SELECT min(timestamp) FROM messages WHERE session_id = CAST(?1 AS TEXT) AND timestamp >= ?2)"
)


class Pause(NamedTuple):
    """Nothing was said between these two moments, in seconds since 1970."""

    quiet_at: float
    spoke_at: float


def find_resumed(
    connection: sqlite3.Connection, sessions: Iterable[Session], owner: str | None, *, wal: bool
) -> dict[str, dict[str, Pause]]:
    """By orphan, by keyed row: the keyed row's pause around the orphan's last word. Raises sqlite3.Error."""
    found: dict[str, dict[str, Pause]] = defaultdict(dict)
    pairs = list(_pairs(sessions, owner))
    pairs.reverse()
    while pairs:
        # Inside a snapshot already, nobody waits for us; elsewhere one lock for many short questions, then a rest.
        with nullcontext() if wal else one_snapshot(connection):
            ends = None
            while pairs and (wal or ends is None or time.monotonic() < ends):
                orphan, donor = pairs.pop()
                pause = _pause(connection, orphan, donor)
                if pause is not None:
                    found[orphan.id][donor.id] = pause
                ends = ends or time.monotonic() + _SLICE_S
        if pairs:
            time.sleep(_BREATH_S)
    return dict(found)


def _pause(connection: sqlite3.Connection, orphan: Session, donor: Session) -> Pause | None:
    quiet, spoke = connection.execute(_PAUSE, (as_stored(donor.id), orphan.last_active)).fetchone()
    if isinstance(quiet, float) and isinstance(spoke, float) and usable(quiet) and usable(spoke):
        return Pause(quiet, spoke)
    return None


def _pairs(sessions: Iterable[Session], owner: str | None) -> Iterator[tuple[Session, Session]]:
    """Orphans without a parent, each with the fitting keyed rows that spoke before and after its last word."""
    sessions = list(sessions)
    lost: dict[str, list[tuple[float, int]]] = defaultdict(list)
    rows = [row for row in sessions if _lost(row)]
    for place, row in enumerate(rows):
        lost[row.source].append((row.last_active or 0.0, place))
    for several in lost.values():
        several.sort()
    spanning: dict[int, list[Session]] = defaultdict(list)
    for row in sessions:
        if row.session_key and row.spoken_at is not None and row.source in lost:
            last_words = lost[row.source]
            first = bisect_right(last_words, (_begun(row), len(rows)))
            for _, place in last_words[first : bisect_left(last_words, (row.spoken_at, -1))]:
                if _fits(row, rows[place], owner):
                    spanning[place].append(row)
    pairs = (
        (rows[place], donor)
        for place, donors in spanning.items()
        for donor in sorted(donors, key=_begun, reverse=True)[:_MOST_PER_ORPHAN]
    )
    return islice(pairs, _MOST_PAIRS)


def _lost(row: Session) -> bool:
    if row.session_key or row.parent_session_id or not is_gateway(row.source) or row.last_active is None:
        return False
    return is_orphan(row if row.session_key is None else row._replace(session_key=None))


def _begun(row: Session) -> float:
    return row.started_at if row.started_at is not None else 0.0


def _fits(donor: Session, orphan: Session, owner: str | None) -> bool:
    if _begun(donor) > _begun(orphan) + NEAR_S:
        return False
    users = not donor.user_id or not orphan.user_id or donor.user_id == orphan.user_id
    return users and donor.source == orphan.source and same_profile(donor, orphan, owner)
