"""What screens of records share: the ledger's health, painting what differs, one line to type into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual import on
from textual.screen import Screen
from textual.widgets import Static

from ledger_tui.sources.ledger import LedgerChange
from widgets.line_list import LineList
from widgets.look import NO_SESSION, clock_text
from widgets.prompt_bar import PromptBar
from widgets.top_line import TopLine, Total

from .call_details import CallDetailsScreen
from .calls_model import CallsModel
from .calls_words import health_word
from .export import ExportError, default_name, export_shapes
from .feeds import Desk
from .filter_terms import FilterError


class RecordScreen(Screen[None]):
    """Lists of records behind which calls stand. A screen of this kind has a `TopLine` and a `PromptBar`."""

    OWN_ACTIONS: ClassVar[frozenset[str]] = frozenset()
    """Actions of its keys, which are silent while somebody types."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        # Knows no rows; details of a call need its judgement of writers and times.
        self._calls = CallsModel(desk.clock, desk.mono)
        self._texts: dict[str, str] = {}
        self._dirty = False

    # What each screen says for itself

    def _draw(self) -> None:
        """Bring everything in view up to date."""
        raise NotImplementedError

    def _is_narrowed(self) -> bool:
        """Would `clear` change anything?"""
        raise NotImplementedError

    def _take(self, purpose: str, line: str) -> None:
        """A line was typed for this purpose. Raises FilterError, ExportError."""
        raise NotImplementedError

    @property
    def _list_in_use(self) -> LineList:
        """The list that has the focus when nobody types."""
        raise NotImplementedError

    # The ledger

    def _follow_ledger(self) -> None:
        """From now on, and from what is known already."""
        self._desk.ledger_changed.subscribe(self, self._ledger_changed)
        latest = self._desk.latest()
        if latest is not None:
            self._calls.apply(replace(latest, calls=()))

    def _ledger_changed(self, change: LedgerChange) -> None:
        self._calls.apply(replace(change, calls=()))
        self._paint()

    # Painting: everything below draws only what differs

    def on_resize(self) -> None:
        # The classes for the new size are in place only after the next refresh.
        self.call_after_refresh(self._paint)

    def on_screen_resume(self) -> None:
        if self._dirty:
            self._paint()

    def _paint(self) -> None:
        """Draw now, or once the screen is in front again."""
        self._dirty = not self.is_current
        if self.is_current:
            self._draw()

    def _paint_top(self, totals: tuple[Total, ...]) -> None:
        top, health = self.query_one(TopLine), self._calls.health
        if self._calls.loaded:
            top.show(totals, state=health.state, text=health_word(health), clock="")
        else:
            top.show((), state="missing", text="reading", clock="")

    def _say(self, name: str, text: str) -> None:
        """Text into the widget with this id."""
        if self._texts.get(name) != text:
            self._texts[name] = text
            self.query_one(f"#{name}", Static).update(text)

    def _clock_text(self, at: float | None) -> str:
        return clock_text(at, self._desk.clock(), self._desk.zone)

    def _name_of(self, session_id: str) -> str:
        return self._desk.titles.get(session_id) or session_id or NO_SESSION

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing now are not offered; while somebody types, none of ours is."""
        if self.is_mounted and self.query_one(PromptBar).is_open and action in self.OWN_ACTIONS:
            return False
        return action != "clear" or self._is_narrowed()

    def _open_call(self, ledger_id: int) -> None:
        self.app.push_screen(CallDetailsScreen(self._desk, self._calls, self._name_of, ledger_id))

    def _ask_export(self, what: str) -> None:
        name = default_name(self._desk.clock(), self._desk.zone, what)
        self.query_one(PromptBar).ask("export", "Export to", name, "A new file, .csv or .json")

    def _export(self, name: str, shapes: Sequence[Mapping[str, Any]], what: str) -> None:
        """Write what is in view; an emptied line is the way out that needs no Escape. Raises ExportError."""
        if name.strip():
            self.notify(export_shapes(name, shapes).told(what), markup=False)

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        try:
            self._take(event.purpose, event.value)
        except (FilterError, ExportError) as error:
            event.bar.complain(str(error))
            return
        event.bar.close()
        self._list_in_use.focus()

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self._list_in_use.focus()
