"""The Lineage screen: sessions as a tree by parent, what does not fit among them, and what a repair would do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from ledger_tui.routing.collecting import no_collections
from ledger_tui.routing.ignored import IgnoredError
from ledger_tui.routing.live import SurveyChange
from ledger_tui.routing.survey import Survey
from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.passage import Notice, Passage
from widgets.prompt_bar import PromptBar
from widgets.session_details import SessionDetails
from widgets.session_tree import SessionTree
from widgets.top_line import TopLine, Total

from . import lineage_words as words
from .commands import Command
from .feeds import Desk
from .lineage_model import EVERYTHING, LineageModel, View, prepare
from .lineage_terms import ANOMALIES, TERMS, LineageFilter, complete_lineage_terms, parse_lineage_filter
from .lineage_tree import Facts, Key
from .record_screen import RecordScreen
from .repair_model import concerned
from .repair_walk import RepairWalkScreen
from .session_card import SessionCard
from .session_details import SessionDetailsScreen
from .sessions_looker import SessionsLooker

QUIET_S = 0.15
"""The cursor rests that long before the messages of its row are read."""

MESSAGES = 3


class LineageScreen(SessionsLooker, RecordScreen):
    """Which session goes on from which, and which lost its way."""

    CSS_PATH = "lineage.tcss"
    OWN_ACTIONS = frozenset({"filter", "anomalies", "clear", "ignore", "repair", "marked", "fold_all", "export"})
    TITLE = "Lineage"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (110, "-wide"), (150, "-huge")]  # noqa: RUF012 - one per instance for Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "repair", "Repair", id="lineage.repair", tooltip="Repair this finding, step by step"),
        Binding("n", "marked(1)", "Next", id="lineage.next", tooltip="Next session that does not fit"),
        Binding("p", "marked(-1)", "Previous", show=False, id="lineage.previous", tooltip="The one before"),
        Binding("a", "anomalies", "Anomalies", id="lineage.anomalies", tooltip="Only what does not fit, or everything"),
        Binding(
            "slash",
            "filter",
            "Filter",
            key_display="/",
            id="lineage.filter",
            tooltip="Narrow by source, profile, text…",
        ),
        Binding("x", "clear", "Clear", id="lineage.clear", tooltip="Drop the filter: show every session"),
        Binding("i", "ignore", "Set aside", id="lineage.ignore", tooltip="Set its anomalies aside, or take that back"),
        Binding(
            "z", "fold_all", "Fold all", show=False, id="lineage.fold_all", tooltip="Fold everything, or unfold it"
        ),
        Binding("e", "export", "Export", id="lineage.export", tooltip="Write the sessions in view to a file"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = LineageModel(self._clock_text)
        self._card = SessionCard(self.model, desk.lineage, self._clock_text)
        self._change: SurveyChange | None = None
        self._wanted, self._line = EVERYTHING, ""
        self._all_folded = False

    # Composition

    def compose(self) -> ComposeResult:
        yield TopLine(f"Lineage {self._desk.label}".strip(), id="top")
        yield Notice(id="notice")
        with Horizontal(id="body"):
            yield SessionTree(self.model, id="tree")
            yield SessionDetails(id="details")
        yield Static("", id="row", markup=False)
        yield Passage(id="about")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._desk.lineage_changed.subscribe(self, self._survey_changed)
        if self._desk.lineage.last is not None:
            self._survey_changed(self._desk.lineage.last)
        self.set_interval(1.0, self._paint)
        self._tree.focus()
        self._paint()

    @property
    def _tree(self) -> SessionTree:
        return self.query_one(SessionTree)

    @property
    def _list_in_use(self) -> LineList:
        return self._tree

    # What happens outside

    def _survey_changed(self, change: SurveyChange) -> None:
        self._change = change
        if change.survey is not None and change.progress is None:
            self._prepare()
        elif change.missing:
            self.model.view = None
        self._paint()

    @work(group="tree", exclusive=True, exit_on_error=False)
    async def _prepare(self, *, top: bool = False) -> None:
        """Make the lines anew, away from the keys. `top`: they are others altogether."""
        survey = self._change.survey if self._change else None
        known = self.model.view
        if known is not None and (survey is None or known.facts.survey.store is survey.store):
            survey = known.facts.survey
        if survey is None:
            return
        facts = known.facts if known else None
        view = await asyncio.to_thread(_prepared, survey, self._wanted, dict(self.model.folds), facts)
        self.model.take(view)
        if known is None and view.worst is not None:
            self._tree.begin_at(view.worst)
        elif top:
            self._tree.reset()
        self._paint()

    # Painting

    def _draw(self) -> None:
        model, change, tree = self.model, self._change, self._tree
        tree.rows_changed()
        tree.say(count=words.count(model), empty=words.empty_text(model, change))
        self._paint_top(words.totals(model.survey) if model.survey else ())
        told = words.notice(model, change, self._line, change.note if change else "")
        self.query_one(Notice).tell(told, wrong=change is not None and change.trouble is not None)
        self._paint_row()

    def _paint_top(self, totals: tuple[Total, ...]) -> None:
        """The store's health, not the ledger's."""
        top, change = self.query_one(TopLine), self._change
        if change is not None and change.trouble is not None:
            state = change.trouble.state
            top.show(totals, state=state, text=state, clock="")
        elif self.model.view is None:
            top.show((), state="missing", text="reading", clock="")
        else:
            top.show(totals, state="ok", text="live", clock="")

    def _paint_row(self) -> None:
        """What is known of the row at the cursor."""
        line = self.model.line(self._tree.cursor)
        id = line.key.id if line else None
        self._say("row", words.row_line(self.model, id) if id else "")
        self._say("about", words.about(self.model, id, ghost=bool(line and line.key.ghost)) if id else "")
        if self._card.choose(id):
            self._read_messages()
            self._card.paint(self.query_one(SessionDetails), top=True)
        else:
            self._card.paint(self.query_one(SessionDetails))

    @work(group="session", exclusive=True, exit_on_error=False)
    async def _read_messages(self) -> None:
        if self.query_one(SessionDetails).display:
            await self._card.read(MESSAGES, QUIET_S)
            self._card.paint(self.query_one(SessionDetails))

    # Choosing

    @on(LineList.Moved, "#tree")
    def _moved(self) -> None:
        self._paint_row()
        self.refresh_bindings()

    @on(LineList.Opened, "#tree")
    def _opened(self, event: LineList.Opened) -> None:
        if isinstance(event.key, Key):
            self.app.push_screen(SessionDetailsScreen(self._desk, self.model, event.key.id))

    @on(SessionTree.Folded)
    def _folded(self, event: SessionTree.Folded) -> None:
        """Left and right also walk: to the parent where nothing is left to fold, to the child where all is open."""
        tree, index = self._tree, self._tree.cursor
        line = self.model.line(index)
        if self.model.fold(index, event.fold):
            tree.rows_changed()
            self._paint_row()
        elif event.fold is True:
            parent = self.model.parent_index(index)
            if parent is not None:
                tree.go_to(self.model.key(parent))
        elif event.fold is False and line is not None and line.open:
            tree.go_to(self.model.key(index + 1))

    def filter_by(self, line: str) -> None:
        """Narrow the view by a filter line. Raises FilterError."""
        self._wanted = parse_lineage_filter(line, now=self._desk.clock(), zone=self._desk.zone)
        self._line = " ".join(line.split())
        self.refresh_bindings()
        self._prepare(top=True)

    # Keys

    def _is_narrowed(self) -> bool:
        return bool(self._line)

    def action_clear(self) -> None:
        self.filter_by("")

    def action_anomalies(self) -> None:
        only = f"only:{ANOMALIES}"
        words_ = [word for word in self._line.split() if word != only]
        self.filter_by(" ".join(words_ if only in self._line.split() else [*words_, only]))

    def action_filter(self) -> None:
        hint = "  ".join(f"{name}:" for name in TERMS) + "  and any text"
        self.query_one(PromptBar).ask("filter", "Filter", self._line, hint, self._complete)

    def _complete(self, line: str) -> str | None:
        view = self.model.view
        if view is None:
            return None
        return complete_lineage_terms(line, kinds=view.kinds, sources=view.sources, profiles=view.profiles)

    def action_marked(self, step: int) -> None:
        at = self.model.next_marked(self._tree.cursor, step)
        if at is not None:
            self._tree.go_to(self.model.key(at))

    def action_fold_all(self) -> None:
        self._all_folded = not self._all_folded
        self.model.fold_all(self._all_folded)
        self._prepare()

    def action_repair(self) -> None:
        """The walkthrough, for the finding at the cursor or, where that is sound, for all."""
        line, survey = self.model.line(self._tree.cursor), self.model.survey
        only = concerned(survey, line.key.id) if line is not None and survey is not None else None
        self.app.push_screen(RepairWalkScreen(self._desk, only or None))

    def action_ignore(self) -> None:
        line = self.model.line(self._tree.cursor)
        if line is not None:
            self._ignore(line.key.id)

    @work(group="ignore", exit_on_error=False)
    async def _ignore(self, id: str) -> None:
        """Set the anomalies of one session aside, or take that back where it has no others."""
        kinds = [one.kind for one in self.model.marks(id)]
        aside = () if kinds else self.model.set_aside(id)
        file = self._desk.lineage.ignored
        change = file.add if kinds else file.remove
        try:
            for kind in kinds or aside:
                await asyncio.to_thread(change, id, kind)
        except IgnoredError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if kinds:
            self.model.put_aside(id, kinds)
            self.notify(f"Set aside: {', '.join(kinds)}. i takes that back", markup=False)
            self._prepare()
        elif aside:
            self.notify("No longer set aside", markup=False)
            self._desk.lineage.again()

    def action_export(self) -> None:
        self._ask_export("sessions")

    def _take(self, purpose: str, line: str) -> None:
        if purpose == "filter":
            self.filter_by(line)
        else:
            self._export(line, self.model.shapes(), "sessions")

    # Help and command palette

    def help_notes(self) -> Iterable[str]:
        return words.help_notes()

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        for only in ("anomalies", "orphans", "zombies"):
            yield Command(f"Show only: {only}", f"Filter by only:{only}", partial(self.filter_by, f"only:{only}"))
        view = self.model.view
        if view is not None:
            for kind, number in view.kinds.items():
                yield Command(f"Anomaly: {kind}", f"{number} of them", partial(self.filter_by, f"kind:{kind}"))
            for source in view.sources:
                yield Command(f"Source: {source}", "Filter by it", partial(self.filter_by, f'"source:{source}"'))
        yield Command("Show every session", "Drop the filter", self.action_clear)
        yield Command("Filter…", "Type a filter", self.action_filter)
        yield Command("Fold or unfold everything", "Roots only, or all rows", self.action_fold_all)
        yield Command("Export the sessions in view…", "To a CSV or JSON file", self.action_export)


def _prepared(survey: Survey, wanted: LineageFilter, folds: Mapping[str, bool], known: Facts | None) -> View:
    with no_collections():
        return prepare(survey, wanted, folds, known)
