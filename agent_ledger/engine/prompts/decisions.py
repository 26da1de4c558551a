"""Keeps which rule refused a turn, when and in which session; never a word of the message."""

from __future__ import annotations

from collections.abc import Callable

from ..keeper import Keeper
from ..records import storable, utc_text
from ..waiting import Waiting
from .guard import Refusal

_INSERT = "INSERT INTO prompt_decision(ts, session_id, turn_id, rule, mode, outcome) VALUES(?,?,?,?,?,?)"


class Decisions:
    """The table `prompt_decision` of one home."""

    def __init__(self, keeper: Keeper, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows = Waiting(keeper, _INSERT)

    def keep(self, refusal: Refusal, *, session_id: str, turn_id: str) -> None:
        """Write one decision, and those that had to wait. Never waits longer than any hook may."""
        ts = utc_text(self._clock())
        self._rows.add((ts, *map(storable, (session_id, turn_id, refusal.rule)), refusal.mode, refusal.outcome))

    @property
    def waiting(self) -> int:
        """How many decisions are not in the ledger yet."""
        return len(self._rows)

    def write(self) -> None:
        """Try to write what waits."""
        self._rows.write()
