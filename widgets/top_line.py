"""The line at the top: which screen, the totals, and whether the source is alive. Always one line."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from .line_list import Cell
from .look import HEALTH_GLYPHS


class TopLine(Widget):
    """Title, totals and source health. What does not fit is left out from the totals' end; health never is."""

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
        self._parts: tuple[Cell, ...] = ()
        self._health: Cell = ("", "top--quiet")
        self._clock = ""

    def show(self, parts: tuple[Cell, ...], *, state: str, text: str, clock: str) -> None:
        """`parts` are the totals, most important first; `clock` is when something last changed."""
        health = (f"{HEALTH_GLYPHS.get(state, '?')} {text}", f"top--{state}")
        if (parts, health, clock) != (self._parts, self._health, self._clock):
            self._parts, self._health, self._clock = parts, health, clock
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        right: list[Cell] = [self._health]
        if self._clock and width >= 70:
            right.append((f"  {self._clock}", "top--quiet"))
        right_width = sum(cell_len(text) for text, _ in right) + 1
        left: list[Cell] = [(f" {self._title} ", "top--title")]
        free = width - right_width - cell_len(left[0][0])
        for text, style in self._parts:
            size = cell_len(text) + 2
            if size > free - 1:
                break
            left.append((f"  {text}", style))
            free -= size
        cells = [*left, (" " * max(1, free), ""), *right, (" ", "")]
        base = self.rich_style
        segments = [Segment(text, self.get_component_rich_style(name) if name else base) for text, name in cells]
        return Strip(segments).crop_extend(0, width, base)
