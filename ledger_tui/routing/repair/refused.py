"""Nothing was done, and why: the one error with which a repair and an undo say no."""

from __future__ import annotations

from agent_ledger.engine.inert import inert


class RefusedError(Exception):
    """Refused for safety, before or without any change. `str()` is one plain, inert sentence."""

    def __init__(self, reason: str, remedy: str, *, check: str = "") -> None:
        self.reason = inert(reason)
        self.remedy = inert(remedy)
        self.check = check
        """Name of the check that failed; empty where it was none of the safety checks."""
        named = f" (check: {check})" if check else ""
        super().__init__(f"{self.reason.rstrip('.')}{named}; {self.remedy}.")


class NothingToUndoError(RefusedError):
    """No repair of this store is in effect."""
