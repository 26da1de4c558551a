"""Text of any length that is read line by line: paragraphs, wrapped to the width, at the cost of what is visible."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, chop_cells

from .line_list import Cell, LineList

HANG = 2
"""Cells by which lines after a paragraph's first are set in, if it names no other measure."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Inert text. `lead` stands before it, and what is too long goes on below the text and not below the lead."""

    text: str = ""
    style: str = ""
    """Name after `paragraph--`: good, bad, doubt, strong, quiet, name; empty for plain."""
    lead: str = ""
    lead_style: str = ""


class Paragraphs(LineList):
    """Paragraphs with a cursor line that shows where one reads."""

    DEFAULT_CSS = """
    Paragraphs {
        &:focus > .line-list--cursor { background: $primary 15%; }
        & > .paragraph--good { color: $success; }
        & > .paragraph--bad { color: $error; text-style: bold; }
        & > .paragraph--doubt { color: $warning; text-style: bold; }
        & > .paragraph--strong { text-style: bold; }
        & > .paragraph--quiet { color: $text-muted; }
        & > .paragraph--name { color: $accent; }
        &:nocolor > .paragraph--bad { color: $foreground; }
        &:nocolor > .paragraph--doubt { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "paragraph--good", "paragraph--bad", "paragraph--doubt", "paragraph--strong", "paragraph--quiet",
        "paragraph--name",
    }  # fmt: skip

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, follow=False)
        self._paragraphs: tuple[Paragraph, ...] = ()
        self._lines: list[tuple[Cell, ...]] = []
        self._width = 0

    def show(self, paragraphs: Sequence[Paragraph]) -> None:
        """Other text; the same again changes nothing, and the cursor stays where it is."""
        if tuple(paragraphs) != self._paragraphs:
            self._paragraphs = tuple(paragraphs)
            self._lay_out(self._width)
            self.rows_changed()

    def _lay_out(self, width: int) -> None:
        self._width = width
        self._lines = [line for one in self._paragraphs for line in _lines(one, width)] if width else []

    def on_resize(self) -> None:
        self._lay_out(self.size.width - 1)
        super().on_resize()
        self.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to open."""
        return action != "open"

    @property
    def row_count(self) -> int:
        return len(self._lines)

    def row_key(self, index: int) -> Hashable:
        return index

    def row_index(self, key: Hashable) -> int | None:
        return key if isinstance(key, int) and key < len(self._lines) else None

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        return self._lines[index]


def _lines(one: Paragraph, width: int) -> list[tuple[Cell, ...]]:
    style = f"paragraph--{one.style}" if one.style else ""
    lead_style = f"paragraph--{one.lead_style}" if one.lead_style else style
    taken = cell_len(one.lead) + 1
    hang = " " * (taken if one.lead else 1 + HANG)
    first, *rest = wrap(one.text, max(8, width - taken), max(8, width - len(hang))) or [""]
    lines: list[tuple[Cell, ...]] = [((" ", ""), (one.lead, lead_style), (first, style))]
    return lines + [((hang, ""), (text, style)) for text in rest]


def wrap(text: str, first: int, rest: int) -> list[str]:
    """Lines of at most so many cells, broken between words; a word that is too long is broken inside."""
    lines: list[str] = []
    line, room = "", first
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) <= room:
            line += f" {word}"
            continue
        if line:
            lines.append(line)
            room = rest
        pieces = chop_cells(word, room) if cell_len(word) > room else [word]
        lines += pieces[:-1]
        line = pieces[-1] if pieces else ""
        if len(pieces) > 1:
            room = rest
    return [*lines, line]
