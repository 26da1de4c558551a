"""Where in a walkthrough one is: its steps in a line, the present one named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from .line_list import Cell


class StepLine(Widget):
    """All steps where they fit, else only the present one."""

    DEFAULT_CSS = """
    StepLine {
        height: 1;
        background: $panel;
        & > .steps--title { color: $primary; text-style: bold; }
        & > .steps--now { color: $primary; text-style: bold reverse; }
        & > .steps--done { color: $success; }
        & > .steps--later { color: $text-muted; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"steps--title", "steps--now", "steps--done", "steps--later"}

    def __init__(self, title: str, steps: Sequence[str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title, self._steps, self._now = title, tuple(steps), 0

    def show(self, now: int) -> None:
        """The present step, from 0."""
        if now != self._now:
            self._now = now
            self.refresh()

    def _cells(self) -> list[Cell]:
        cells: list[Cell] = [(f" {self._title} ", "steps--title")]
        for at, name in enumerate(self._steps):
            style = "steps--now" if at == self._now else "steps--done" if at < self._now else "steps--later"
            mark = "✓" if at < self._now else str(at + 1)
            cells += [(" ", ""), (f" {mark} {name} ", style)]
        return cells

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        cells = self._cells()
        if sum(cell_len(text) for text, _ in cells) > width:
            step = f" {self._now + 1} of {len(self._steps)}: {self._steps[self._now]} "
            cells = [(f" {self._title} ", "steps--title"), (" ", ""), (step, "steps--now")]
        base = self.rich_style
        segments = [Segment(text, self.get_component_rich_style(name) if name else base) for text, name in cells]
        return Strip(segments).crop_extend(0, width, base)
