"""The Repair screen: what is lost, the way into the walkthrough, and every repair that was made, with its undo."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from agent_ledger.engine.inert import inert
from ledger_tui.routing.live import SurveyChange
from ledger_tui.routing.repair.settle import Repair
from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.paragraphs import Paragraphs
from widgets.passage import Notice, Passage
from widgets.prompt_bar import PromptBar
from widgets.repair_list import RepairList
from widgets.top_line import TopLine, Total

from . import lineage_words
from . import repair_words as words
from .commands import Command
from .feeds import Desk
from .filter_terms import FilterError
from .policy_model import Rows
from .record_screen import RecordScreen
from .repair_model import RepairModel
from .repair_run import OTHER_STANDING, Refusal, RepairRun, Standing, who
from .repair_walk import UNDO, RepairWalkScreen
from .sessions_looker import SessionsLooker

LOOK_S = 2.0
"""How often the folder of repairs is looked at: a command may have made one."""

STOPPED_TOO = f"{UNDO} stopped"
"""The same as the word itself, with the statement that everything is stopped, for what cannot be seen."""


class RepairScreen(SessionsLooker, RecordScreen):
    """What can be repaired, and what was."""

    CSS_PATH = "repair.tcss"
    OWN_ACTIONS = frozenset({"walk", "undo"})
    TITLE = "Repair"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (120, "-wide")]  # noqa: RUF012 - one per instance for Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "walk", "Repair", id="repair.walk", tooltip="Go through what is lost, step by step"),
        Binding("u", "undo", "Undo", id="repair.undo", tooltip="Take back the repair at the cursor"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = RepairModel()
        self.past: Rows[Repair] = Rows(lambda one: one.repair_id)
        self._run = RepairRun(desk)
        self._change: SurveyChange | None = None
        self._told = ""
        self._asked: tuple[str, Standing] | None = None
        """The repair whose undo is being asked about, and how it stood then."""

    # Composition

    def compose(self) -> ComposeResult:
        yield TopLine(f"Repair {self._desk.label}".strip(), id="top")
        yield Notice(id="notice")
        yield Paragraphs(id="summary")
        yield RepairList(self.past, self._clock_text, id="past")
        yield Passage(id="about")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._desk.lineage_changed.subscribe(self, self._survey_changed)
        if self._desk.lineage.last is not None:
            self._survey_changed(self._desk.lineage.last)
        self.set_interval(LOOK_S, self._look)
        self._past_list.focus()
        self._look()
        self._paint()

    @property
    def _past_list(self) -> RepairList:
        return self.query_one(RepairList)

    @property
    def _list_in_use(self) -> LineList:
        return self._past_list

    # What happens outside

    def on_screen_resume(self) -> None:
        self._look()

    def _survey_changed(self, change: SurveyChange) -> None:
        self._change = change
        if change.survey is not None and change.survey is not self.model.survey:
            self.model.take(change.survey)
        self._paint()

    @work(group="past", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        if not self.is_current:
            return
        asked, bar = self._asked, self.query_one(PromptBar)
        if asked is not None and bar.is_open:
            repair_id, standing = asked
            if await self._run.standing(repair_id) != standing and self._asked is asked:
                bar.close()
                self._asked, self._told = None, f"{OTHER_STANDING}: look at it again before you take it back"
                self._past_list.focus()
        self.past.rows = await self._run.past()
        self._paint()

    # Painting

    def _draw(self) -> None:
        self.query_one("#summary", Paragraphs).show(
            words.summary(self.model, self._change.trouble if self._change else None)
        )
        self._past_list.rows_changed()
        self._past_list.say(count=str(len(self.past) or ""), empty=words.repairs_empty())
        self._paint_top(lineage_words.totals(self.model.survey) if self.model.survey else ())
        trouble = self._change.trouble if self._change else None
        progress = lineage_words.progress_text(self._change) if self.model.survey is None else ""
        told = self._told or (str(trouble) if trouble is not None and not self._change_missing else progress)
        self.query_one(Notice).tell(told, wrong=told != progress)
        self._paint_about()
        self.refresh_bindings()

    @property
    def _change_missing(self) -> bool:
        return self._change is not None and self._change.missing

    def _paint_top(self, totals: tuple[Total, ...]) -> None:
        top, change = self.query_one(TopLine), self._change
        if change is not None and change.trouble is not None:
            top.show(totals, state=change.trouble.state, text=change.trouble.state, clock="")
        elif self.model.survey is None:
            top.show((), state="missing", text="reading", clock="")
        else:
            top.show(totals, state="ok", text="live", clock="")

    def _paint_about(self) -> None:
        one = self._chosen
        self._say("about", words.about_repair(one, self._row_name, self._desk.lineage.path) if one else "")

    def _row_name(self, id: str) -> str:
        card = self.model.card(id)
        return card.name if card else inert(id)

    @property
    def _chosen(self) -> Repair | None:
        cursor = self._past_list.cursor
        return self.past.at(cursor) if cursor < len(self.past) else None

    @on(LineList.Moved, "#past")
    def _moved(self) -> None:
        self._paint_about()
        self.refresh_bindings()

    # Keys

    def _is_narrowed(self) -> bool:
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "undo" and self.is_mounted:
            one = self._chosen
            if one is None or one.state != "applied":
                return False
        return super().check_action(action, parameters)

    def action_walk(self) -> None:
        self._told = ""
        self.app.push_screen(RepairWalkScreen(self._desk))

    @work(group="undo", exclusive=True, exit_on_error=False)
    async def action_undo(self) -> None:
        one = self._chosen
        if one is None:
            return
        standing = await self._run.standing(one.repair_id)
        unseen = any(check.state == "unknown" for check in await self._run.checks())
        hint = f"Type {UNDO} to put every cell of {one.repair_id} back. An empty line closes."
        if unseen:
            hint = f"Not everything can be seen. Type {STOPPED_TOO} if all is stopped. An empty line closes."
        self._told, self._asked = "", (one.repair_id, standing)
        self.query_one(PromptBar).ask(one.repair_id, "Take it back?", "", hint)
        self.refresh_bindings()

    def _take(self, purpose: str, line: str) -> None:
        word = " ".join(line.lower().split())
        if word and word not in {UNDO, STOPPED_TOO}:
            raise FilterError(f"That is not the word: {UNDO}. An empty line closes.")
        asked, self._asked = self._asked, None
        if word and asked is not None:  # Else the question was withdrawn while the answer was on its way.
            self._undo(*asked, word == STOPPED_TOO)

    @work(group="write", exit_on_error=False)
    async def _undo(self, repair_id: str, standing: Standing, stopped: bool) -> None:
        self._told = "taking it back; this app's own readers of the store are closed meanwhile"
        self._paint()
        by = f"{who()}, who typed it in the app" if stopped else None
        done = await self._run.undo(repair_id, standing, stopped_by=by)
        if isinstance(done, Refusal):
            head = "It stopped by an error." if done.unsure else "Nothing was changed."
            self._told = f"✗ {head} {done.reason} → {done.remedy}".rstrip(" →")
        else:
            self._told = f"✓ {done.repair_id} is taken back: {done.rows} rows as before."
        self.past.rows = await self._run.past()
        self._paint()

    # Help and command palette

    def help_notes(self) -> Iterable[str]:
        return words.help_notes()

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        yield Command("Repair, step by step", "Safety, findings, the change, proof", self.action_walk)
        yield Command("Undo the repair at the cursor…", "Puts every cell back as it was", self.action_undo)
