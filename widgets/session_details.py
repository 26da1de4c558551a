"""One session in full: what does not fit about it, its life span, its identity, its first and last messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

PARTS = ("findings", "session", "identity", "messages")


class SessionDetails(VerticalScroll):
    """Named parts below a headline; a part without text is not there."""

    DEFAULT_CSS = """
    SessionDetails {
        padding: 0 1;
        scrollbar-size-vertical: 1;
        & .details--headline { text-style: bold; color: $primary; height: auto; max-height: 3; }
        & .details--part { height: auto; border-top: solid $foreground 25%; border-title-color: $text-muted; }
        & #findings { color: $text-warning; }
        &:nocolor #findings { color: $foreground; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "step(1)", "Down", show=False, id="session.down", tooltip="One line down"),
        Binding("k,up", "step(-1)", "Up", show=False, id="session.up", tooltip="One line up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="session.page_down", tooltip="One page down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="session.page_up", tooltip="One page up"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._texts: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static("", id="headline", classes="details--headline", markup=False)
        for name in PARTS:
            yield Static("", id=name, classes="details--part", markup=False)

    def on_mount(self) -> None:
        for name in PARTS:
            part = self.query_one(f"#{name}")
            part.border_title = f" {name} "
            part.display = False

    def show(self, headline: Text, parts: Mapping[str, Text], *, top: bool) -> None:
        """Another text where it differs. `top` goes back to the beginning: it is another session."""
        for name, text in (("headline", headline), *parts.items()):
            if self._texts.get(name) != text.plain:
                self._texts[name] = text.plain
                part = self.query_one(f"#{name}", Static)
                part.update(text)
                part.display = bool(text.plain)
        if top:
            self.scroll_home(animate=False)

    def action_step(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False)
