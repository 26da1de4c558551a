"""The Posture screen: the score, the arithmetic that leads to it line by line, and what was found under each id."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Digits, Static

from agent_ledger.engine.severity import SEVERITY_WEIGHT
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.ledger import LedgerChange
from widgets.asi_list import ALL, AsiList, AsiRow
from widgets.finding_table import FindingTable
from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.look import clock_text
from widgets.passage import Notice
from widgets.prompt_bar import PromptBar
from widgets.score_plot import ScorePlot
from widgets.severity_sums import SeveritySums
from widgets.top_line import TopLine

from . import posture_words as words
from .commands import Command
from .feeds import Desk
from .finding_terms import TERMS, FindingFilter, complete_finding_terms, parse_finding_filter
from .posture_model import EVERYTHING, PostureModel
from .record_screen import RecordScreen

SLICE = 20
"""Rows scored between two looks at the clock."""

TURN_S = 0.004
"""How long rows are scored in one go, after which keys and frames have their turn."""

PROGRESS_S = 0.3
"""How often the screen shows how far a long reading has come."""


class PostureScreen(RecordScreen):
    """How risky the recorded activity looks."""

    CSS_PATH = "posture.tcss"
    OWN_ACTIONS = frozenset({"filter", "pane", "ids", "clear", "export"})
    TITLE = "Posture"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (120, "-wide"), (150, "-huge")]  # noqa: RUF012 - one per instance for Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "filter", "Filter", key_display="/", id="posture.filter", tooltip="Narrow by id, rule, session…"
        ),
        Binding("tab,right,l", "pane", "Pane", key_display="tab", id="posture.next", tooltip="Ids or findings"),
        Binding("shift+tab,left,h", "pane", "Back", show=False, id="posture.previous", tooltip="The same, backwards"),
        Binding("s", "ids", "Ids", id="posture.ids", tooltip="Go to the ids of the list, or hide them"),
        Binding("x", "clear", "Clear", id="posture.clear", tooltip="Drop filter and id: show every finding"),
        Binding(
            "e", "export", "Export", id="posture.export", tooltip="Write the findings in view to a CSV or JSON file"
        ),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = PostureModel()
        self._line = ""
        self._typed = EVERYTHING
        self._asi = ALL
        self._trouble = ""

    # Composition

    def compose(self) -> ComposeResult:
        yield TopLine(f"Posture {self._desk.label}".strip(), id="top")
        yield Notice(id="notice")
        with Horizontal(id="head"):
            with Vertical(id="score"):
                yield Digits("", id="digits")
                yield Static("", id="caption", markup=False)
            yield SeveritySums(id="sums")
            yield ScorePlot(id="plot")
        yield Static("", id="brief", markup=False)
        with Horizontal(id="body"):
            yield AsiList((ALL, *self.model.ids), self._asi_row, id="ids")
            yield FindingTable(self.model, lambda one: self._clock_text(one.at), self._name_of, id="findings")
        yield Static("", id="evidence", markup=False)
        yield PromptBar(id="prompt")
        yield Static("", id="limits", markup=False)
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._follow_ledger()
        self.set_interval(PROGRESS_S, self._show_progress)
        self.set_interval(1.0, self._paint)
        self._findings.focus()
        self._score()
        self._paint()

    @property
    def _findings(self) -> FindingTable:
        return self.query_one(FindingTable)

    @property
    def _ids(self) -> AsiList:
        return self.query_one(AsiList)

    # What happens outside

    def _ledger_changed(self, change: LedgerChange) -> None:
        if change.reset or self._trouble:
            self._score()
        elif not self.model.changed(change.calls) and self.model.scanned:
            self._learn()
        super()._ledger_changed(change)

    @work(group="scoring", exclusive=True, exit_on_error=False)
    async def _score(self) -> None:
        """Score every recorded row from the start. Whoever uses the app meanwhile does not wait for it."""
        model, rows = self.model, self._desk.rows
        model.restart()
        self._trouble = ""
        try:
            await rows.start()
            model.posture.join(await rows.rotations())
            while page := await rows.page(model.last_id):
                until = self._desk.mono() + TURN_S
                for start in range(0, len(page), SLICE):
                    model.feed(page[start : start + SLICE])
                    if self._desk.mono() >= until:
                        await asyncio.sleep(0)
                        until = self._desk.mono() + TURN_S
        except (SourceError, sqlite3.Error) as error:
            if not (isinstance(error, SourceError) and error.state == "missing"):
                # Read in part is not scored: the next change of the ledger, or of its health, starts over.
                self._trouble = str(error)
                self._paint()
                return
        model.finish()
        self._paint()

    @work(group="learning", exclusive=True, exit_on_error=False)
    async def _learn(self) -> None:
        """A session began: whether an older conversation goes on in it, is known to the ledger."""
        try:
            in_time = self.model.posture.join(await self._desk.rows.rotations())
        except (SourceError, sqlite3.Error):
            in_time = True  # The next look at the ledger tells what is wrong with it.
        if not self.model.scanned:
            return
        if in_time:
            self.model.finish()
            self._paint()
        else:
            self._score()

    def _show_progress(self) -> None:
        if not self.model.scanned:
            self.model.settle()
            self._paint()

    # Painting

    def _draw(self) -> None:
        model = self.model
        self._findings.rows_changed()
        self._findings.say(count="", empty=words.empty_text(model))
        self._ids.repaint_lines()
        self._paint_head()
        self._paint_plot()
        told = words.notice(model, self._calls, self._trouble, self._line)
        self.query_one(Notice).tell(told, wrong=bool(self._trouble) or self._calls.health.is_wrong)
        self._say("limits", words.SHORT_LIMITS if self.has_class("-short") else words.LIMITS_IN_SIGHT)
        self._paint_evidence()

    def _paint_head(self) -> None:
        model = self.model
        self._paint_top(words.totals(model))
        score = "" if model.score is None else str(model.score)
        if self._texts.get("digits") != score:
            self._texts["digits"] = score
            self.query_one(Digits).update(score)
            self.query_one(Digits).display = self.query_one(SeveritySums).display = bool(score)
        self._say("caption", words.caption(model))
        self._say("brief", words.brief(model))
        sums = [(severity, model.severities[severity].findings, weight) for severity, weight in SEVERITY_WEIGHT.items()]
        self.query_one(SeveritySums).show(sums, model.score)

    def _paint_plot(self) -> None:
        model, desk = self.model, self._desk
        plot = self.query_one(ScorePlot)
        plot.display = bool(model.times)
        if model.times:
            first, last = model.times[0], max(model.times[-1], desk.clock())
            start = first - (last - first) / 20
            labels = (clock_text(first, desk.clock(), desk.zone), "now")
            plot.show(model.times, model.scores, (start, last), labels)

    def _paint_evidence(self) -> None:
        index = self._findings.cursor
        step = self.model.at(index) if index < len(self.model) else None
        told = words.about_id(self.model.wanted.asi) if step is None else words.evidence(step.finding, self._name_of)
        self._say("evidence", told)

    def _asi_row(self, key: str) -> AsiRow:
        model = self.model
        found = model.all if key == ALL else model.ids[key]
        return AsiRow(key, words.asi_title(key), found.findings, found.points, words.is_observable(key))

    # Choosing

    @on(LineList.Moved, "#ids")
    def _id_chosen(self, event: LineList.Moved) -> None:
        self._asi = str(event.key)
        self._view_changed()

    @on(LineList.Moved, "#findings")
    def _finding_chosen(self) -> None:
        self._paint_evidence()

    @on(LineList.Opened, "#ids")
    def _id_entered(self) -> None:
        self.remove_class("-ids")
        self._findings.focus()
        self._paint()

    @on(LineList.Opened, "#findings")
    def _opened(self) -> None:
        index = self._findings.cursor
        if index < len(self.model):
            self._open_call(self.model.at(index).finding.ledger_id)

    def _view_changed(self) -> None:
        asi = self._typed.asi if self._typed.asi is not None else self._asi or None
        self.model.show(replace(self._typed, asi=asi))
        self._findings.reset()
        self.refresh_bindings()
        self._paint()

    def filter_by(self, line: str) -> None:
        """Narrow the view by a filter line. Raises FilterError."""
        sessions = {key: self._name_of(key) for key in self.model.sessions}
        self._typed = parse_finding_filter(line, now=self._desk.clock(), zone=self._desk.zone, sessions=sessions)
        self._line = " ".join(line.split())
        if self._typed.asi is not None:
            self._asi = self._typed.asi
            self._ids.select(self._asi)
        self._view_changed()

    # Keys

    def _is_narrowed(self) -> bool:
        return bool(self._line) or self._asi != ALL

    @property
    def _list_in_use(self) -> LineList:
        return self._findings

    def action_pane(self) -> None:
        """To the ids and back, where both are in view."""
        if self._ids.display and not self._ids.has_focus:
            self._ids.focus()
        else:
            self._findings.focus()

    def action_ids(self) -> None:
        ids = self._ids
        if self.has_class("-narrow"):
            self.toggle_class("-ids")
        elif ids.has_focus:
            self.add_class("-no-ids")
        else:
            self.remove_class("-no-ids")
        (ids if ids.display and not ids.has_focus else self._findings).focus()

    def action_clear(self) -> None:
        self._line, self._typed, self._asi = "", FindingFilter(), ALL
        self._ids.select(ALL)
        self._view_changed()

    def action_filter(self) -> None:
        hint = "  ".join(f"{name}:" for name in TERMS) + "  and any text"
        self.query_one(PromptBar).ask("filter", "Filter", self._line, hint, self._complete)

    def _complete(self, line: str) -> str | None:
        model = self.model
        return complete_finding_terms(line, rules=model.rules, tools=model.tools, sessions=model.sessions - {""})

    def action_export(self) -> None:
        self._ask_export("posture")

    def _take(self, purpose: str, line: str) -> None:
        if purpose == "filter":
            self.filter_by(line)
        else:
            self._export(line, self.model.json(), "findings")

    # Help and command palette

    def help_notes(self) -> Iterable[str]:
        """The whole of what a score does not say."""
        return words.help_notes()

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        for asi, found in self.model.ids.items():
            if found.findings:
                title = f"Show only: {asi} {words.asi_title(asi)}"
                yield Command(title, f"Filter by asi:{asi}", partial(self.filter_by, f"asi:{asi}"))
        for rule in sorted(self.model.rules):
            yield Command(f"Rule: {rule}", f"Filter by rule:{rule}", partial(self.filter_by, f"rule:{rule}"))
        yield Command("Show every finding", "Drop filter and id", self.action_clear)
        yield Command("Filter…", "Type a filter", self.action_filter)
        yield Command("Export the findings in view…", "To a CSV or JSON file", self.action_export)
        for key in sorted(self.model.sessions - {""})[:200]:
            yield Command(
                f"Session: {self._name_of(key)}", f"Findings of {key}", partial(self.filter_by, f'"session:{key}"')
            )
