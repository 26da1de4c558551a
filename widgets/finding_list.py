"""Lost sessions with what is decided about each: a table whose texts somebody else gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .record_table import Field, Records, RecordTable

Cells = tuple[str, str, str, str, str]
"""Decision, session, messages, from whom it goes on, evidence."""

_STYLES = {"✓": "record--low", "★": "record--medium", "■": "record--medium", "?": "record--high", "–": "record--quiet"}


class FindingList(RecordTable[Any]):
    """One line a lost session."""

    def __init__(self, rows: Records[Any], cells: Callable[[Any], Cells], *, id: str | None = None) -> None:
        fields: tuple[Field[Any], ...] = (
            Field("DECISION", 16, lambda one: (cells(one)[0], _STYLES.get(cells(one)[0][:1], ""))),
            Field("LOST SESSION", 26, lambda one: (cells(one)[1], ""), tail=True),
            Field("MSGS", 6, lambda one: (cells(one)[2], "record--quiet"), right=True, from_width=66),
            Field("GOES ON FROM", 0, lambda one: (cells(one)[3], "record--name")),
            Field("EVIDENCE", 24, lambda one: (cells(one)[4], "record--quiet"), from_width=100),
        )
        super().__init__("", rows, fields, follow=False, id=id)
