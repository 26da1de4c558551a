"""Switches that bring each old fault of the session store back, so that it can be shown and tested.

All off, the store is the hardened one. The faults are those of Hermes up to 0.19 (hermes-agent #82616, #82633, #99714).
"""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    SWALLOWED_WRITES = "swallowed-writes"
    """A failed write of a route is a line for debugging, and the gateway goes on as if it had worked."""
    TABLE_FIRST = "table-first"
    """The chat is switched to its new session before anything is written, and stays there when the write fails."""
    BARE_LAZY_ROWS = "bare-lazy-rows"
    """A row that the agent makes late has a source, and every column of its identity is empty."""
    UPDATE_ONLY_REFRESH = "update-only-refresh"
    """Identity is refreshed only where a route changes, and a missing row stays missing."""
    RESOLVE_BY_START = "resolve-by-start"
    """After a restart the row that started last wins, and a reset fences nothing off."""
    EMPTY_ON_ERROR = "empty-on-error"
    """A transcript that cannot be read counts as one in which nothing was ever said."""
    RESET_WITHOUT_PARENT = "reset-without-parent"
    """The session after a reset does not say which one it follows."""


Faults = frozenset[Fault]

SOUND: Faults = frozenset()
"""No fault: the hardened store."""

INCIDENT: Faults = frozenset(
    {Fault.SWALLOWED_WRITES, Fault.TABLE_FIRST, Fault.BARE_LAZY_ROWS, Fault.UPDATE_ONLY_REFRESH}
)
"""What it took together to lose 798 messages (hermes-agent #82616)."""
