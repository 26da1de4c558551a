"""Help on `?`: the keys of the screen that asked, taken from its bindings, and what the glyphs mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from widgets.look import GLYPHS, VERDICT_GLYPHS

_NAMES = {"enter": "enter", "backspace": "backspace"}

_WIDEST = 24
"""Cells for the keys of one action; whoever gave it more keys of his own sees its line begin further right."""

_STATES = {
    "pending": "issued, and still within its grace period",
    "overdue": "not confirmed in time, or its process is gone",
    "ghost": "never confirmed, and the agent has been told",
    "confirmed": "the host reported its result",
    "error": "it failed, was blocked or cancelled",
    "revived": "reported as a ghost, then settled after all",
}

_VERDICTS = {
    "landed": "its effect is there, and nothing else explains it",
    "absent": "its effect would have to be there, and is not",
    "unknown": "somebody looked, and it cannot be told",
    "": "lost, and nobody has looked yet",
}


class HelpScreen(ModalScreen[None]):
    """A list of keys over the screen that asked."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,escape,backspace,enter", "dismiss", "Close", key_display="q", id="help.close"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="help.up"),
    ]

    def __init__(self, asked_by: Screen[Any]) -> None:
        super().__init__()
        self._text = help_text(asked_by)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(self._text, markup=False)

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Keys"
        self.query_one("#help").border_subtitle = "q closes"

    def action_scroll(self, lines: int) -> None:
        self.query_one("#help").scroll_relative(y=lines, animate=False)


def help_text(screen: Screen[Any]) -> Text:
    """Every key that works on `screen` now, one line an action; then its notes (`help_notes()`), or the states."""
    out = Text()
    actions = list(_actions(screen))
    wide = max(14, *(min(len(keys), _WIDEST) for keys, _ in actions))
    for keys, tooltip in actions:
        out.append(f" {keys:<{wide}} ", "bold").append(f"{tooltip}\n")
    out.append("\n")
    notes = getattr(screen, "help_notes", None)
    if notes is not None:
        for note in notes():
            out.append(f" {note}\n")
    else:
        for state, meaning in _STATES.items():
            out.append(f" {GLYPHS[state]} {state:<13}", "bold").append(f"{meaning}\n")
        out.append("\n Did it land after all?\n", "bold")
        for verdict, meaning in _VERDICTS.items():
            out.append(f" {VERDICT_GLYPHS[verdict]} {verdict or 'not checked':<13}", "bold").append(f"{meaning}\n")
    out.rstrip()
    return out


def _actions(screen: Screen[Any]) -> Iterable[tuple[str, str]]:
    keys: dict[str, list[str]] = {}
    tooltips: dict[str, str] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.id is None or binding.id.startswith("textual."):
            continue
        # A binding's own display names one of its keys; here each key is named.
        shown = _NAMES.get(binding.key) or screen.app.get_key_display(replace(binding, key_display=None))
        # The screens share one line, so that the list has room on a low screen.
        screens = binding.action.startswith("show_screen(")
        name = "app.screens" if screens else binding.id
        if shown not in keys.setdefault(name, []):
            keys[name].append(shown)
        if screens:
            tooltips[name] = f"{tooltips[name]}, {binding.description}" if name in tooltips else binding.description
        else:
            tooltips[name] = active.tooltip or binding.tooltip or binding.description
    return [(" ".join(keys[name]), tooltips[name]) for name in keys]
