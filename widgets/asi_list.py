"""The ids of the OWASP list at the left: all first, then one line an id with what was found under it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from .line_list import Cell, LineList
from .look import fit, short_count

ALL = ""
"""Key of the first line."""

POINTS_FROM = 54
"""Cells from which there is room for points beside the number of findings."""


@dataclass(frozen=True, slots=True)
class AsiRow:
    """One line: the id (or `ALL`), its title, how many findings, and the points that they take."""

    key: str
    title: str
    findings: int
    points: int
    observable: bool = True


class AsiList(LineList):
    """Ids with their counts; moving the cursor chooses."""

    DEFAULT_CSS = """
    AsiList {
        & > .line-list--cursor { background: $panel-lighten-1; }
        & > .asi--found { color: $warning; text-style: bold; }
        & > .asi--none { color: $text-muted; }
        & > .asi--all { text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"asi--found", "asi--none", "asi--all"}

    def __init__(self, keys: Sequence[str], row: Callable[[str], AsiRow], *, id: str | None = None) -> None:
        """`row` gives the line of a key; it is asked for visible lines only."""
        super().__init__(id=id, follow=False)
        self._keys, self._row = tuple(keys), row

    @property
    def row_count(self) -> int:
        return len(self._keys)

    def row_key(self, index: int) -> Hashable:
        return self._keys[index]

    def row_index(self, key: Hashable) -> int | None:
        return self._keys.index(key) if key in self._keys else None

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        row = self._row(self._keys[index])
        if row.observable:
            points = (f"−{row.points}" if row.findings else "").rjust(8) if width >= POINTS_FROM else ""
            end, style = f"{short_count(row.findings):>4}{points} ", "asi--found" if row.findings else "asi--none"
            name = f" {row.key} {row.title}" if row.key else f" {row.title}"
        elif width >= POINTS_FROM:
            end, style, name = "not observable ", "asi--none", f" {row.key} {row.title}"
        else:
            # That an id cannot be seen must not read like "nothing found", so here its title makes room.
            end, style, name = " ", "asi--none", f" {row.key} not observable"
        first = "asi--all" if row.key == ALL else "asi--none" if not row.observable else ""
        return [(fit(name, max(0, width - len(end))), first), (end, first if row.key == ALL else style)]

    def heading_cells(self, width: int) -> Sequence[Cell]:
        return [(fit(" OWASP agentic 2026", width), "line-list--title")]
