"""From whom may a lost session go on? Those who come into question side by side; a person chooses, by a typed word."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalScroll, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ledger_tui.routing.details import Excerpt
from ledger_tui.sources.guard import SourceError
from widgets.key_hints import KeyHints
from widgets.look import age_text, clock_text
from widgets.prompt_bar import PromptBar

from . import lineage_words
from .feeds import Desk
from .repair_model import RepairModel
from .sessions_looker import SessionsLooker

MESSAGES = 3
WIDE = 108
"""Cells of the screen from which three sessions stand side by side."""

CHOOSE = "choose"
"""The word that makes a choice; what follows it is kept as the reason."""


class SessionColumn(VerticalScroll, can_focus=True):
    """One session: who, which chat, when it fell quiet, its first and last messages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "step(1)", "Down", show=False, id="column.down", tooltip="One line down"),
        Binding("k,up", "step(-1)", "Up", show=False, id="column.up", tooltip="One line up"),
    ]

    def __init__(self, session_id: str, title: str) -> None:
        super().__init__()
        self.session_id = session_id
        self.border_title = title

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def show(self, text: Text) -> None:
        self.query_one(Static).update(text)

    def action_step(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False)


class DonorsScreen(SessionsLooker, ModalScreen[tuple[str, str] | None]):
    """Gives the chosen donor's id and the reason that was typed, or None."""

    CSS_PATH = "donors.tcss"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,right,l", "step(1)", "Next", key_display="tab", id="donors.next", tooltip="The next session"),
        Binding("shift+tab,left,h", "step(-1)", "Back", show=False, id="donors.previous", tooltip="The one before"),
        Binding(
            "enter", "choose", "Choose", key_display="enter", id="donors.choose", tooltip="It goes on from this one"
        ),
        Binding("q,backspace,escape", "close", "Close", key_display="q", id="donors.close", tooltip="Choose nobody"),
    ]

    def __init__(
        self, desk: Desk, model: RepairModel, orphan_id: str, donor_ids: Sequence[str], named: str | None
    ) -> None:
        """`named`: the one that the evidence names; it needs no choice."""
        super().__init__()
        self._desk, self._model, self._orphan_id, self._named = desk, model, orphan_id, named
        self._donor_ids = tuple(donor_ids)
        self._excerpts: dict[str, Excerpt | str] = {}
        self._shown, self._news, self._outdated = self._state(), "", False

    def compose(self) -> ComposeResult:
        yield Static(self._question(), id="question", markup=False)
        with HorizontalScroll(id="columns", can_focus=False):
            yield SessionColumn(self._orphan_id, " the lost session ")
            for number, donor_id in enumerate(self._donor_ids, 1):
                named = ", named by the evidence" if donor_id == self._named else ""
                yield SessionColumn(donor_id, f" {number} of {len(self._donor_ids)}{named} ")
        yield PromptBar(id="prompt")
        yield KeyHints()

    def renew(self) -> None:
        """The store was read anew. Who is asked about other sessions than those on the screen is asked no longer."""
        now = self._state()
        if now != self._shown:
            self._shown = now
            self._withdraw("these sessions are not as they were: look again before you choose")
            self._read()
        self._look_for_others()

    @work(group="others", exclusive=True, exit_on_error=False)
    async def _look_for_others(self) -> None:
        """Where there are others to choose from than those on the screen, nobody is chosen here."""
        ids = await asyncio.to_thread(self._model.donors, self._orphan_id)
        self._outdated = ids != self._donor_ids
        if self._outdated:
            self._withdraw("there are others to choose from now: close this, and open it again")

    def _withdraw(self, why: str) -> None:
        self._news = f"The store was written to, and {why}."
        bar = self.query_one(PromptBar)
        if bar.is_open:
            bar.close()
            self._asked.focus()
        self.query_one("#question", Static).update(self._question())
        self._paint()
        self.refresh_bindings()

    def _state(self) -> tuple[object, ...]:
        """What is known of all who stand here."""
        return self._model.told(self._orphan_id), *(self._model.card(id) for id in self._donor_ids)

    def _question(self) -> str:
        if self._news:
            return self._news
        if not self._donor_ids:
            return "Nobody of the same platform and profile fell quiet near its start: there is no one to choose."
        if self._named is not None:
            return "The evidence names one; look at both before you accept it."
        return "From whom does it go on? Whoever is chosen gives it their identity: be sure that it is the same person."

    def on_mount(self) -> None:
        self._paint()
        columns = list(self.query(SessionColumn))
        columns[min(1, len(columns) - 1)].focus()
        self._read()

    def on_resize(self, event: events.Resize) -> None:
        """Two side by side on any screen, three on a wide one."""
        columns = self.query(SessionColumn)
        shown = min(len(columns), 3 if event.size.width >= WIDE else 2)
        for column in columns:
            column.styles.width = event.size.width // shown

    @work(group="session", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        """One after the other: there may be twenty."""
        for id in (self._orphan_id, *self._donor_ids):
            try:
                self._excerpts[id] = await self._desk.lineage.excerpt(id, MESSAGES)
            except SourceError as error:
                self._excerpts[id] = str(error)
            self._paint()
            await asyncio.sleep(0)

    def _paint(self) -> None:
        for column in self.query(SessionColumn):
            column.show(self._told(column.session_id))

    def _told(self, id: str) -> Text:
        card, orphan = self._model.card(id), self._model.card(self._orphan_id)
        out = Text()
        if card is None or orphan is None:
            return Text("no longer in the store")
        out.append(f"{card.name}\n", "bold")
        rows = [("id", card.id), ("source", card.source), ("messages", str(card.messages))]
        rows += [(name, "NULL" if value is None else value or "''") for name, value in card.identity]
        rows += [("began", self._time(card.started_at)), ("last word", self._time(card.last_active))]
        if id != self._orphan_id and card.last_active is not None and orphan.started_at is not None:
            gap = orphan.started_at - card.last_active
            rows.append(("quiet", f"{age_text(abs(gap))} {'before' if gap >= 0 else 'after'} the lost one began"))
        rows.append(("ended", "open" if card.open else card.end_reason or "yes"))
        for name, value in rows:
            out.append(f"{name:<13}", "dim").append(f"{value}\n")
        out.append("\n")
        excerpt = self._excerpts.get(id)
        trouble = excerpt if isinstance(excerpt, str) else ""
        return out.append_text(lineage_words.talk(None if isinstance(excerpt, str) else excerpt, trouble, self._time))

    def _time(self, at: float | None) -> str:
        return clock_text(at, self._desk.clock(), self._desk.zone)

    # Keys

    @property
    def _column(self) -> SessionColumn:
        focused = self.focused
        return focused if isinstance(focused, SessionColumn) else next(iter(self.query(SessionColumn)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return True
        if self.query_one(PromptBar).is_open:
            return action not in {"choose", "step", "close"}
        return action != "choose" or (bool(self._donor_ids) and not self._outdated)

    def action_step(self, step: int) -> None:
        columns = list(self.query(SessionColumn))
        column = columns[(columns.index(self._column) + step) % len(columns)]
        column.focus()
        self.query_one("#columns").scroll_to_widget(column, animate=False)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_choose(self) -> None:
        self._asked = self._column
        if self._asked.session_id == self._orphan_id:
            self.notify("That is the lost session itself; go to one of the others", markup=False)
            return
        hint = f"Type {CHOOSE}, and after it why if you like: both go into the journal. An empty line closes."
        self.query_one(PromptBar).ask("choose", "It goes on from this one?", "", hint)
        self.refresh_bindings()

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        if not event.bar.is_open:  # The question was withdrawn while the answer was on its way.
            return
        word, _, reason = event.value.strip().partition(" ")
        if word and word.lower() != CHOOSE:
            event.bar.complain(f"That is not the word: {CHOOSE}. An empty line closes.")
            return
        event.bar.close()
        self._asked.focus()
        self.refresh_bindings()
        if word:
            self.dismiss((self._asked.session_id, reason.strip()))

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self._asked.focus()
        self.refresh_bindings()
