"""The Homes screen: a line a home, and below them what is unconfirmed in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from ledger_tui.sources.ledger import LedgerChange
from widgets.home_tables import FleetTable, HomeRow, HomeTable
from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.look import clock_text, count_text
from widgets.passage import Notice, Passage
from widgets.prompt_bar import PromptBar
from widgets.top_line import TopLine

from . import calls_palette as palette
from . import homes_words as words
from .call_details import CallDetailsScreen
from .calls_model import CallsModel, News
from .calls_words import Facts, toasts
from .commands import Command
from .feeds import Desk
from .filter_terms import TERMS, FilterError, complete
from .homes_model import HOME, HomesFilter, HomesModel, Unconfirmed, parse_homes_filter

_OWN_ACTIONS = {"filter", "pane", "clear"}


class OneHome(Protocol):
    """One home as the app holds it."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def ledger(self) -> Path: ...
    @property
    def desk(self) -> Desk: ...
    @property
    def calls(self) -> CallsModel: ...


class _Lines:
    """The lines of the upper table."""

    def __init__(self, model: HomesModel, homes: Sequence[OneHome]) -> None:
        self._model, self._ledgers = model, [home.ledger for home in homes]

    def __len__(self) -> int:
        return len(self._ledgers)

    def at(self, index: int) -> HomeRow:
        return words.home_row(self._model, index, self._ledgers[index])

    def key(self, index: int) -> int:
        return index

    def index(self, key: object) -> int | None:
        return key if isinstance(key, int) else None


