"""The repair, step by step: safety, findings, the exact change, writing, proof. Left before, nothing is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import ContentSwitcher

from ledger_tui.routing.live import SurveyChange
from ledger_tui.routing.repair.apply import Applied
from ledger_tui.routing.repair.holders import FAIL, OK, SafetyCheck, worst
from ledger_tui.routing.repair.plan import Plan
from ledger_tui.routing.repair.undo import Undone
from ledger_tui.routing.survey import Survey
from widgets.line_list import LineList
from widgets.prompt_bar import PromptBar

from . import repair_words as words
from .donors import DonorsScreen
from .feeds import Desk
from .repair_model import ACCEPT, CHOSEN, DORMANT, END, SKIP, Finding, RepairModel
from .repair_panes import CHANGE, FINDINGS, PANES, PROOF, SAFETY, STEPS, WRITE, RepairPanes
from .repair_run import OTHER_STANDING, Refusal, Standing, by_whom, who
from .sessions_looker import SessionsLooker

__all__ = ["CHANGE", "FINDINGS", "PROOF", "SAFETY", "STEPS", "WRITE", "RepairWalkScreen"]

TELL_S = 0.1
"""How often a running repair says how far it is."""

WATCH_S = 2.0
"""While a word is awaited, how often it is asked whether what it is about still stands."""

REPAIR, STOPPED, UNDO = "repair", "stopped", "undo"
"""Words to be typed. A key pressed by mistake must not be enough."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the awaited word is about, as it stood when it was asked for. Nothing else is done by the answer."""

    plan: Plan | None = None
    finding: Finding | None = None
    standing: Standing = (None, "")


