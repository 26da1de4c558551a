"""The score over time, in block glyphs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

_EIGHTHS = " ▁▂▃▄▅▆▇█"


class ScorePlot(Widget):
    """A filled line: full height is 100, the ground is 0 or the lowest score where that lies below."""

    DEFAULT_CSS = """
    ScorePlot {
        width: 1fr;
        height: 1fr;
        & > .plot--bar { color: $primary 80%; }
        & > .plot--text { color: $text-muted; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"plot--bar", "plot--text"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._times: Sequence[float] = ()
        self._scores: Sequence[int] = ()
        self._span = (0.0, 0.0)
        self._labels = ("", "")
        self._lines: list[str] = []

    def show(
        self, times: Sequence[float], scores: Sequence[int], span: tuple[float, float], labels: tuple[str, str]
    ) -> None:
        """`scores[i]` holds from `times[i]` on; `span` is what the width stands for, `labels` name its ends."""
        self._times, self._scores, self._span, self._labels = times, scores, span, labels
        if self._drawn() != self._lines:
            self.refresh()

    def _drawn(self) -> list[str]:
        width, height = self.size.width, self.size.height
        if not width:
            return []
        left, right = self._labels
        bars = plot_lines(samples(self._times, self._scores, self._span, width), height - 1)
        return [*bars, left + right.rjust(max(0, width - len(left)))]

    def render_line(self, y: int) -> Strip:
        if y == 0:
            self._lines = self._drawn()
        style = "plot--text" if y == self.size.height - 1 else "plot--bar"
        text = self._lines[y] if y < len(self._lines) else ""
        segments = [Segment(text, self.get_component_rich_style(style))]
        return Strip(segments).crop_extend(0, self.size.width, self.rich_style)


def samples(times: Sequence[float], scores: Sequence[int], span: tuple[float, float], width: int) -> list[int]:
    """The score at the end of each of `width` equal parts of `span`; 100 before the first finding."""
    start, end = span
    out = []
    for column in range(width):
        at = start + (end - start) * (column + 1) / width
        known = bisect_right(times, at)
        out.append(scores[known - 1] if known else 100)
    return out


def plot_lines(values: Sequence[int], height: int) -> list[str]:
    """Values as columns of `height` lines, each line eight steps; the last line is the ground."""
    if not values or height < 1:
        return []
    ground = min(0, *values)
    steps = [round((value - ground) / (100 - ground) * height * 8) for value in values]
    return ["".join(_EIGHTHS[max(0, min(8, step - 8 * line))] for step in steps) for line in reversed(range(height))]