class HomesScreen(Screen[None]):
    """Several homes side by side. It keeps up what is known of their calls, also while it is not in front."""

    CSS_PATH = "homes.tcss"
    TITLE = "Homes"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "filter", "Filter", key_display="/", id="homes.filter", tooltip="Narrow by home, tool, state…"
        ),
        Binding("tab,right,l", "pane", "Pane", key_display="tab", id="homes.next", tooltip="Homes or calls"),
        Binding("shift+tab,left,h", "pane", "Back", show=False, id="homes.previous", tooltip="The same, backwards"),
        Binding("x", "clear", "Clear", id="homes.clear", tooltip="Drop the filter: show everything"),
    ]

    def __init__(self, homes: Sequence[OneHome], open_home: Callable[[int], None], label: str = "") -> None:
        """`open_home` shows the screens of a home, by its index."""
        super().__init__()
        self._homes, self._open_home, self._label = homes, open_home, label
        self.model = HomesModel([home.name for home in homes], [home.calls for home in homes])
        self._facts = [Facts(home.calls, home.desk.zone, home.desk.titles) for home in homes]
        self._line = ""
        self._texts: dict[str, str] = {}
        self._changed_at: float | None = None
        self._on_calls = False
        """Is the lower list the one in use?"""
        self._due = self._dirty = False

    # Composition

    def compose(self) -> ComposeResult:
        yield TopLine(f"Homes {self._label}".strip(), id="top")
        yield Notice(id="notice")
        yield HomeTable(_Lines(self.model, self._homes), id="homes")
        yield FleetTable(self.model.unconfirmed, self.model.names, self._facts, id="calls")
        yield Passage(id="about")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        for index, home in enumerate(self._homes):
            # At once, so that a screen of the home that is made meanwhile finds all that was told.
            home.desk.ledger_changed.subscribe(self, partial(self._ledger_changed, index), immediate=True)
        self.set_interval(1.0, self._tick)
        self._table.styles.height = len(self._homes) + 1
        self._table.focus()
        self._paint()

    @property
    def _table(self) -> HomeTable:
        return self.query_one(HomeTable)

    @property
    def _calls(self) -> FleetTable:
        return self.query_one(FleetTable)

    @property
    def chosen(self) -> int:
        """The home under the cursor, or that of the call under it."""
        row = self._row
        return self._table.cursor if row is None else row.home

    @property
    def _row(self) -> Unconfirmed | None:
        """The call under the cursor; None where that is on a home."""
        rows, at = self.model.unconfirmed, self._calls.cursor
        return rows.at(at) if self._on_calls and at < len(rows) else None

    # What happens outside

    def _ledger_changed(self, home: int, change: LedgerChange) -> None:
        self._tell(home, self.model.apply(home, change))
        if change.calls:
            self._changed_at = change.at
        if not self._due:
            self._due = True
            self.call_later(self._paint)

    def _tick(self) -> None:
        for home, news in self.model.tick():
            self._tell(home, news)
        self._paint()

    def _tell(self, home: int, news: News) -> None:
        for toast in toasts(news):
            text = f"{self.model.names[home]}: {toast.text}"
            self.notify(text, severity=toast.severity, timeout=toast.seconds, markup=False)

    # Painting: everything below draws only what differs

    def on_resize(self) -> None:
        # The classes for the new size are in place only after the next refresh.
        self.call_after_refresh(self._paint)

    def on_screen_resume(self) -> None:
        if self._dirty:
            self._paint()

    def _paint(self) -> None:
        self._due, self._dirty = False, not self.is_current
        if self._dirty:
            return
        model = self.model
        self._table.say(count=str(len(self._homes)), empty="")
        self._table.rows_changed()
        self._calls.rows_changed()
        self._calls.say(count=count_text(len(model.unconfirmed)), empty=words.empty_text(model))
        state, text = words.health(model)
        clock = "" if self._changed_at is None else clock_text(self._changed_at, self._now(), self._homes[0].desk.zone)
        self.query_one(TopLine).show(words.totals(model), state=state, text=text, clock=clock)
        self.query_one(Notice).tell(f"Filter: {self._line}" if self._line else "")
        self._paint_about()

    def _paint_about(self) -> None:
        home = self.chosen
        self._table.select(home)
        self._say("about", words.about(self.model, home, self._homes[home].ledger, self._homes[home].folder))

    def _say(self, name: str, text: str) -> None:
        if self._texts.get(name) != text:
            self._texts[name] = text
            part = self.query_one(f"#{name}", Static)
            part.update(text)
            part.set_class(bool(text), "-open")

    def _now(self) -> float:
        return self._homes[0].desk.clock()

    # Choosing

    @on(LineList.Moved)
    def _moved(self) -> None:
        self._paint_about()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, LineList):
            self._on_calls = isinstance(event.widget, FleetTable)
            self._paint_about()

    @on(LineList.Opened)
    def _opened(self) -> None:
        # By what is in use and not by which list heard the key, for the same reason as in `_focus_list`.
        if not self._on_calls:
            self._open_home(self._table.cursor)
        elif (row := self._row) is not None:
            home, name_of = self._homes[row.home], self._facts[row.home].name_of
            self.app.push_screen(CallDetailsScreen(home.desk, home.calls, name_of, row.call.id))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing now are not offered; while somebody types, none of ours is."""
        if self.is_mounted and self.query_one(PromptBar).is_open and action in _OWN_ACTIONS:
            return False
        return action != "clear" or bool(self._line)

    def action_pane(self) -> None:
        self._focus_list(calls=not self._on_calls)

    def _focus_list(self, *, calls: bool) -> None:
        # What is in use and not what has the focus: that follows a moment later, and keys may come faster.
        self._on_calls = calls
        (self._calls if calls else self._table).focus()
        self._paint_about()

    def action_clear(self) -> None:
        self._line = ""
        self._show(HomesFilter())

    def action_filter(self) -> None:
        hint = "  ".join(f"{name}:" for name in (HOME, *TERMS)) + "  and any text"
        self.query_one(PromptBar).ask("filter", "Filter", self._line, hint, self._complete)

    def _complete(self, line: str) -> str | None:
        tools = {tool for home in self._homes for tool in home.calls.tools}
        return complete(line, tools=tools, sessions=self._sessions(), more={HOME: self.model.names})

    def _sessions(self) -> dict[str, str]:
        return {id: home.desk.titles.get(id, "") for home in self._homes for id in home.calls.sessions}

    def filter_by(self, line: str) -> None:
        """Narrow the lower list by a filter line. Raises FilterError."""
        wanted = parse_homes_filter(
            line,
            names=self.model.names,
            now=self._now(),
            zone=self._homes[0].desk.zone,
            sessions=self._sessions(),
        )
        self._line = " ".join(line.split())
        self._show(wanted)

    def _show(self, wanted: HomesFilter) -> None:
        self.model.show(wanted)
        self._calls.reset()
        self.refresh_bindings()
        self._paint()

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        try:
            self.filter_by(event.value)
        except FilterError as error:
            event.bar.complain(str(error))
            return
        event.bar.close()
        self._focus_list(calls=bool(self._line))

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self._focus_list(calls=self._on_calls)

    # Command palette

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        yield from palette.filters(self.filter_by)
        yield Command("Show everything", "Drop the filter", self.action_clear)
        yield Command("Filter…", "Type a filter", self.action_filter)
