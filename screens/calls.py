"""The Calls screen: sessions at the left, and live panes of what is pending, lost and settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.ledger import Health, LedgerChange
from widgets.call_table import GHOST_COLUMNS, PENDING_COLUMNS, SETTLED_COLUMNS, CallRows, CallTable
from widgets.key_hints import KeyHints
from widgets.line_list import Cell, LineList
from widgets.look import GLYPHS, HEALTH_WORDS, NO_SESSION, clock_text, count_text, short_count
from widgets.pane_tabs import PaneTabs
from widgets.prompt_bar import PromptBar
from widgets.session_list import ALL, SessionList, SessionRow
from widgets.top_line import TopLine

from .call_details import CallDetailsScreen
from .calls_model import CallsModel, News
from .commands import Command
from .export import ExportError, default_name, export_calls
from .feeds import Desk, StateChange
from .filter_terms import FilterError, complete, parse_filter
from .help import HelpScreen

PAGE = 200
"""Rows fetched at a time."""

TOLD_AT_ONCE = 3
"""Calls that one toast names; more are counted."""

RECOUNT_S = 10.0
"""Counts per session are read anew at most this often, when the ledger's totals say otherwise."""


class Facts:
    """What a row's text needs beyond the row: the model's judgement, titles of sessions, the person's zone."""

    def __init__(self, model: CallsModel, desk: Desk) -> None:
        self.state, self.age, self.remaining = model.state, model.age, model.remaining
        self.writer_dead, self.now = model.writer_dead, model.now
        self.zone: tzinfo | None = desk.zone
        self.titles: dict[str, str] = {}

    def session_name(self, call: Call) -> str:
        return self.name_of(call.session_id or "")

    def name_of(self, session_id: str) -> str:
        return self.titles.get(session_id) or session_id or NO_SESSION


