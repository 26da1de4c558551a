"""Names of the panes in one line, for screens too low to show them all at once."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget


class PaneTabs(Widget):
    """`Pending 2 │ Ghosts 1 │ Settled 410`, the shown one set off. A click on another posts `Chosen`."""

    DEFAULT_CSS = """
    PaneTabs {
        height: 1;
        & > .tabs--shown { color: $primary; text-style: bold reverse; }
        & > .tabs--other { color: $text-muted; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--shown", "tabs--other"}

    class Chosen(Message):
        """Somebody clicked the name of a pane."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs: tuple[tuple[str, str], ...] = ()
        self._shown = 0

    def show(self, tabs: tuple[tuple[str, str], ...], shown: int) -> None:
        """Name and count of each pane, and which of them is on the screen."""
        if (tabs, shown) != (self._tabs, self._shown):
            self._tabs, self._shown = tabs, shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        segments = []
        for index, text in enumerate(self._texts()):
            style = self.get_component_rich_style("tabs--shown" if index == self._shown else "tabs--other")
            segments.append(Segment(text, style))
            segments.append(Segment(" ", self.rich_style))
        return Strip(segments).crop_extend(0, self.size.width, self.rich_style)

    def _texts(self) -> list[str]:
        return [f" {name} {count} " for name, count in self._tabs]

    def on_click(self, event: events.Click) -> None:
        start = 0
        for index, text in enumerate(self._texts()):
            end = start + cell_len(text)
            if start <= event.x < end:
                self.post_message(self.Chosen(index))
            start = end + 1
