"""The last line: the keys that work here, most important first, as many as fit."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from .line_list import Cell

KEPT_RIGHT = ("help", "quit")
"""Actions whose keys are shown whatever the width, at the right."""


class KeyHints(Widget):
    """Keys of the focused widget, the screen and the app. One line; nothing in it is focusable."""

    DEFAULT_CSS = """
    KeyHints {
        height: 1;
        background: $panel;
        & > .hints--key { color: $primary; text-style: bold; }
        & > .hints--text { color: $text-muted; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"hints--key", "hints--text"}

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def _bindings_changed(self, _screen: Screen[object]) -> None:
        self.refresh()

    def _hints(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Pairs of key and word: those that are left out when it gets narrow, and those that never are."""
        left: dict[str, tuple[str, str]] = {}
        right: dict[str, tuple[str, str]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if not binding.show or not active.enabled:
                continue
            pair = (self.app.get_key_display(binding), binding.description)
            (right if binding.action in KEPT_RIGHT else left).setdefault(binding.action, pair)
        return list(left.values()), list(right.values())

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        left, right = self._hints()
        tail = _cells(right)
        free = width - 1 - sum(cell_len(text) for text, _ in tail)
        cells: list[Cell] = [(" ", "")]
        for pair in left:
            hint = _cells([pair])
            size = sum(cell_len(text) for text, _ in hint)
            if size > free:
                break
            cells += hint
            free -= size
        cells += [(" " * max(0, free), ""), *tail]
        base = self.rich_style
        segments = [Segment(text, self.get_component_rich_style(name) if name else base) for text, name in cells]
        return Strip(segments).crop_extend(0, width, base)


def _cells(pairs: list[tuple[str, str]]) -> list[Cell]:
    out: list[Cell] = []
    for key, word in pairs:
        out += [(key, "hints--key"), (f" {word}  ", "hints--text")]
    return out
