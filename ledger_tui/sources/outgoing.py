"""Takes secrets out of what leaves the ledger as an export, once more: it may have been recorded without."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_ledger.engine.redact import MARK, redact_value

COUNT = "secrets_hidden"
"""Field of an exported row or document: how many values were taken out of it on the way out."""

_LONGEST = 1_000_000


class Hider:
    """Takes secrets out of rows and counts them. What was hidden when it was recorded does not count."""

    def __init__(self) -> None:
        self.hidden = 0
        """Values that were taken out so far."""

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._value(value) for name, value in row.items()}

    def counting(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row as JSON takes it: one from which something was taken says how much, the others stay as they are."""
        before = self.hidden
        clean = self(row)
        return clean if self.hidden == before else {**clean, COUNT: self.hidden - before}

    def sentence(self) -> str:
        """What a person is told; empty where nothing was taken out."""
        if not self.hidden:
            return ""
        were = "1 secret value was" if self.hidden == 1 else f"{self.hidden} secret values were"
        return f"{were} hidden in this export."

    def _value(self, value: Any) -> Any:
        if not isinstance(value, (str, dict, list)):
            return value
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return [self._value(item) for item in value]  # Records each for itself: there is no end to their number.
        clean, found = redact_value(value, _LONGEST)
        if found:
            self.hidden += max(0, _marks(clean) - _marks(value))
        return clean


def _marks(value: Any) -> int:
    return (value if isinstance(value, str) else json.dumps(value)).count(MARK)
