"""One call in full, live: what is known of it, how it went, and its repeats."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from agent_ledger.engine.evidence.verdict import VERDICTS
from agent_ledger.engine.records import STATES, Call
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.ledger import LedgerChange
from ledger_tui.sources.verdicts import Outcome
from widgets.key_hints import KeyHints
from widgets.passage import Notice

from . import call_story as story
from .calls_model import CallsModel
from .calls_words import health_notice
from .feeds import Desk
from .judged import judged
from .verifying import STOP, VERIFY, VerifyingScreen


class CallDetailsScreen(VerifyingScreen):
    """Opened over the Calls screen; closed by q or backspace."""

    CSS_PATH = "call_details.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - one per instance for Textual

    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "q,backspace,escape", "close", "Close", key_display="q", id="details.close", tooltip="Back to the list"
        ),
        VERIFY,
        STOP,
        Binding(
            "d", "double", "Double", id="details.double", tooltip="The call with which it may have been done twice"
        ),
        Binding(
            "enter,n",
            "repeat(1)",
            "Next repeat",
            key_display="enter",
            id="details.repeat",
            tooltip="The same call, issued again",
        ),
        Binding("p", "repeat(-1)", "Previous", show=False, id="details.previous", tooltip="The repeat before"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="details.down", tooltip="One line down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="details.up", tooltip="One line up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="details.page_down", tooltip="One page down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="details.page_up", tooltip="One page up"),
    ]

    def __init__(self, desk: Desk, model: CallsModel, name_of: Callable[[str], str], call_id: int) -> None:
        super().__init__(desk)
        self._model, self._name_of = model, name_of
        self._call_id = call_id
        self._call: Call | None = model.call(call_id)
        self._same: list[Call] = []
        self._texts: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        with Horizontal(id="head"):
            yield Static("", id="headline", markup=False)
            yield Static(self._desk.label, id="label", markup=False)
        yield Notice(id="notice")
        yield Static("", id="search", markup=False)
        with VerticalScroll(id="story"):
            with Vertical(id="left"):
                yield Static("", id="remarks", markup=False)
                yield Static("", id="landing", classes="section", markup=False)
                yield Static("", id="evidence", markup=False)
                yield Static("", id="timeline", classes="section", markup=False)
                yield Static("", id="facts", classes="section", markup=False)
                yield Static("", id="repeats", classes="section", markup=False)
            with Vertical(id="right"):
                yield Static("", id="arguments", classes="section", markup=False)
                yield Static("", id="result", classes="section", markup=False)
        yield KeyHints()

    def on_mount(self) -> None:
        for name in ("timeline", "facts", "repeats", "arguments", "result"):
            self.query_one(f"#{name}").border_title = f" {name} "
        self.query_one("#landing").border_title = " did it land? "
        self.query_one("#label").display = bool(self._desk.label)
        self._desk.ledger_changed.subscribe(self, self._ledger_changed)
        self.set_interval(1.0, self._paint)
        self._paint()
        self._fetch()
        self.query_one("#story").focus()

    def _ledger_changed(self, change: LedgerChange) -> None:
        for call in change.calls:
            if call.id == self._call_id:
                self._call = call
        self._paint()
        if change.reset:
            self._fetch()

    @work(group="call", exclusive=True, exit_on_error=False)
    async def _fetch(self) -> None:
        """The row in its newest version, and its repeats."""
        try:
            call = await self._desk.ledger.call(self._call_id)
            self._call = call or self._call
            self._same = await self._desk.ledger.same_calls(self._call_id)
        except (SourceError, sqlite3.Error):
            return  # What is wrong with the source is in the notice already; the row stays as it was.
        self._paint()

    def _paint(self) -> None:
        call, model = self._call, self._model
        self.query_one(Notice).tell(health_notice(model.health), wrong=model.health.is_wrong)
        if call is None:
            self._say("headline", Text(f"#{self._call_id} is no longer in the ledger"))
            return
        state = model.state(call)
        for name in STATES:
            self.query_one("#headline").set_class(name == state, f"-{name}")
        self._say("headline", story.headline(call, state))
        remarks = story.remark_lines(call, model)
        self._say("remarks", Text("\n".join(f"• {line}" for line in remarks)), story.REMARK_WIDTH)
        told = judged(call, self._desk.verdicts.unkept)
        for name in VERDICTS:
            self.query_one("#landing").set_class(told is not None and told.verdict == name, f"-{name}")
        self._say("landing", story.landing(told, call, model.now(), self._desk.zone, here=not self._desk.shipped))
        self._say("evidence", story.evidence(told), story.REMARK_WIDTH)
        self._say("timeline", story.timeline(call, model, self._desk.zone), story.TIME_WIDTH)
        self._say("facts", story.facts(call, self._name_of(call.session_id or "")), story.NAME_WIDTH)
        self._say("repeats", story.repeats(call, self._same, model.state))
        self._say("arguments", story.arguments(call))
        self._say("result", story.result(call))

    def _say(self, name: str, text: Text, hang: int = 0) -> None:
        """Update a part only when it says something else; an empty part is not there.

        `hang`: cells under which nothing goes on that is too long for its line.
        """
        if self._texts.get(name) != text.plain:
            self._texts[name] = text.plain
            part = self.query_one(f"#{name}", Static)
            part.update(story.hung(text, hang) if hang else text)
            part.display = bool(text.plain)

    # Keys

    def action_close(self) -> None:
        self.dismiss()

    def action_repeat(self, step: int) -> None:
        """Go to the same call as it was issued before or after."""
        ids = sorted({call.id for call in self._same} | {self._call_id})
        if len(ids) < 2:
            return
        self._go_to(ids[(ids.index(self._call_id) + step) % len(ids)])

    def action_double(self) -> None:
        """Go to the other of two equal calls that may both have had their effect."""
        if self._call is not None and self._call.double_id is not None:
            self._go_to(self._call.double_id)

    def _go_to(self, call_id: int) -> None:
        self._call_id = call_id
        self._call = next((call for call in self._same if call.id == call_id), self._model.call(call_id))
        self._paint()
        self._fetch()

    def calls_at_hand(self) -> Sequence[int]:
        return (self._call_id,)

    def verified(self, outcome: Outcome) -> None:
        self._fetch()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "repeat":
            return bool(self._same)
        if action == "double":
            return self._call is not None and self._call.double_id is not None
        return action != "verify_all" and super().check_action(action, parameters)

    def action_scroll(self, lines: int) -> None:
        self.query_one("#story").scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        part = self.query_one("#story")
        part.scroll_relative(y=pages * max(1, part.size.height - 1), animate=False)
