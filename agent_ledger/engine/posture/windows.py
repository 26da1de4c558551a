"""So many events within so many seconds: counted with what is remembered of the newest ones."""

from __future__ import annotations

from bisect import insort
from collections import deque


class Window:
    """Tells once when `limit` events have come within `span` seconds.

    What follows at gaps of at most `span` belongs to the same burst and is not told again. Events may come late, by a
    little: they are put where they belong.
    """

    __slots__ = ("events", "limit", "span", "until")

    def __init__(self, limit: int, span: float) -> None:
        self.limit = limit
        self.span = span
        self.events: deque[tuple[float, int]] = deque(maxlen=limit)
        self.until = float("-inf")
        """The burst that was told lasts at least until then."""

    def add(self, at: float, row_id: int) -> tuple[int, ...] | None:
        """The ids of the events with which the threshold was reached, if this one did it."""
        events = self.events
        if events and at < events[-1][0]:
            return self._late(at, row_id)
        events.append((at, row_id))
        if at <= self.until:
            self.until = at + self.span
            return None
        if len(events) < self.limit or at - events[0][0] > self.span:
            return None
        return self._reached()

    def _late(self, at: float, row_id: int) -> tuple[int, ...] | None:
        if at <= self.until:
            return None
        kept = list(self.events)
        insort(kept, (at, row_id))
        self.events = deque(kept, maxlen=self.limit)
        return self._reached()

    def _reached(self) -> tuple[int, ...] | None:
        first, last = self.events[0][0], self.events[-1][0]
        if len(self.events) < self.limit or last - first > self.span:
            return None
        self.until = last + self.span
        return tuple(row_id for _, row_id in self.events)
