"""A table of records of any kind: named columns over the rows that somebody else holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from .counted_list import CountedList
from .line_list import Cell
from .look import fit, fit_right, fit_tail

Record = TypeVar("Record")
Shown = TypeVar("Shown", covariant=True)


class Records(Protocol[Shown]):
    """Rows in view order."""

    def __len__(self) -> int: ...
    def at(self, index: int) -> Shown: ...
    def key(self, index: int) -> Hashable: ...
    def index(self, key: Hashable) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Field(Generic[Record]):
    """One column: `text` gives a record's text and the name of its style (empty for plain)."""

    title: str
    width: int
    """Cells; 0 takes what the others leave."""
    text: Callable[[Record], tuple[str, str]]
    right: bool = False
    tail: bool = False
    """What is too long loses its beginning: ids differ at their ends."""
    from_width: int = 0
    """Shown only in a table at least this wide."""
    below_width: int = 10_000
    """Shown only in a table narrower than this."""
    roomy: tuple[int, int] | None = None
    """From which width of the table on it has how many cells instead."""

    def width_in(self, table: int) -> int:
        """Its cells in a table of this width."""
        return self.roomy[1] if self.roomy and table >= self.roomy[0] else self.width


class RecordTable(CountedList, Generic[Record]):
    """Records under one line that is both the table's title and its column titles."""

    DEFAULT_CSS = """
    RecordTable {
        & > .record--critical { color: $error; text-style: bold; }
        & > .record--high { color: $error; }
        & > .record--medium { color: $warning; }
        & > .record--low { color: $secondary; }
        & > .record--name { color: $accent; }
        & > .record--quiet { color: $text-muted; }
        & > .record--strong { text-style: bold; }
        &:nocolor > .record--critical { color: $foreground; }
        &:nocolor > .record--high { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "record--critical", "record--high", "record--medium", "record--low", "record--name", "record--quiet",
        "record--strong",
    }  # fmt: skip

    def __init__(
        self,
        title: str,
        records: Records[Record],
        fields: Sequence[Field[Record]],
        *,
        follow: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id, follow=follow)
        self._title, self._records, self._fields = title, records, fields

    @property
    def row_count(self) -> int:
        return len(self._records)

    def row_key(self, index: int) -> Hashable:
        return self._records.key(index)

    def row_index(self, key: Hashable) -> int | None:
        return self._records.index(key)

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        record = self._records.at(index)
        cells: list[Cell] = []
        for field, size in self._layout(width):
            text, style = field.text(record)
            cells.append(("  " if cells else " ", ""))
            cut = fit_right if field.right else fit_tail if field.tail else fit
            cells.append((cut(text, size), style))
        return cells

    def heading_cells(self, width: int) -> Sequence[Cell]:
        line = " "
        for field, size in self._layout(width):
            line += (fit_right(field.title, size) if field.right else fit(field.title, size)) + "  "
        title = f" {self._title} {self._count_text} " if self._title else ""
        return [(title, "line-list--title"), (line[len(title) :], "")]

    def _layout(self, width: int) -> list[tuple[Field[Any], int]]:
        """The columns that fit, with their final widths."""
        shown = [
            (field, field.width_in(width)) for field in self._fields if field.from_width <= width < field.below_width
        ]
        fixed = 1 + sum(own + 2 for _, own in shown) - 2
        return [(field, own or max(0, width - fixed)) for field, own in shown]


def severity_style(severity: str) -> str:
    """The style of a severity's word, and of what it weighs."""
    style = f"record--{severity.lower()}"
    return style if style in RecordTable.COMPONENT_CLASSES else ""
