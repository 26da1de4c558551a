"""Keyed rows that were silent while an orphan was spoken in, and then went on: the incident after the chat fell back.

By their last word such rows no longer match the orphan, and the host's finder passes them over; their messages still
show the pause.
"""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from .orphans import is_orphan, same_profile
from .owners import is_gateway
from .rows import Session, as_stored, usable

NEAR_S = 6 * 3_600.0
"""The keyed row may have begun this long after the orphan at most: the widest gap that makes any sense."""

_MOST_PER_ORPHAN = 30
_MOST_PAIRS = 20_000
_SLICE_S, _BREATH_S = 0.03, 0.005

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
    breathe = _Breath(wal)
    for orphan, donor in _pairs(list(sessions), owner):
        until = orphan.last_active
        quiet, spoke = connection.execute(_PAUSE, (as_stored(donor.id), until)).fetchone()
        if isinstance(quiet, float) and isinstance(spoke, float) and usable(quiet) and usable(spoke):
            found[orphan.id][donor.id] = Pause(quiet, spoke)
        breathe()
    return dict(found)


class _Breath:
    """Outside WAL mode: a short rest now and then, in which a waiting holder gets its turn."""

    def __init__(self, wal: bool) -> None:
        self._wal = wal
        self._rested = time.monotonic()

    def __call__(self) -> None:
        if not self._wal and time.monotonic() - self._rested > _SLICE_S:
            time.sleep(_BREATH_S)
            self._rested = time.monotonic()


def _pairs(sessions: Sequence[Session], owner: str | None) -> Iterator[tuple[Session, Session]]:
    """Orphans without a parent, each with the fitting keyed rows that were alive before and after it."""
    lost = [row for row in sessions if _lost(row)]
    if not lost:
        return
    keyed = [row for row in sessions if row.session_key and row.spoken_at is not None]
    count = 0
    for orphan, spanning in _spanning(lost, keyed):
        fitting = [row for row in spanning if _fits(row, orphan, owner)]
        for donor in sorted(fitting, key=_begun, reverse=True)[:_MOST_PER_ORPHAN]:
            yield orphan, donor
            count += 1
            if count >= _MOST_PAIRS:
                return


def _lost(row: Session) -> bool:
    keyless = is_orphan(row) or is_orphan(row._replace(session_key=None if row.session_key == "" else row.session_key))
    return keyless and not row.parent_session_id and is_gateway(row.source) and row.last_active is not None


def _spanning(lost: list[Session], keyed: list[Session]) -> Iterator[tuple[Session, list[Session]]]:
    """For each orphan the keyed rows that began before it, or not long after, and spoke after its last word."""
    waiting = sorted(keyed, key=_begun)
    alive: list[tuple[float, int, Session]] = []
    place = 0
    for orphan in sorted(lost, key=_begun):
        start, until = _begun(orphan), orphan.last_active or 0.0
        while place < len(waiting) and _begun(waiting[place]) <= start + NEAR_S:
            heappush(alive, (waiting[place].spoken_at or 0.0, waiting[place].row, waiting[place]))
            place += 1
        while alive and alive[0][0] <= start:
            heappop(alive)  # Later orphans begin later still.
        yield orphan, [row for spoken, _, row in alive if spoken > until and _begun(row) < until]


def _begun(row: Session) -> float:
    return row.started_at if row.started_at is not None else 0.0


def _fits(donor: Session, orphan: Session, owner: str | None) -> bool:
    users = not donor.user_id or not orphan.user_id or donor.user_id == orphan.user_id
    return users and donor.source == orphan.source and same_profile(donor, orphan, owner)
