"""The score as one sum: how many findings of each severity, what each weighs, and what they take together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from .line_list import Cell
from .look import count_text


class SeveritySums(Widget):
    """One line a severity, worst first, and the sum below them."""

    DEFAULT_CSS = """
    SeveritySums {
        width: 30;
        height: 5;
        & > .sums--critical { color: $error; text-style: bold; }
        & > .sums--high { color: $error; }
        & > .sums--medium { color: $warning; }
        & > .sums--low { color: $secondary; }
        & > .sums--none { color: $text-muted; }
        & > .sums--total { text-style: bold; }
        &:nocolor > .sums--critical { color: $foreground; }
        &:nocolor > .sums--high { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "sums--critical", "sums--high", "sums--medium", "sums--low", "sums--none", "sums--total",
    }  # fmt: skip

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: tuple[Cell, ...] = ()

    def show(self, sums: Sequence[tuple[str, int, int]], score: int | None) -> None:
        """`sums` is (severity, findings, weight of one), worst first."""
        lines = tuple(_line(*one) for one in sums)
        if score is not None:
            lines = (*lines, (f"{f'100 − {count_text(100 - score)} =':>20} {signed(score):>7}", "sums--total"))
        if lines != self._lines:
            self._lines = lines
            self.refresh()

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        if y >= len(self._lines):
            return Strip.blank(self.size.width, base)
        text, style = self._lines[y]
        return Strip([Segment(text, self.get_component_rich_style(style))]).crop_extend(0, self.size.width, base)


def _line(severity: str, findings: int, weight: int) -> Cell:
    text = f"{severity:<8} {count_text(findings):>6} × {weight:>2} = {count_text(findings * weight):>7}"
    return text, f"sums--{severity.lower()}" if findings else "sums--none"


def signed(number: int) -> str:
    """A number with a real minus sign, as it stands in an arithmetic."""
    return count_text(number).replace("-", "−")
