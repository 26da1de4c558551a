"""One session of the lineage in full, over the tree."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ledger_tui.routing.live import SurveyChange
from widgets.key_hints import KeyHints
from widgets.look import clock_text
from widgets.session_details import SessionDetails

from .feeds import Desk
from .lineage_model import LineageModel
from .session_card import SessionCard
from .sessions_looker import SessionsLooker

MESSAGES = 10
"""Messages that are shown from either end."""


class SessionDetailsScreen(SessionsLooker, Screen[None]):
    """Opened from the tree; closed by q or backspace."""

    CSS_PATH = "session_details.tcss"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "q,backspace,escape", "close", "Close", key_display="q", id="session.close", tooltip="Back to the tree"
        ),
    ]

    def __init__(self, desk: Desk, model: LineageModel, session_id: str) -> None:
        super().__init__()
        self._desk = desk
        self._card = SessionCard(model, desk.lineage, lambda at: clock_text(at, desk.clock(), desk.zone))
        self._card.choose(session_id)

    def compose(self) -> ComposeResult:
        yield SessionDetails(id="details")
        yield KeyHints()

    def on_mount(self) -> None:
        self._desk.lineage_changed.subscribe(self, self._changed)
        details = self.query_one(SessionDetails)
        details.focus()
        self._card.paint(details)
        self._read()

    def _changed(self, change: SurveyChange) -> None:
        if change.fresh:
            self._read()

    @work(group="session", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        await self._card.read(MESSAGES)
        self._card.paint(self.query_one(SessionDetails))

    def action_close(self) -> None:
        self.dismiss()
