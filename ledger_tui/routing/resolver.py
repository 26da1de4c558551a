"""Which row does Hermes open for a chat after a restart? Its own search, over rows that are or that would be.

Sources: Hermes 0.19.0 and 0.22.2; hermes-agent #82633 (activity, empty keyed rows), #82743 and #68539 (reset fence).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from agent_ledger.engine.end_reasons import RECOVERABLE, RECOVERABLE_OLD, RESETS

from .rows import Session


@dataclass(frozen=True, slots=True)
class Peer:
    """Who a message comes from, as the gateway asks. Without chat and chat type only the key counts."""

    source: str
    session_key: str
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    thread_id: str | None = None

    @classmethod
    def of(cls, row: Session) -> Peer:
        """The one whose messages this keyed row should get."""
        return cls(row.source, row.session_key or "", row.user_id, row.chat_id, row.chat_type, row.thread_id)


_Tuple = tuple[str, str, str, str, str]


class Resolver:
    """Asks the same rows for many peers. `recent` chooses the rules of 0.22, else those of 0.19."""

    def __init__(self, sessions: Iterable[Session], owner: str | None, *, recent: bool = True) -> None:
        self._owner = owner
        self._recent = recent
        self._by_key: dict[tuple[str, str], list[Session]] = defaultdict(list)
        self._by_tuple: dict[_Tuple, list[Session]] = defaultdict(list)
        for row in sessions:
            if row.session_key is not None:
                self._by_key[row.source, row.session_key].append(row)
            self._by_tuple[_tuple(row.source, row)].append(row)

    def resolve(self, peer: Peer) -> Session | None:
        """The row that the chat goes on in; None where the gateway would start a new one."""
        if not peer.session_key:
            return None
        found = self._best(self._by_key.get((peer.source, peer.session_key), ()))
        if found is not None or peer.chat_id is None or peer.chat_type is None:
            return found
        rows = self._by_tuple.get(_tuple(peer.source, peer), ())
        return self._best([row for row in rows if self._own(row)], spoken_only=True)

    def _best(self, rows: Iterable[Session], *, spoken_only: bool = False) -> Session | None:
        rows = list(rows)
        spoken_only = spoken_only or not self._recent
        fence = self._fence(rows) if self._recent else None
        candidates = [
            row
            for row in rows
            if self._may_come_back(row)
            and (row.has_messages or not spoken_only)
            and not (fence is not None and fence > _activity(row))
        ]
        if not candidates:
            return None
        if self._recent:
            return max(candidates, key=lambda row: (row.has_messages, _activity(row)))
        return max(candidates, key=_start)

    def _may_come_back(self, row: Session) -> bool:
        reasons = RECOVERABLE if self._recent else RECOVERABLE_OLD
        return row.open or row.end_reason in reasons or (self._recent and row.handoff_state == "completed")

    def _fence(self, rows: Iterable[Session]) -> float | None:
        """When the newest reset among them was."""
        ends = [row.ended_at for row in rows if row.ended_at is not None and row.end_reason in RESETS]
        return max(ends, default=None)

    def _own(self, row: Session) -> bool:
        if not self._recent or self._owner is None:
            return True
        return row.profile_name is None or row.profile_name == self._owner


def _tuple(source: str, peer: Session | Peer) -> _Tuple:
    return source, peer.user_id or "", peer.chat_id or "", peer.chat_type or "", peer.thread_id or ""


def _start(row: Session) -> float:
    return row.started_at if row.started_at is not None else float("-inf")


def _activity(row: Session) -> float:
    return row.last_activity_at if row.last_activity_at is not None else _start(row)
