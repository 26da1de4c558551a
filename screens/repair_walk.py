"""The repair, step by step: safety, findings, the exact change, writing, proof. Left before, nothing is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Static

from ledger_tui.routing.live import SurveyChange
from ledger_tui.routing.repair.apply import Applied
from ledger_tui.routing.repair.holders import FAIL, OK, SafetyCheck
from ledger_tui.routing.repair.plan import Plan
from ledger_tui.routing.repair.undo import Undone
from widgets.finding_list import FindingList
from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.look import clock_text
from widgets.paragraphs import Paragraph, Paragraphs
from widgets.prompt_bar import PromptBar
from widgets.step_line import StepLine

from . import repair_words as words
from .donors import DonorsScreen
from .feeds import Desk
from .repair_model import ACCEPT, CHOSEN, DORMANT, END, SKIP, Finding, RepairModel
from .repair_run import Refusal, RepairRun, by_whom, who

STEPS = ("Safety", "Findings", "Change", "Write", "Proof")
SAFETY, FINDINGS, CHANGE, WRITE, PROOF = range(5)
_PANES = ("safety", "findings", "change", "write", "proof")

TELL_S = 0.1
"""How often a running repair says how far it is."""

REPAIR, STOPPED, UNDO = "repair", "stopped", "undo"
"""Words to be typed. A key pressed by mistake must not be enough."""


class RepairWalkScreen(Screen[None]):
    """Opened over the Lineage or the Repair screen."""

    CSS_PATH = "repair_walk.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (110, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next", "Next", id="walk.next", tooltip="On to the next step"),
        Binding("b", "back", "Back", id="walk.back", tooltip="Back to the step before"),
        Binding("c", "check", "Check again", id="walk.check", tooltip="Ask again whether anybody holds the store"),
        Binding("a", f"decide('{ACCEPT}')", "Accept", id="walk.accept", tooltip="Take this session back"),
        Binding("s", f"decide('{SKIP}')", "Skip", id="walk.skip", tooltip="Leave this session as it is"),
        Binding("d", "donors", "Donors", id="walk.donors", tooltip="Compare from whom it may go on, and choose"),
        Binding("u", "undo", "Undo", id="walk.undo", tooltip="Take the repair back"),
        Binding(
            "q,backspace,escape", "leave", "Leave", key_display="q", id="walk.leave", tooltip="Back to where you were"
        ),
    ]

    def __init__(self, desk: Desk, only: Collection[str] | None = None) -> None:
        """`only`: the lost rows that this is about; None for all."""
        super().__init__()
        self._desk = desk
        self.model = RepairModel(only)
        self._run = RepairRun(desk)
        self.step = SAFETY
        self._checks: tuple[SafetyCheck, ...] = ()
        self._stopped_by: str | None = None
        self._outcome: Applied | Undone | Refusal | None = None
        self._done: Applied | None = None
        self._busy = False
        self._notice = ""
        self._shown_plan: Plan | None = None

    # Composition

    def compose(self) -> ComposeResult:
        yield StepLine(f"Repair {self._desk.label}".strip(), STEPS, id="steps")
        yield Static("", id="notice", markup=False)
        with ContentSwitcher(initial=_PANES[SAFETY], id="panes"):
            yield Paragraphs(id="safety")
            yield FindingList(self.model.rows, partial(words.finding_cells, self.model), id="findings")
            yield Paragraphs(id="change")
            yield Paragraphs(id="write")
            yield Paragraphs(id="proof")
        yield Paragraphs(id="evidence")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._desk.lineage_changed.subscribe(self, self._survey_changed)
        if self._desk.lineage.latest is not None:
            self.model.take(self._desk.lineage.latest)
        self.set_interval(TELL_S, self._tell)
        self._go(SAFETY)
        self._check()

    def on_screen_resume(self) -> None:
        self._desk.lineage.look(self)

    def on_screen_suspend(self) -> None:
        self._desk.lineage.leave(self)

    def on_unmount(self) -> None:
        self._desk.lineage.leave(self)

    # What happens outside

    def _survey_changed(self, change: SurveyChange) -> None:
        if not change.fresh or change.survey is None or change.survey is self.model.survey or self._past_writing:
            return
        again = self.model.survey is not None
        self.model.take(change.survey)
        if again and self.step == CHANGE:
            self._notice = "The store was written to: this is the change as it would be now"
            self._plan()
        self._paint()

    @property
    def _past_writing(self) -> bool:
        return self._busy or self._done is not None

    # Painting

    def _paint(self) -> None:
        self.query_one(StepLine).show(self.step)
        notice = self.query_one("#notice", Static)
        several = self.step == FINDINGS and len(self.model.rows) > 1
        text = self._notice or (words.finding_totals(self.model) if several else "")
        notice.update(text)
        notice.set_class(bool(text), "-open")
        notice.set_class(bool(self._notice), "-wrong")
        self.query_one("#safety", Paragraphs).show(words.checks(self._checks, vouched=self._stopped_by is not None)
            if self._checks else [Paragraph("asking…", "quiet")])  # fmt: skip
        self._paint_findings()
        self._paint_change()
        self._paint_outcome()
        self.refresh_bindings()

    def _paint_findings(self) -> None:
        table = self.query_one(FindingList)
        table.rows_changed()
        table.say(count="", empty=words.findings_empty(self.model))
        one = self._finding
        evidence = self.query_one("#evidence", Paragraphs)
        evidence.display = self.step == FINDINGS
        evidence.show(words.evidence(self.model, one, self._time) if one else [])

    def _paint_change(self) -> None:
        """A plan of thousands of rows is many lines: they are made once."""
        plan = self.model.plan
        if plan is None or plan is not self._shown_plan:
            self._shown_plan = plan
            self.query_one("#change", Paragraphs).show(words.change(self.model, plan, self._time))

    def _paint_outcome(self) -> None:
        proof, outcome = self.query_one("#proof", Paragraphs), self._outcome
        if isinstance(outcome, Refusal):
            self.query_one("#write", Paragraphs).show(
                words.refused(outcome.reason, outcome.remedy, unsure=outcome.unsure)
            )
        elif isinstance(outcome, Applied):
            proof.show(words.proof(self.model, outcome))
        elif isinstance(outcome, Undone):
            proof.show(words.undone(outcome))

    def _tell(self) -> None:
        if self._busy:
            lines = words.progress(self._run.step, undoing=self._done is not None)
            self.query_one("#write", Paragraphs).show(lines)

    def _time(self, at: float | None) -> str:
        return clock_text(at, self._desk.clock(), self._desk.zone)

    @property
    def _finding(self) -> Finding | None:
        rows, cursor = self.model.rows, self.query_one(FindingList).cursor
        return rows.at(cursor) if cursor < len(rows) else None

    # Steps

    def _go(self, step: int) -> None:
        self.step = step
        self.query_one("#panes", ContentSwitcher).current = _PANES[step]
        self._paint()
        self.query_one(f"#{_PANES[step]}").focus()

    def action_next(self) -> None:
        if self.step == FINDINGS:
            self._plan()
        if self.step == CHANGE:
            self._ask_to_write()
        elif self.step < CHANGE:
            self._go(self.step + 1)

    def action_back(self) -> None:
        self._notice = ""
        self._outcome = None
        self._go(CHANGE if self.step == WRITE else max(SAFETY, self.step - 1))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Each step offers its own keys; while it writes, none."""
        if not self.is_mounted or action not in _STEPS_OF:
            return True
        if self._busy or self.query_one(PromptBar).is_open:
            return False
        if action == "undo":
            return self.step == PROOF and isinstance(self._outcome, Applied)
        if action == "back" and self._done is not None:
            return False
        if action == "donors" and self._finding is not None and self._finding.evidence == DORMANT:
            return False
        return self.step in _STEPS_OF[action]

    def action_leave(self) -> None:
        if self._busy:
            self.notify("It is being written, and ends by itself in a moment", markup=False)
            return
        if self._done is None:
            self.app.notify("Nothing was changed", markup=False)
        self.dismiss()

    # Safety

    def action_check(self) -> None:
        self._stopped_by = None
        self._checks = ()
        self._paint()
        self._check()

    @work(group="checks", exclusive=True, exit_on_error=False)
    async def _check(self) -> None:
        self._checks = tuple(await self._run.checks())
        self._paint()

    # Findings

    @on(LineList.Moved, "#findings")
    def _moved(self) -> None:
        self._paint_findings()
        self.refresh_bindings()

    @on(LineList.Opened, "#findings")
    def _opened(self) -> None:
        if self.check_action("donors", ()):
            self.action_donors()

    def action_decide(self, decision: str) -> None:
        one = self._finding
        if one is None:
            return
        if decision == ACCEPT and one.evidence == DORMANT:
            hint = f"Type {END}, and after it why if you like: both go into the journal. An empty line closes."
            self._ask(END, "Is its talk over?", hint)
            return
        if decision == ACCEPT and one.donor_id is None and one.decision != SKIP:
            self.action_donors()
            return
        self.model.decide(one.orphan_id, decision)
        self._paint()

    @work(group="donors", exclusive=True, exit_on_error=False)
    async def action_donors(self) -> None:
        one, survey = self._finding, self.model.survey
        if one is None or survey is None:
            return

        def chosen(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                donor_id, reason = answer
                self.model.choose(one.orphan_id, donor_id, by_whom(reason))
                self._paint()

        named = one.donor_id if one.decision != CHOSEN else None
        donors = await asyncio.to_thread(self.model.donors, one.orphan_id)
        self.app.push_screen(DonorsScreen(self._desk, self.model, one.orphan_id, donors, named), chosen)

    # The change

    @work(group="plan", exclusive=True, exit_on_error=False)
    async def _plan(self) -> None:
        survey = self.model.survey
        if survey is None:
            return
        answer = await self._run.plan(survey, self.model)
        if isinstance(answer, Refusal):
            self._notice = f"{answer.reason} {answer.remedy}".strip()
        else:
            self.model.plan = answer
        self._paint()

    def _ask_to_write(self) -> None:
        plan = self.model.plan
        if plan is None or plan.empty:
            self.notify("There is nothing to write", markup=False)
            return
        failed = [one for one in self._checks if one.state == FAIL]
        if failed:
            self._outcome = Refusal(f"{failed[0].text} (check: {failed[0].name})", failed[0].remedy)
            self._go(WRITE)
            return
        if self._stopped_by is None and any(one.state != OK for one in self._checks):
            hint = f"Not everything can be seen. Type {STOPPED} if all of Hermes is stopped. An empty line closes."
            self._ask(STOPPED, "All stopped?", hint)
            return
        hint = f"Type {REPAIR} to write this change; a copy of the store is made first. An empty line closes."
        self._ask(REPAIR, "Write it?", hint)

    def _ask(self, word: str, question: str, hint: str) -> None:
        self.query_one(PromptBar).ask(word, question, "", hint)
        self.refresh_bindings()

    # Writing

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        word, _, reason = event.value.strip().partition(" ")
        word = word.lower()
        if word and (word != event.purpose or (reason and word != END)):
            event.bar.complain(f"That is not the word: {event.purpose}. An empty line closes.")
            return
        event.bar.close()
        self.query_one(f"#{_PANES[self.step]}").focus()
        if word == STOPPED:
            self._stopped_by = f"{who()}, who typed it in the app"
            self._ask_to_write()
        elif word == REPAIR:
            self._write()
        elif word == UNDO:
            self._undo()
        elif word == END and self._finding is not None:
            self.model.end(self._finding.orphan_id, by_whom(reason))
        self._paint()

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self.query_one(f"#{_PANES[self.step]}").focus()
        self.refresh_bindings()

    @work(group="write", exit_on_error=False)
    async def _write(self) -> None:
        plan = self.model.plan
        if plan is None or self._busy:
            return
        self._begin()
        try:
            outcome = await self._run.repair(plan, stopped_by=self._stopped_by, chosen_by=self.model.who_chose)
        finally:
            self._busy = False
        self._outcome = outcome
        if isinstance(outcome, Applied):
            self._done = outcome
        self._go(PROOF if isinstance(outcome, Applied) else WRITE)

    def _begin(self) -> None:
        self._busy, self._outcome, self._notice = True, None, ""
        self._run.step = None
        self._go(WRITE)
        self._tell()

    def action_undo(self) -> None:
        hint = f"Type {UNDO} to put every cell back as it was. An empty line closes."
        self._ask(UNDO, "Take it back?", hint)

    @work(group="write", exit_on_error=False)
    async def _undo(self) -> None:
        if self._done is None or self._busy:
            return
        self._begin()
        try:
            outcome = await self._run.undo(self._done.repair_id, stopped_by=self._stopped_by)
        finally:
            self._busy = False
        self._outcome = outcome
        self._go(PROOF if isinstance(outcome, Undone) else WRITE)

    # Help

    def help_notes(self) -> Iterable[str]:
        return words.help_notes()


_STEPS_OF = {
    "next": {SAFETY, FINDINGS, CHANGE},
    "back": {FINDINGS, CHANGE, WRITE},
    "check": {SAFETY},
    "decide": {FINDINGS},
    "donors": {FINDINGS},
    "undo": {PROOF},
}
"""Keys and the steps in which they do something."""
