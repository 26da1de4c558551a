"""Keeps what the tool policy refused, or would have: table `policy_decision`."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable

from ..inert import clip
from ..keeper import Keeper
from ..records import storable, utc_text
from ..store import Store
from .rules import Decision

MOST_WAITING = 1_000
"""Decisions that wait in memory while the ledger cannot be written; they are written with the next one."""

LONGEST_REASON = 600

_INSERT = (
    "INSERT INTO policy_decision(ts, ledger_id, session_id, turn_id, tool_call_id, tool_name, rule, severity, reason,"
    " mode, call_ids) VALUES(?,?,?,?,?,?,?,?,?,?,?)"
)


class Decisions:
    """The refusals of one home."""

    def __init__(self, keeper: Keeper, clock: Callable[[], float]) -> None:
        self._keeper, self._clock = keeper, clock
        self._waiting: deque[tuple[object, ...]] = deque(maxlen=MOST_WAITING)

    def keep(
        self, decision: Decision, mode: str, *, ledger_id: int | None, session_id: str, turn_id: str, tool_call_id: str,
        tool_name: str,
    ) -> None:  # fmt: skip
        """Write one decision, and those that had to wait. Never waits longer than any hook may."""
        calls = json.dumps(decision.call_ids) if decision.call_ids else None
        reason = storable(clip(decision.reason, LONGEST_REASON))
        self._waiting.append(
            (utc_text(self._clock()), ledger_id, session_id, turn_id, tool_call_id, tool_name, storable(decision.rule),
             decision.severity, reason, mode, calls)
        )  # fmt: skip
        self.write()

    def write(self) -> None:
        """Try to write what waits."""
        rows = [self._waiting.popleft() for _ in range(len(self._waiting))]

        def work(store: Store) -> bool:
            with store.transaction():
                store.connection.executemany(_INSERT, rows)
            return True

        if rows and not self._keeper.ask(work):
            self._waiting.extendleft(reversed(rows))
