"""The Calls screen: sessions at the left, and live panes of what is pending, lost and settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from agent_ledger.engine.queries import Filter
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.health import Health
from ledger_tui.sources.ledger import LedgerChange
from ledger_tui.sources.state import StateChange
from ledger_tui.sources.verdicts import Outcome
from widgets.call_panes import PANE_NAMES, SETTLED, CallPanes
from widgets.call_table import CallTable
from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.look import clock_text
from widgets.pane_tabs import PaneTabs
from widgets.passage import Notice
from widgets.prompt_bar import PromptBar
from widgets.session_list import ALL, SessionList, SessionRow
from widgets.top_line import TopLine

from . import calls_palette as palette
from .call_details import CallDetailsScreen
from .calls_model import News
from .calls_words import empty_texts, health_word, notice_text, pane_counts, session_order, toasts, totals
from .commands import Command
from .feeds import Desk
from .paging import PAGE, Which, fetch
from .typing_calls import TypingScreen
from .verifying import STOP, VERIFY, VERIFY_ALL, found_text

_OWN_ACTIONS = {"filter", "pane", "sessions", "clear", "export", "verify", "verify_all", "stop_search"}

RECOUNT_S = 10.0
"""Counts per session are read anew at most this often, when the ledger's totals say otherwise."""


