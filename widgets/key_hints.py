"""The last line: the keys that work here, most important first, as many as fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from .line_list import Cell

KEPT_RIGHT = ("help", "quit")
"""Actions whose keys are shown whatever the width, at the right."""

NARROW = 70
"""Cells below which keys of one kind stand there without a word."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A key by Textual's name, how it is shown, and what it does. Several keys in one have no name."""

    key: str
    shown: str
    word: str
    group: str = ""
    """What keys of its kind are called together."""

    @property
    def size(self) -> int:
        """Cells that it takes: two stand between one and the next."""
        return cell_len(self.shown) + (1 + cell_len(self.word) if self.word else 0) + 2


class KeyHints(Widget):
    """Keys of the focused widget, the screen and the app. One line; nothing in it is focusable, but a click works."""

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

    def _hints(self) -> tuple[list[Hint], list[Hint], list[Hint]]:
        """Those that are left out when it gets narrow, those that are then drawn together, and those that stay."""
        left: dict[str, Hint] = {}
        together: dict[str, Hint] = {}
        right: dict[str, Hint] = {}
        for key, active in self.screen.active_bindings.items():
            binding = active.binding
            if not binding.show or not active.enabled:
                continue
            kind = right if binding.action in KEPT_RIGHT else together if binding.group else left
            group = binding.group.description if binding.group else ""
            hint = Hint(key, self.app.get_key_display(binding), binding.description, group)
            kind.setdefault(binding.action, hint)
        return list(left.values()), list(together.values()), list(right.values())

    def _fitting(self, width: int) -> tuple[list[Hint], int, list[Hint]]:
        """What fits at the left, the cells that stay free, and what stands at the right."""
        left, together, right = self._hints()
        free = width - 1 - sum(hint.size for hint in right)
        if sum(hint.size for hint in (*left, *together)) <= free:
            left += together
        elif together and len(right) == len(KEPT_RIGHT):
            right = [_as_one(together, width), *right]
            free -= right[0].size
        elif together:  # A step aside, which is closed before the program is left: its own keys come first.
            left.append(_as_one(together, width))
        fitting: list[Hint] = []
        for hint in left:
            if hint.size > free:
                break
            fitting.append(hint)
            free -= hint.size
        return fitting, max(0, free), right

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        left, free, right = self._fitting(width)
        cells: list[Cell] = [(" ", ""), *_cells(left), (" " * free, ""), *_cells(right)]
        base = self.rich_style
        segments = [Segment(text, self.get_component_rich_style(name) if name else base) for text, name in cells]
        return Strip(segments).crop_extend(0, width, base)

    def on_click(self, event: events.Click) -> None:
        """A click on a hint is its key; on several keys in one, the palette, which has them all."""
        left, free, right = self._fitting(self.size.width)
        at = 1
        for gap, hints in ((0, left), (free, right)):
            at += gap
            for hint in hints:
                if at <= event.x < at + hint.size:
                    if hint.key:
                        self.app.simulate_key(hint.key)
                    else:
                        self.app.action_command_palette()
                at += hint.size


def _cells(hints: list[Hint]) -> list[Cell]:
    out: list[Cell] = []
    for hint in hints:
        out += [(hint.shown, "hints--key"), (f" {hint.word}  " if hint.word else "  ", "hints--text")]
    return out


def _as_one(hints: list[Hint], width: int) -> Hint:
    """`1-5 Screens` for keys that follow each other, `1/2/x Screens` for others."""
    keys = [hint.shown for hint in hints]
    follow = all(len(key) == 1 for key in keys) and [*map(ord, keys)] == [*range(ord(keys[0]), ord(keys[-1]) + 1)]
    shown = f"{keys[0]}-{keys[-1]}" if follow and len(keys) > 1 else "/".join(keys)
    return Hint("", shown, "" if width < NARROW else hints[0].group)