class RepairWalkScreen(SessionsLooker, RepairPanes):
    """Opened over the Lineage or the Repair screen."""

    CSS_PATH = "repair_walk.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-normal"), (110, "-wide")]  # noqa: RUF012 - one per instance for Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

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
        super().__init__(desk, RepairModel(only))
        self._asked: Question | None = None
        self._donors: DonorsScreen | None = None

    def on_mount(self) -> None:
        self._desk.lineage_changed.subscribe(self, self._survey_changed)
        last = self._desk.lineage.last
        if last is not None:
            self._trouble = last.trouble
            if last.survey is not None:
                self.model.take(last.survey)
        self.set_interval(TELL_S, self._tell)
        self._go(SAFETY)
        self._check()

    # What happens outside

    def _survey_changed(self, change: SurveyChange) -> None:
        self._trouble = change.trouble
        if change.fresh and change.survey is not None and not self._past_writing:
            self._take(change.survey)
        elif change.progress is None:
            self._paint()

    def _take(self, survey: Survey) -> None:
        """Another reading of the store. What the person is being asked about may be another thing now."""
        if survey is self.model.survey:
            return
        again = self.model.survey is not None
        asked = self._asked.finding if self._asked is not None else None
        known = self.model.told(asked.orphan_id) if asked is not None else None
        self.model.take(survey)
        if asked is not None and self.model.told(asked.orphan_id) != known:
            self._interrupt(words.OTHER_FINDING)
        if self._donors is not None and again:
            self._donors.renew()
        if again and self.step == CHANGE:
            self._plan()
        self._paint()

    def _interrupt(self, sentence: str) -> None:
        """What was asked about is no longer what it was: the question is withdrawn, and the person is told why."""
        self._asked = None
        self._notice = sentence
        bar = self.query_one(PromptBar)
        if bar.is_open:
            bar.close()
            self.query_one(f"#{PANES[self.step]}").focus()
        self._paint()

    @work(group="watch", exclusive=True, exit_on_error=False)
    async def _watch(self, asked: Question) -> None:
        """Until the question is answered or withdrawn."""
        while self._asked is asked and not self._busy:
            await asyncio.sleep(WATCH_S)
            if asked.plan is not None:
                checks = tuple(await self._run.checks())
                if self._asked is asked and not self._busy and self._is_worse(checks):
                    self._checks = checks
                    self._interrupt(words.no_longer_safe(checks))
            elif self._done is not None and asked.standing[0] is not None:
                standing = await self._run.standing(self._done.repair_id)
                if self._asked is asked and not self._busy and standing != asked.standing:
                    self._interrupt(f"{OTHER_STANDING}: look at it again before you take it back")

    def _is_worse(self, checks: Sequence[SafetyCheck]) -> bool:
        """Is there anything against writing that was not there when the word was asked for?"""
        now, before = worst(checks), worst(self._checks)
        return now == FAIL or (now != OK and before == OK and self._stopped_by is None)

    @property
    def _past_writing(self) -> bool:
        return self._busy or self._done is not None

    # Steps

    def _go(self, step: int) -> None:
        self.step = step
        self.query_one("#panes", ContentSwitcher).current = PANES[step]
        self._paint()
        self.query_one(f"#{PANES[step]}").focus()

    def action_next(self) -> None:
        if self.step == FINDINGS and self.model.survey is None:
            self.notify(str(self._trouble or words.STILL_READING), markup=False)
            return
        if self.step == FINDINGS:
            self._seen.forget()
            self._notice = ""
            self._plan()
        if self.step == CHANGE:
            self._ask_to_write()
        elif self.step < CHANGE:
            self._go(self.step + 1)

    def action_back(self) -> None:
        self._notice = ""
        self._outcome = None
        self._go(CHANGE if self.step == WRITE else max(SAFETY, self.step - 1))
        if self.step == CHANGE:
            self._plan()

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
            self._ask(END, "Is its talk over?", hint, Question(finding=one))
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
            self._donors = None
            if answer is not None:
                donor_id, reason = answer
                self.model.choose(one.orphan_id, donor_id, by_whom(reason))
                self._paint()

        named = one.donor_id if one.decision != CHOSEN else None
        donors = await asyncio.to_thread(self.model.donors, one.orphan_id)
        self._donors = DonorsScreen(self._desk, self.model, one.orphan_id, donors, named)
        self.app.push_screen(self._donors, chosen)

    # The change

    @work(group="plan", exclusive=True, exit_on_error=False)
    async def _plan(self) -> None:
        survey = self.model.survey
        if survey is None:
            return
        seen = self._seen.plan
        answer = await self._run.plan(survey, self.model, seen)
        if self.step != CHANGE or self._past_writing or survey is not self.model.survey:
            return
        if isinstance(answer, Refusal):
            self._interrupt(f"{answer.reason} {answer.remedy}".strip())
            return
        self.model.plan = answer
        if seen is not None and answer is not seen:
            self._stopped_by = None  # Somebody wrote to the store: not all was stopped.
            self._paint_change()
            self._interrupt(words.other_plan(*self._seen.difference))
            self._check()
        self._paint()

    def _ask_to_write(self) -> None:
        plan = self._seen.plan
        if plan is None or plan.empty:
            self.notify("There is nothing to write", markup=False)
            return
        self._seen.agree()
        self._notice = ""
        failed = [one for one in self._checks if one.state == FAIL]
        if failed:
            self._outcome = Refusal(f"{failed[0].text} (check: {failed[0].name})", failed[0].remedy)
            self._go(WRITE)
            return
        if self._stopped_by is None and any(one.state != OK for one in self._checks):
            hint = f"Not everything can be seen. Type {STOPPED} if all of Hermes is stopped. An empty line closes."
            self._ask(STOPPED, "All stopped?", hint, Question(plan))
            return
        hint = f"Type {REPAIR} to write this change; a copy of the store is made first. An empty line closes."
        self._ask(REPAIR, "Write it?", hint, Question(plan))

    def _ask(self, word: str, title: str, hint: str, asked: Question) -> None:
        self._asked = asked
        self.query_one(PromptBar).ask(word, title, "", hint)
        self._paint()
        self._watch(asked)

    # Writing

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        asked = self._asked
        if asked is None:  # The question was withdrawn while the answer was on its way.
            return
        word, _, reason = event.value.strip().partition(" ")
        word = word.lower()
        if word and (word != event.purpose or (reason and word != END)):
            event.bar.complain(f"That is not the word: {event.purpose}. An empty line closes.")
            return
        event.bar.close()
        self._asked = None
        self.query_one(f"#{PANES[self.step]}").focus()
        if word == STOPPED:
            self._stopped_by = f"{who()}, who typed it in the app"
            self._ask_to_write()
        elif word == REPAIR:
            self._write(asked.plan)
        elif word == UNDO:
            self._undo(asked.standing)
        elif word == END and asked.finding is not None:
            self.model.end(asked.finding.orphan_id, by_whom(reason))
        self._paint()

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self._asked = None
        self.query_one(f"#{PANES[self.step]}").focus()
        self.refresh_bindings()

    @work(group="write", exit_on_error=False)
    async def _write(self, plan: Plan | None) -> None:
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
        if isinstance(outcome, Refusal) and self._desk.lineage.latest is not None:
            self._take(self._desk.lineage.latest)  # What was read while it wrote was passed over.

    def _begin(self) -> None:
        self._busy, self._outcome, self._notice = True, None, ""
        self._run.step = None
        self._go(WRITE)
        self._tell()

    @work(group="undo", exclusive=True, exit_on_error=False)
    async def action_undo(self) -> None:
        if self._done is None:
            return
        standing = await self._run.standing(self._done.repair_id)
        self._notice = ""
        hint = f"Type {UNDO} to put every cell back as it was. An empty line closes."
        self._ask(UNDO, "Take it back?", hint, Question(standing=standing))

    @work(group="write", exit_on_error=False)
    async def _undo(self, standing: Standing) -> None:
        if self._done is None or self._busy:
            return
        self._begin()
        try:
            outcome = await self._run.undo(self._done.repair_id, standing, stopped_by=self._stopped_by)
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
