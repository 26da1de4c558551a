"""What stands in place of a screen for which nothing was shipped: one sentence that says so."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from ledger_tui.sources.health import Health
from ledger_tui.sources.ledger import LedgerChange
from widgets.key_hints import KeyHints
from widgets.passage import Notice
from widgets.top_line import TopLine

from .calls_words import health_word
from .feeds import Desk

SENTENCES = {
    "Lineage": "Sessions are not shipped, only ledgers are: look at those of {} with ledger-tui on its own machine.",
    "Repair": "Nothing is repaired from afar: the sessions of {} stay on its own machine, so run ledger-tui there.",
}
"""What is said in place of each screen; `{}` is the name of the ledger."""


def unless_shipped(name: str, make: Callable[[Desk], Screen[None]]) -> Callable[[Desk], Screen[None]]:
    """Makes the screen of that name; what is said in its place where only the ledger is here."""
    return lambda desk: NotShippedScreen(desk, name) if desk.shipped else make(desk)


class NotShippedScreen(Screen[None]):
    """Has nothing to do but the keys of the app."""

    CSS_PATH = "not_shipped.tcss"

    def __init__(self, desk: Desk, name: str) -> None:
        super().__init__()
        self._desk, self.title = desk, name

    def compose(self) -> ComposeResult:
        yield TopLine(f"{self.title} {self._desk.label}".strip(), id="top")
        yield Notice(id="notice")
        yield Static(SENTENCES[str(self.title)].format(self._desk.shipped), id="told", markup=False)
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._desk.ledger_changed.subscribe(self, self._ledger_changed)
        latest = self._desk.latest()
        self._show(latest.health if latest is not None else None)

    def _ledger_changed(self, change: LedgerChange) -> None:
        self._show(change.health)

    def _show(self, health: Health | None) -> None:
        top = self.query_one(TopLine)
        if health is None:
            top.show((), state="missing", text="reading", clock="")
            return
        top.show((), state=health.state, text=health_word(health), clock="")
        self.query_one(Notice).tell(health.text, wrong=health.is_wrong)
