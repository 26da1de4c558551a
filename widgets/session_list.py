"""The sessions on the left: everything first, then one line a session with what of it is not settled."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from .line_list import Cell, LineList
from .look import GLYPHS, fit, fit_tail, short_count

ALL = "*"
"""Key of the first line. No session id: the empty one stands for rows without a session."""


TOTAL_FROM = 30
"""Cells from which the number of rows stands beside the marks; below, the marks matter more than it."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One line: its key, a name, and the counts that matter. `rows` is None while it is being counted."""

    key: str
    name: str
    pending: int = 0
    overdue: int = 0
    ghost: int = 0
    rows: int | None = None


class SessionList(LineList):
    """Sessions with their counts; moving the cursor chooses."""

    DEFAULT_CSS = """
    SessionList {
        & > .line-list--cursor { background: $panel-lighten-1; }
        & > .session--pending { color: $primary; }
        & > .session--overdue { color: $warning; text-style: bold; }
        & > .session--ghost { color: $error; text-style: bold; }
        & > .session--count { color: $text-muted; }
        & > .session--all { text-style: bold; }
        &:nocolor > .session--overdue { color: $foreground; }
        &:nocolor > .session--ghost { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "session--pending",
        "session--overdue",
        "session--ghost",
        "session--count",
        "session--all",
    }

    def __init__(self, row: Callable[[str], SessionRow], *, id: str | None = None) -> None:
        """`row` gives the line of a key; it is asked for visible lines only."""
        super().__init__(id=id, follow=False)
        self._keys: list[str] = []
        self._index: dict[str, int] = {}
        self._row = row

    def show(self, keys: Sequence[str]) -> None:
        """The sessions in another order, or others; the chosen one stays chosen."""
        self._keys = list(keys)
        self._index = {key: index for index, key in enumerate(self._keys)}
        self.rows_changed()

    @property
    def row_count(self) -> int:
        return len(self._keys)

    def row_key(self, index: int) -> Hashable:
        return self._keys[index]

    def row_index(self, key: Hashable) -> int | None:
        return self._index.get(key) if isinstance(key, str) else None

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        row = self._row(self._keys[index])
        marks: list[Cell] = []
        for state, amount in (("pending", row.pending), ("overdue", row.overdue), ("ghost", row.ghost)):
            if amount:
                marks.append((f" {GLYPHS[state]}{short_count(amount)}", f"session--{state}"))
        if width >= TOTAL_FROM or not marks:
            total = "" if row.rows is None else short_count(row.rows)
            marks.append((f"{total:>5}", "session--count"))
        marks.append((" ", ""))
        taken = 1 + sum(len(text) for text, _ in marks)
        fitted = (fit_tail if row.name == row.key else fit)(row.name, max(0, width - taken))
        name = (fitted, "session--all" if row.key == ALL else "")
        return [(" ", ""), name, *marks]

    def heading_cells(self, width: int) -> Sequence[Cell]:
        known = max(0, len(self._keys) - 1)
        return [(" ", ""), (fit(f"Sessions {known or ''}", max(0, width - 1)), "line-list--title")]
