"""Keeps what the tool policy refused, or would have: table `policy_decision`."""

from __future__ import annotations

import json
from collections.abc import Callable

from ..inert import clip
from ..keeper import Keeper
from ..records import storable, utc_text
from ..waiting import Waiting
from .rules import Decision

LONGEST_REASON = 600

_INSERT = (
    "INSERT INTO policy_decision(ts, ledger_id, session_id, turn_id, tool_call_id, tool_name, rule, severity, reason,"
    " mode, call_ids) VALUES(?,?,?,?,?,?,?,?,?,?,?)"
)


class Decisions:
    """The refusals of one home."""

    def __init__(self, keeper: Keeper, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows = Waiting(keeper, _INSERT)

    def keep(
        self, decision: Decision, mode: str, *, ledger_id: int | None, session_id: str, turn_id: str, tool_call_id: str,
        tool_name: str,
    ) -> None:  # fmt: skip
        """Write one decision, and those that had to wait. Never waits longer than any hook may."""
        calls = json.dumps(decision.call_ids) if decision.call_ids else None
        reason = storable(clip(decision.reason, LONGEST_REASON))
        self._rows.add(
            (utc_text(self._clock()), ledger_id, session_id, turn_id, tool_call_id, tool_name, storable(decision.rule),
             decision.severity, reason, mode, calls)
        )  # fmt: skip
