"""Keeps which rule refused a turn, when and in which session; never a word of the message."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from ..keeper import Keeper
from ..records import utc_text
from ..store import Store
from .guard import Refusal

log = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Decisions that wait in memory while the ledger cannot be written; they are written with the next one."""

_INSERT = "INSERT INTO prompt_decision(ts, session_id, turn_id, rule, mode, outcome) VALUES(?,?,?,?,?,?)"


class Decisions:
    """The table `prompt_decision` of one home."""

    def __init__(self, keeper: Keeper, clock: Callable[[], float]) -> None:
        self._keeper = keeper
        self._clock = clock
        self._waiting: deque[tuple[str, ...]] = deque(maxlen=MOST_WAITING)

    def keep(self, refusal: Refusal, *, session_id: str, turn_id: str) -> None:
        """Write one decision, and those that had to wait. Never raises, never waits longer than any hook may."""
        self._waiting.append(
            (utc_text(self._clock()), session_id, turn_id, refusal.rule, refusal.mode, refusal.outcome)
        )
        try:
            self.write()
        except Exception as error:  # What cannot be recorded is refused all the same.
            log.warning("agent-ledger: a decision of the prompt policy was not recorded (%s)", type(error).__name__)

    @property
    def waiting(self) -> int:
        """How many decisions are not in the ledger yet."""
        return len(self._waiting)

    def write(self) -> None:
        """Try to write what waits."""
        rows = [self._waiting.popleft() for _ in range(len(self._waiting))]

        def work(store: Store) -> bool:
            with store.transaction():
                store.connection.executemany(_INSERT, rows)
            return True

        written = not rows
        try:
            written = written or bool(self._keeper.ask(work))
        finally:
            if not written:
                self._waiting.extendleft(reversed(rows))