class CallsScreen(Screen[None]):
    """Every state-changing call, as it happens."""

    CSS_PATH = "calls.tcss"
    TITLE = "Calls"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "filter", "Filter", key_display="/", id="calls.filter", tooltip="Narrow by tool, state, text…"
        ),
        Binding("tab,right,l", "pane(1)", "Pane", key_display="tab", id="calls.next", tooltip="Next pane"),
        Binding("shift+tab,left,h", "pane(-1)", "Back", show=False, id="calls.previous", tooltip="Previous pane"),
        Binding("s", "sessions", "Sessions", id="calls.sessions", tooltip="Go to the sessions, or hide them"),
        Binding("x", "clear", "Clear", id="calls.clear", tooltip="Drop filter and session: show everything"),
        Binding("e", "export", "Export", id="calls.export", tooltip="Write what is in view to a CSV or JSON file"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.model = CallsModel(desk.clock, desk.mono)
        self._facts = Facts(self.model, desk)
        self._line = ""
        self._typed = Filter()
        self._session: str | None = None
        self._health = Health()
        self._changed_at: float | None = None
        self._dirty = False
        self._order_stale = True
        self._recounted = desk.mono()
        self._shown = 0

    # Composition

    def compose(self) -> ComposeResult:
        view = self.model.view
        yield TopLine("Calls", id="top")
        yield Static("", id="notice", markup=False)
        yield PaneTabs(id="tabs")
        with Horizontal(id="body"):
            yield SessionList(self._session_row, id="sessions")
            with Vertical(id="panes"):
                yield CallTable("Pending", view.pending, self._facts, PENDING_COLUMNS, follow=False, id="pending")
                yield CallTable("Ghosts", view.ghosts, self._facts, GHOST_COLUMNS, id="ghosts")
                yield CallTable("Settled", view.settled, self._facts, SETTLED_COLUMNS, id="settled")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._desk.ledger_changed.subscribe(self, self._ledger_changed)
        self._desk.state_changed.subscribe(self, self._state_changed)
        self.set_interval(1.0, self._tick)
        self._show_pane(2)
        self._paint()

    @property
    def _panes(self) -> list[CallTable]:
        return [self.query_one(f"#{name}", CallTable) for name in ("pending", "ghosts", "settled")]

    # What happens outside

    def _ledger_changed(self, change: LedgerChange) -> None:
        news = self.model.apply(change)
        self._health = change.health
        if change.calls:
            self._changed_at = change.at
            self._order_stale = True
        if change.reset:
            self._reset_panes()
            if change.health.state != "missing":
                self._load_page("first")
                self._load_sessions()
        elif self.model.sessions_drifted() and self._desk.mono() - self._recounted > RECOUNT_S:
            self._load_sessions()
        self._tell(news)
        self._paint()

    def _state_changed(self, change: StateChange) -> None:
        self._facts.titles = {key: info.title for key, info in change.sessions.items() if info.title}
        self._paint()

    def _tick(self) -> None:
        late = self.model.tick()
        self._tell(News(overdue=late))
        self._paint(resort=True)

    def _tell(self, news: News) -> None:
        """A toast for what a person should look at. Names of tools are an agent's text: never markup."""
        for calls, one, many, severity in (
            (news.ghosts, "was lost and reported as a ghost", "calls were reported as ghosts", "error"),
            (news.overdue, "is overdue: no confirmation came", "calls are overdue", "warning"),
        ):
            if not calls:
                continue
            named = ", ".join(f"{call.tool_name} #{call.id}" for call in calls[:TOLD_AT_ONCE])
            text = f"{named} {one}" if len(calls) == 1 else f"{len(calls)} {many}: {named}"
            if len(calls) > TOLD_AT_ONCE:
                text += ", …"
            self.notify(text, severity="error" if severity == "error" else "warning", timeout=6, markup=False)

    # Painting: everything below draws only what differs

    def on_screen_resume(self) -> None:
        if self._dirty:
            self._paint(resort=True)

    def _reset_panes(self) -> None:
        view = self.model.view
        one_session = self._session is not None
        rows: tuple[CallRows, ...] = (view.pending, view.ghosts, view.settled)
        for pane, mine in zip(self._panes, rows, strict=True):
            pane.show(mine, one_session=one_session)

    def _paint(self, *, resort: bool = False) -> None:
        if not self.is_current:
            self._dirty = True
            return
        self._dirty = False
        for pane in self._panes:
            pane.rows_changed()
        self._paint_titles()
        self._paint_top()
        self._fit_panes()
        sessions = self.query_one(SessionList)
        if self._order_stale and (resort or len(self.model.sessions) + 1 != sessions.row_count):
            self._order_stale = False
            sessions.show(self._session_order())
        else:
            sessions.repaint_lines()

    def _paint_titles(self) -> None:
        view = self.model.view
        settled = self._settled_count()
        empty = self._empty_texts()
        counts = (str(len(view.pending)), str(len(view.ghosts)), settled)
        for pane, count, text in zip(self._panes, counts, empty, strict=True):
            pane.say(count=count, empty=text)
        names = ("Pending", "Ghosts", "Settled")
        self.query_one(PaneTabs).show(tuple(zip(names, counts, strict=True)), self._shown)

    def _settled_count(self) -> str:
        window = self.model.view.settled
        if self._typed == Filter() and (self._session is None or self.model.sessions_known):
            return short_count(self.model.counts(self._session).settled)
        whole = window.at_newest and window.at_oldest
        return short_count(len(window)) + ("" if whole else "+")

    def _empty_texts(self) -> tuple[str, str, str]:
        if not self.model.loaded:
            return ("reading…",) * 3
        if self._health.state == "missing":
            return "The ledger is not there yet.", "", "It shows here as soon as the plugin records its first call."
        if self._typed != Filter():
            return ("nothing matches the filter",) * 3
        settled = self.model.view.settled
        return (
            "nothing is waiting",
            "nothing was lost",
            "nothing was recorded yet" if settled.at_oldest or not self.model.totals.rows else "reading…",
        )

    def _paint_top(self) -> None:
        counts = self.model.counts()
        parts: list[Cell] = []
        for state in ("pending", "overdue", "ghost", "error", "revived", "confirmed"):
            number = getattr(counts, state)
            if number or state in {"pending", "ghost", "confirmed"}:
                style = f"top--{state}" if number else "top--quiet"
                parts.append((f"{GLYPHS[state]} {count_text(number)} {state}", style))
        health = self._health
        word = HEALTH_WORDS.get(health.state, health.state)
        if health.spooled:
            word = f"{word} {health.spooled} spooled"
        clock = clock_text(self._changed_at, self.model.now(), self._desk.zone) if self._changed_at else ""
        state = health.state if self.model.loaded else "missing"
        self.query_one(TopLine).show(
            tuple(parts), state=state, text=word if self.model.loaded else "reading", clock=clock
        )
        self._paint_notice()

    def _paint_notice(self) -> None:
        """The line below the top: what is wrong with the source, else what narrows the view."""
        health = self._health
        parts = []
        if health.text and health.state != "missing":
            parts.append(health.text)
        if health.read_only_schema:
            parts.append("This ledger is by other software: shown, never written.")
        if self._line:
            parts.append(f"Filter: {self._line}   (x clears)")
        if self._session is not None and not self.query_one(SessionList).display:
            parts.append(f"Session: {self._facts.name_of(self._session)}")
        notice = self.query_one("#notice", Static)
        text = "  ".join(parts)
        if str(notice.content) != text:
            notice.update(text)
            notice.set_class(bool(text), "-open")
            notice.set_class(bool(health.text), "-wrong")

    def _fit_panes(self) -> None:
        """Pending and ghosts get what they need, within a share; the settled take the rest."""
        room = self.query_one("#panes").size.height
        if self.has_class("-short"):
            for pane in self._panes[:2]:
                pane.styles.clear_rule("height")
            return
        if not room:
            return
        share = max(3, room // 3)
        for pane in self._panes[:2]:
            needed = min(share, max(2, pane.row_count + 1))
            held = int(pane.styles.height.value) if pane.styles.height is not None else 0
            # Growing at once, shrinking only when much is empty: a call that comes and goes moves nothing.
            if needed > held or held > share or held - needed > 3:
                pane.styles.height = needed

    # Sessions

    def _session_order(self) -> list[str]:
        """Everything first, then by the minute of the last change, so that lines do not jump about."""
        sessions = self.model.sessions
        keys = sorted(sessions, key=lambda key: (-(sessions[key].changed // 60_000_000), key))
        return [ALL, *keys]

    def _session_row(self, key: str) -> SessionRow:
        counts = self.model.counts(None if key == ALL else key)
        known = key == ALL or self.model.sessions_known
        name = "All sessions" if key == ALL else self._facts.name_of(key)
        return SessionRow(key, name, counts.pending, counts.overdue, counts.ghost, counts.rows if known else None)

    @on(LineList.Moved, "#sessions")
    def _session_chosen(self, event: LineList.Moved) -> None:
        self.choose_session(None if event.key == ALL else str(event.key))

    @on(LineList.Opened, "#sessions")
    def _session_entered(self) -> None:
        self.remove_class("-sessions")
        self._focus_pane(self._shown)

    def choose_session(self, session_id: str | None) -> None:
        """Show one session's calls, or all."""
        self._session = session_id
        self._view_changed()

    def _view_changed(self) -> None:
        session = self._session if self._session is not None else self._typed.session_id
        self.model.show(replace(self._typed, session_id=session))
        self._reset_panes()
        self._load_page("first")
        self._paint()

    # Fetching

    @work(group="page", exclusive=True, exit_on_error=False)
    async def _load_page(self, which: str) -> None:
        """Fetch settled rows: the `first` (newest) page, the `last`, or the one `older` or `newer` than the window."""
        wanted = self.model.settled_filter()
        window = self.model.view.settled
        if wanted is None:
            window.at_oldest = True
            self._paint()
            return
        page = self._desk.ledger.page
        try:
            if which == "first":
                rows = await page(wanted, limit=PAGE)
                window.first_page(rows, full=len(rows) == PAGE)
            elif which == "last":
                rows = await page(wanted, after_id=0, limit=PAGE)
                window.start(newest=False)
                window.last_page(rows, full=len(rows) == PAGE)
            elif which == "older":
                rows = await page(wanted, before_id=window.oldest_id, limit=PAGE)
                window.older(rows, full=len(rows) == PAGE)
            else:
                rows = await page(wanted, after_id=window.newest_id, limit=PAGE)
                window.newer(rows, full=len(rows) == PAGE)
        except (SourceError, sqlite3.Error):
            return  # The feed reports the source's state itself; the rows come with the next reading.
        self._paint()
        if which == "last":
            settled = self._panes[2]
            if window.oldest_id is not None:
                settled.select(window.oldest_id)

    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def _load_sessions(self) -> None:
        """Counts per session: one reading of every row, so it runs behind the first screen."""
        self._recounted = self._desk.mono()
        self.model.recount_sessions()
        try:
            self.model.take_session_totals(await self._desk.ledger.session_totals())
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
            if event.newest:
                window.start(newest=True)
            self._load_page("first" if event.newest else "last")
        else:
            self._load_page("newer" if event.newest else "older")

    # Keys

    def action_pane(self, step: int) -> None:
        panes = self._panes
        focused = self.focused
        at = panes.index(focused) if isinstance(focused, CallTable) else -1
        sessions = self.query_one(SessionList)
        stops = len(panes) + (1 if sessions.display else 0)
        at = (at + step) % stops if at >= 0 else (0 if step > 0 else len(panes) - 1)
        if at == len(panes):
            sessions.focus()
        else:
            self._focus_pane(at)

    def _focus_pane(self, index: int) -> None:
        self._show_pane(index)
        self._panes[index].focus()

    def _show_pane(self, index: int) -> None:
        self._shown = index
        for at, pane in enumerate(self._panes):
            pane.set_class(at == index, "-shown")
        self._paint_titles()

    def action_sessions(self) -> None:
        sessions = self.query_one(SessionList)
        if self.has_class("-narrow"):
            self.toggle_class("-sessions")
        elif sessions.has_focus:
            self.add_class("-no-sessions")
        else:
            self.remove_class("-no-sessions")
        if sessions.display and not sessions.has_focus:
            sessions.focus()
        else:
            self._focus_pane(self._shown)
        self._paint_notice()

    def action_clear(self) -> None:
        self._line, self._typed, self._session = "", Filter(), None
        self.query_one(SessionList).select(ALL)
        self._view_changed()

    def action_filter(self) -> None:
        self.query_one(PromptBar).ask(
            "filter", "Filter", self._line, "tool: state: session: since: until: text", self._complete
        )

    def _complete(self, line: str) -> str | None:
        return complete(line, tools=self.model.tools, sessions=self.model.sessions)

    def action_export(self) -> None:
        self.query_one(PromptBar).ask(
            "export", "Export to", default_name(self.model.now(), self._desk.zone), ".csv or .json"
        )

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        if event.purpose == "export":
            self._export(event.value)
            return
        try:
            self.filter_by(event.value)
        except FilterError as error:
            event.bar.complain(str(error))
            return
        event.bar.close()
        self._focus_pane(self._shown)

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self._focus_pane(self._shown)

    def filter_by(self, line: str) -> None:
        """Narrow the view by a filter line. Raises FilterError."""
        sessions = {key: self._facts.name_of(key) for key in self.model.sessions}
        self._typed = parse_filter(line, now=self.model.now(), zone=self._desk.zone, sessions=sessions)
        self._line = " ".join(line.split())
        self._view_changed()

    @work(group="export", exclusive=True, exit_on_error=False)
    async def _export(self, name: str) -> None:
        bar = self.query_one(PromptBar)
        try:
            number = await export_calls(name, self._desk.ledger, self.model)
        except (ExportError, SourceError) as error:
            bar.complain(str(error))
            return
        bar.close()
        self._focus_pane(self._shown)
        self.notify(f"{number} calls were written to {name}", markup=False)

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        if isinstance(event.list, CallTable) and isinstance(event.key, int):
            self.app.push_screen(CallDetailsScreen(self._desk, self.model, self._facts.name_of, event.key))

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))

    # Command palette

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        for state in ("overdue", "ghost", "error", "revived", "pending", "confirmed"):
            yield Command(f"Show only: {state}", f"Filter by state:{state}", partial(self.filter_by, f"state:{state}"))
        yield Command("Show everything", "Drop filter and session", self.action_clear)
        yield Command("Filter…", "Type a filter", self.action_filter)
        yield Command("Export what is in view…", "To a CSV or JSON file", self.action_export)
        for key in self._session_order()[1:200]:
            name = self._facts.name_of(key)
            yield Command(f"Session: {name}", f"Show the calls of {key or NO_SESSION}", partial(self._jump, key))

    def _jump(self, session_id: str) -> None:
        self.query_one(SessionList).select(session_id)
        self.choose_session(session_id)