class CallsScreen(TypingScreen):
    """Every state-changing call, as it happens."""

    CSS_PATH = "calls.tcss"
    TITLE = "Calls"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (120, "-wide")]  # noqa: RUF012 - one per instance for Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "filter", "Filter", key_display="/", id="calls.filter", tooltip="Narrow by tool, state, text…"
        ),
        VERIFY,
        VERIFY_ALL,
        STOP,
        Binding("tab,right,l", "pane(1)", "Pane", key_display="tab", id="calls.next", tooltip="Next pane"),
        Binding("shift+tab,left,h", "pane(-1)", "Back", show=False, id="calls.previous", tooltip="Previous pane"),
        Binding("s", "sessions", "Sessions", id="calls.sessions", tooltip="Go to the sessions, or hide them"),
        Binding("x", "clear", "Clear", id="calls.clear", tooltip="Drop filter and session: show everything"),
        Binding("e", "export", "Export", id="calls.export", tooltip="Write what is in view to a CSV or JSON file"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._session: str | None = None
        self._state_health = Health()
        self._changed_at: float | None = None
        self._dirty = False
        self._order_stale = True
        self._recounted = desk.mono()
        self._paging = False

    # Composition

    def compose(self) -> ComposeResult:
        view = self.model.view
        yield TopLine(f"Calls {self._desk.label}".strip(), id="top")
        yield Notice(id="notice")
        yield Static("", id="search", markup=False)
        yield PaneTabs(id="tabs")
        with Horizontal(id="body"):
            yield SessionList(self._session_row, id="sessions")
            yield CallPanes((view.pending, view.ghosts, view.settled), self._facts, id="panes")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._desk.ledger_changed.subscribe(self, self._ledger_changed)
        self._desk.state_changed.subscribe(self, self._state_changed)
        self._catch_up()
        self.set_interval(1.0, self._tick)
        self._panes.focus_pane(SETTLED)
        self._paint()

    @property
    def _panes(self) -> CallPanes:
        return self.query_one(CallPanes)

    @property
    def _sessions(self) -> SessionList:
        return self.query_one(SessionList)

    # What happens outside

    def _ledger_changed(self, change: LedgerChange) -> None:
        news = self.model.apply(change)
        if change.calls:
            self._changed_at = change.at
            self._order_stale = True
        if change.reset:
            self._desk.verdicts.forget()
            self._start_over(change)
        elif self.model.sessions_drifted() and self._desk.mono() - self._recounted > RECOUNT_S:
            self._load_sessions()
        self._tell(news)
        self._paint()

    def _catch_up(self) -> None:
        """Take what was told before this screen was made."""
        so_far, state = self._desk.so_far(), self._desk.latest_state()
        if so_far is not None:
            self.model.apply(so_far)
            self._order_stale = True
            self._start_over(so_far)
        if state is not None:
            self._state_changed(state)

    def _start_over(self, change: LedgerChange) -> None:
        """The model begins anew with this message: fetch what it does not bring."""
        self._reset_panes()
        if change.health.state != "missing":
            if len(self.model.view.settled) < PAGE:
                self._load_page("first")
            self._load_sessions()

    def _state_changed(self, change: StateChange) -> None:
        # A home without a session store only lacks titles; that needs no line of its own.
        self._state_health = change.health if change.health.state != "missing" else Health()
        self._order_stale = True
        self._paint()

    def _tick(self) -> None:
        late = self.model.tick()
        self._tell(News(overdue=late))
        self._paint(resort=True)

    def _tell(self, news: News) -> None:
        for toast in toasts(news) if self._desk.tells else ():
            self.notify(toast.text, severity=toast.severity, timeout=toast.seconds, markup=False)

    # Painting: everything below draws only what differs

    def on_resize(self) -> None:
        # The classes for the new size are in place only after the next refresh.
        self.call_after_refresh(self._paint)

    def on_screen_resume(self) -> None:
        if self._dirty:
            self._paint(resort=True)

    def _reset_panes(self) -> None:
        view = self.model.view
        self._panes.show((view.pending, view.ghosts, view.settled), one_session=self._session is not None)

    def _paint(self, *, resort: bool = False) -> None:
        if not self.is_current:
            self._dirty = True
            return
        self._dirty = False
        self._panes.set_class(self.has_class("-short"), "-single")
        self._panes.rows_changed()
        self._paint_titles()
        self._paint_top()
        sessions = self._sessions
        if self._order_stale and (resort or len(self.model.sessions) + 1 != sessions.row_count):
            self._order_stale = False
            sessions.show([ALL, *session_order(self.model)])
        else:
            sessions.repaint_lines()

    def _paint_titles(self) -> None:
        counts = pane_counts(self.model, self._session, filtered=self._typed != Filter())
        empty = empty_texts(self.model, self._typed)
        self._panes.say(counts, empty)
        self.query_one(PaneTabs).show(tuple(zip(PANE_NAMES, counts, strict=True)), self._panes.shown)

    def _paint_top(self) -> None:
        top = self.query_one(TopLine)
        if not self.model.loaded:
            top.show((), state="missing", text="reading", clock="")
            return
        now = self.model.now()
        here = self._changed_at is not None and not self._desk.shipped
        clock = clock_text(self._changed_at, now, self._desk.zone) if here else ""
        top.show(totals(self.model), state=self.model.health.state, text=health_word(self.model.health), clock=clock)
        self._paint_notice()

    def _paint_notice(self) -> None:
        """The line below the top: what is wrong with a source, else what narrows the view."""
        hidden = self._session if not self._sessions.display else None
        named = None if hidden is None else self._facts.name_of(hidden)
        text = notice_text(self.model.health, self._state_health, filter_line=self._line, session=named)
        self.query_one(Notice).tell(text, wrong=self.model.health.is_wrong)

    # Sessions

    def _session_row(self, key: str) -> SessionRow:
        counts = self.model.counts(None if key == ALL else key)
        known = (key == ALL and not self.model.unknown) or self.model.sessions_known
        name = "All sessions" if key == ALL else self._facts.name_of(key)
        return SessionRow(key, name, counts.pending, counts.overdue, counts.ghost, counts.rows if known else None)

    @on(LineList.Moved, "#sessions")
    def _session_chosen(self, event: LineList.Moved) -> None:
        self.choose_session(None if event.key == ALL else str(event.key))

    @on(LineList.Opened, "#sessions")
    def _session_entered(self) -> None:
        self.remove_class("-sessions")
        self._focus_pane()

    def choose_session(self, session_id: str | None) -> None:
        """Show one session's calls, or all."""
        self._session = session_id
        self._view_changed()

    def _view_changed(self) -> None:
        session = self._session if self._session is not None else self._typed.session_id
        self.model.show(replace(self._typed, session_id=session))
        self.refresh_bindings()
        self._reset_panes()
        self._load_page("first")
        self._paint()

    # Fetching

    @work(group="page", exclusive=True, exit_on_error=False)
    async def _load_page(self, which: Which) -> None:
        """Settled rows for the view; one page, from one end or beyond what is held."""
        wanted, window = self.model.settled_filter(), self.model.view.settled
        if wanted is None:
            window.at_oldest = True
            self._paint()
            return
        self._paging = True
        try:
            await fetch(which, window, self._desk.ledger, wanted)
        except (SourceError, sqlite3.Error):
            return  # The feed reports the source's state itself; the rows come with the next reading.
        finally:
            self._paging = False
        self._paint()
        if which == "last":
            self._panes.settled.select(window.oldest_id)

    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def _load_sessions(self) -> None:
        """Counts per session: one reading of every row, so it runs behind the first screen."""
        self._recounted = self._desk.mono()
        self.model.recount_sessions()
        try:
            self.model.take_session_totals(await self._desk.ledger.session_totals())
            self.model.tools.update(await self._desk.ledger.tool_names())
        except (SourceError, sqlite3.Error):
            return
        self._order_stale = True
        self._paint(resort=True)

    @on(LineList.EdgeReached, "#settled")
    def _edge_reached(self, event: LineList.EdgeReached) -> None:
        window = self.model.view.settled
        at_end = window.at_newest if event.newest else window.at_oldest
        if at_end:
            return
        if event.jump:
            self._load_page("first" if event.newest else "last")
        elif not self._paging:
            self._load_page("newer" if event.newest else "older")

    # Keys

    def action_pane(self, step: int) -> None:
        """Go round the panes, and the sessions where they are in view."""
        # What is shown and not what has the focus: that follows a moment later, and keys may come faster.
        at = None if self._sessions.has_focus else self._panes.shown
        stops = len(PANE_NAMES) + (1 if self._sessions.display else 0)
        at = (at + step) % stops if at is not None else (0 if step > 0 else SETTLED)
        if at == len(PANE_NAMES):
            self._sessions.focus()
        else:
            self._focus_pane(at)

    @on(PaneTabs.Chosen)
    def _tab_chosen(self, event: PaneTabs.Chosen) -> None:
        self._focus_pane(event.index)

    def _focus_pane(self, index: int | None = None) -> None:
        self._panes.focus_pane(self._panes.shown if index is None else index)
        self._paint_titles()

    def action_sessions(self) -> None:
        sessions = self._sessions
        if self.has_class("-narrow"):
            self.toggle_class("-sessions")
        elif sessions.has_focus:
            self.add_class("-no-sessions")
        else:
            self.remove_class("-no-sessions")
        if sessions.display and not sessions.has_focus:
            sessions.focus()
        else:
            self._focus_pane()
        self._paint_notice()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing now are not offered; while somebody types, none of ours is."""
        if self.is_mounted and self.query_one(PromptBar).is_open and action in _OWN_ACTIONS:
            return False
        if action == "clear":
            return bool(self._line) or self._session is not None
        return super().check_action(action, parameters)

    def calls_at_hand(self) -> Sequence[int]:
        """The one under the cursor; on a session, what of it is unconfirmed."""
        if self._sessions.has_focus:
            return self.calls_in_view()
        key = self._panes.tables[self._panes.shown].cursor_key
        return [key] if isinstance(key, int) else ()

    def calls_in_view(self) -> Sequence[int]:
        return self.model.unsettled_in_view()

    def verified(self, outcome: Outcome) -> None:
        self.notify(found_text(outcome), markup=False, timeout=8.0)
        if outcome.not_kept:
            self.model.verdicts_changed(call.id for call, _ in outcome.found)
            self._paint()

    def action_clear(self) -> None:
        self._line, self._typed, self._session = "", Filter(), None
        self._sessions.select(ALL)
        self._view_changed()

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        if isinstance(event.list, CallTable) and isinstance(event.key, int):
            self.app.push_screen(CallDetailsScreen(self._desk, self.model, self._facts.name_of, event.key))

    # Command palette

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        yield from palette.filters(self.filter_by)
        if not self._desk.shipped:
            yield Command("Verify all unconfirmed calls in view", "Did they land after all?", self.action_verify_all)
        yield Command("Show everything", "Drop filter and session", self.action_clear)
        yield Command("Filter…", "Type a filter", self.action_filter)
        yield Command("Export what is in view…", "To a CSV or JSON file", self.action_export)
        yield from palette.sessions(session_order(self.model), self._facts.name_of, self._jump)

    def _jump(self, session_id: str) -> None:
        self._sessions.select(session_id)
        self.choose_session(session_id)
