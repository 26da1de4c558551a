"""The line at the top: which screen, the totals, and whether the source is alive. Always one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from .line_list import Cell
from .look import HEALTH_GLYPHS


@dataclass(frozen=True, slots=True)
class Total:
    """A number of calls in one state, ready to be shown."""

    glyph: str
    number: str
    word: str
    style: str
    rank: int = 0
    """Where not all fit, those of the lowest rank are kept."""


_WIDE = 70
"""Cells below which the words of the totals matter more than the time of the last change."""

_SINCE = "  last change "
"""A time without these words would look like a clock that stands still; where they do not fit, it is left out."""


class TopLine(Widget):
    """Title, totals and source health. Health is always there; totals shed their words, then the least urgent."""

    DEFAULT_CSS = """
    TopLine {
        height: 1;
        background: $panel;
        & > .top--title { text-style: bold; color: $primary; }
        & > .top--pending { color: $primary; }
        & > .top--overdue { color: $warning; text-style: bold; }
        & > .top--ghost { color: $error; text-style: bold; }
        & > .top--confirmed { color: $success; }
        & > .top--error { color: $error; }
        & > .top--revived { color: $secondary; }
        & > .top--quiet { color: $text-muted; }
        &:nocolor > .top--ghost { color: $foreground; }
        &:nocolor > .top--overdue { color: $foreground; }
        &:nocolor > .top--error { color: $foreground; }
        & > .top--ok { color: $success; }
        & > .top--missing { color: $text-muted; }
        & > .top--stale { color: $warning; text-style: bold; }
        & > .top--unreadable { color: $error; text-style: bold; }
        & > .top--foreign-owner { color: $error; text-style: bold; }
        & > .top--degraded { color: $warning; text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "top--title", "top--pending", "top--overdue", "top--ghost", "top--confirmed", "top--error", "top--revived",
        "top--quiet", "top--ok", "top--missing", "top--stale", "top--unreadable", "top--foreign-owner", "top--degraded",
    }  # fmt: skip

    def __init__(self, title: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = title
        self._totals: tuple[Total, ...] = ()
        self._health: Cell = ("", "top--quiet")
        self._clock = ""

    def show(self, totals: tuple[Total, ...], *, state: str, text: str, clock: str) -> None:
        """`totals` with the most important first; `state` and `text` of the source; when something last changed."""
        style = f"top--{state}" if state in HEALTH_GLYPHS else "top--unreadable"
        health = (f"{HEALTH_GLYPHS.get(state, '?')} {text}", style)
        if (totals, health, clock) != (self._totals, self._health, self._clock):
            self._totals, self._health, self._clock = totals, health, clock
            self.refresh()

    def _totals_in(self, width: int) -> list[Cell]:
        """The totals in at most `width` cells: with their words if all fit so, else glyphs and numbers only."""
        worded: list[Cell] = [(f"  {total.glyph} {total.number} {total.word}", total.style) for total in self._totals]
        if _length(worded) <= width:
            return worded
        short: list[Cell] = [(f"  {total.glyph} {total.number}", total.style) for total in self._totals]
        if _length(short) <= width:
            return short
        urgent = sorted(range(len(short)), key=lambda at: self._totals[at].rank)
        while urgent and _length([short[at] for at in urgent]) > width:
            urgent.pop()
        return [short[at] for at in sorted(urgent)]

    def _right_in(self, width: int) -> list[Cell]:
        """Health, and when something last changed where `width` has room for it beside the bare totals."""
        worth = bool(self._clock) and self.size.width >= _WIDE
        changed: list[Cell] = [(f"{_SINCE}{self._clock}", "top--quiet")] if worth else []
        least = sum(cell_len(f"  {total.glyph} {total.number}") for total in self._totals)
        whole = [self._health, *changed]
        return whole if least + _length(whole) < width else [self._health]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        title: Cell = (f" {self._title} ", "top--title")
        right = self._right_in(width - cell_len(title[0]) - 1)
        room = width - _length(right) - 1 - cell_len(title[0])
        totals = self._totals_in(room - 1)
        free = room - _length(totals)
        cells: list[Cell] = [title, *totals, (" " * max(1, free), ""), *right, (" ", "")]
        base = self.rich_style
        segments = [Segment(text, self.get_component_rich_style(name) if name else base) for text, name in cells]
        return Strip(segments).crop_extend(0, width, base)


def _length(cells: list[Cell]) -> int:
    return sum(cell_len(text) for text, _ in cells)
