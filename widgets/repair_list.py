"""Past repairs: when, which, how many rows, and what became of each."""

from __future__ import annotations

import math
from collections.abc import Callable

from agent_ledger.engine.inert import inert
from ledger_tui.routing.repair.settle import Repair

from .record_table import Field, Records, RecordTable

MARKS = {"applied": "✓", "undone": "↺", "not applied": "–", "unclear": "?"}
_STYLES = {"applied": "record--low", "unclear": "record--high", "unreadable": "record--high"}


class RepairList(RecordTable[Repair]):
    """Newest first. Ids and copies are named by files, which anybody may have put there."""

    def __init__(
        self, repairs: Records[Repair], time_of: Callable[[float | None], str], *, id: str | None = None
    ) -> None:
        fields: tuple[Field[Repair], ...] = (
            Field("STATE", 13, lambda one: (_state(one), _STYLES.get(one.state, "record--quiet"))),
            Field("WHEN", 11, lambda one: (time_of(one.at) if math.isfinite(one.at) else "", ""), right=True),
            Field("ROWS", 5, lambda one: (str(len(one.orphan_ids) or ""), ""), right=True, from_width=50),
            Field("REPAIR", 21, lambda one: (inert(one.repair_id), "record--name")),
            Field("BACKUP", 0, lambda one: (inert(one.backup.name), "record--quiet"), from_width=80),
        )
        super().__init__("Past repairs", repairs, fields, follow=False, id=id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """All there is to a repair stands below the list."""
        return action != "open"


def _state(one: Repair) -> str:
    return f"{MARKS.get(one.state, '?')} {one.state}"
