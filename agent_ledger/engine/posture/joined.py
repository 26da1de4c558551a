"""Session ids that are one conversation: compaction may have given it a new id, and the rules span the change."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from ..queries import Query

LONGEST = 1000
"""Changes of one conversation's id that are followed."""

ROTATIONS_QUERY: Query = ("SELECT session_id, before FROM rotation", ())
_TABLE_QUERY = "SELECT 1 FROM sqlite_master WHERE name = 'rotation' AND type = 'table'"


class Joined:
    """What is known of each id's predecessor."""

    def __init__(self) -> None:
        self._before: dict[str, str] = {}

    def add(self, rotations: Iterable[tuple[str, str]]) -> bool:
        """Take (id, the id before it). True where one of them is news."""
        known = len(self._before)
        for session_id, before in rotations:
            if session_id and before and session_id != before:
                self._before.setdefault(session_id, before)
        return len(self._before) > known

    def first(self, session_id: object) -> object:
        """The first id of this one's conversation, as far as that is known."""
        for _ in range(LONGEST):
            before = self._before.get(session_id) if isinstance(session_id, str) else None
            if before is None:
                break
            session_id = before
        return session_id

    def divides(self, sessions: Mapping[object, object]) -> bool:
        """Are ids of one conversation kept as different ones of `sessions`?"""
        kept: dict[object, object] = {}
        return any(kept.setdefault(self.first(key), session) is not session for key, session in sessions.items())


def began_as(turn_id: object) -> str:
    """The session id under which a turn began; empty where the host's id of the turn does not say. It is
    `session:task:number` in Hermes 0.19 and 0.22, and stays while compaction changes the session's id on the way."""
    return turn_id.partition(":")[0] if isinstance(turn_id, str) and ":" in turn_id else ""


def rotations_of(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """What a ledger tells of changed ids; nothing where it has no table of them. Raises sqlite3.Error."""
    if connection.execute(_TABLE_QUERY).fetchone() is None:
        return []
    return [(one, other) for one, other in connection.execute(*ROTATIONS_QUERY) if isinstance(one, str)]
