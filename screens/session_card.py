"""Fills the details of one session: what the survey says at once, its messages once they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ledger_tui.routing.details import Excerpt
from ledger_tui.routing.live import LiveSurvey
from ledger_tui.sources.guard import SourceError
from widgets.session_details import SessionDetails

from . import lineage_words as words
from .lineage_model import LineageModel

TimeOf = Callable[[float | None], str]


class SessionCard:
    """Keeps what is known of the session that is shown."""

    def __init__(self, model: LineageModel, live: LiveSurvey, time_of: TimeOf) -> None:
        self._model, self._live, self._time_of = model, live, time_of
        self.id: str | None = None
        self._excerpt: Excerpt | None = None
        self._trouble = ""

    def choose(self, id: str | None) -> bool:
        """Another session; True where its messages are to be read."""
        if id == self.id:
            return False
        self.id, self._excerpt, self._trouble = id, None, ""
        return id is not None

    def paint(self, details: SessionDetails, *, top: bool = False) -> None:
        """Everything that is known of it now."""
        model, id = self._model, self.id
        if id is None:
            return
        parts = {
            "findings": words.findings(model, id),
            "session": words.facts(model, id, self._time_of),
            "identity": words.identity(model, id),
            "messages": words.talk(self._excerpt, self._trouble, self._time_of),
        }
        details.show(words.headline(model, id), parts, top=top)

    async def read(self, count: int, after_s: float = 0.0) -> None:
        """The messages, after a moment in which nobody went on to another session."""
        id = self.id
        if id is None:
            return
        await asyncio.sleep(after_s)
        try:
            excerpt, trouble = await self._live.excerpt(id, count), ""
        except SourceError as error:
            excerpt, trouble = None, str(error)
        if id == self.id:
            self._excerpt, self._trouble = excerpt, trouble
