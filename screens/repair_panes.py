"""What the walkthrough shows: its panes, painted from the model and from how writing went. Its keys are elsewhere."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from ledger_tui.routing.repair.apply import Applied
from ledger_tui.routing.repair.holders import SafetyCheck
from ledger_tui.routing.repair.undo import Undone
from ledger_tui.sources.guard import SourceError
from widgets.finding_list import FindingList
from widgets.key_hints import KeyHints
from widgets.look import clock_text
from widgets.paragraphs import Paragraph, Paragraphs
from widgets.passage import Notice
from widgets.prompt_bar import PromptBar
from widgets.step_line import StepLine

from . import repair_words as words
from .feeds import Desk
from .repair_model import Finding, RepairModel
from .repair_run import Refusal, RepairRun
from .repair_seen import Seen

STEPS = ("Safety", "Findings", "Change", "Write", "Proof")
SAFETY, FINDINGS, CHANGE, WRITE, PROOF = range(5)
PANES = ("safety", "findings", "change", "write", "proof")


class RepairPanes(Screen[None]):
    """Base of the walkthrough: one pane a step, and what is known for each."""

    def __init__(self, desk: Desk, model: RepairModel) -> None:
        super().__init__()
        self._desk, self.model = desk, model
        self._run = RepairRun(desk)
        self.step = SAFETY
        self._checks: tuple[SafetyCheck, ...] = ()
        self._stopped_by: str | None = None
        self._outcome: Applied | Undone | Refusal | None = None
        self._done: Applied | None = None
        self._busy = False
        self._notice = ""
        self._trouble: SourceError | None = None
        """Why the store cannot be read now."""
        self._seen = Seen()

    # Composition

    def compose(self) -> ComposeResult:
        yield StepLine(f"Repair {self._desk.label}".strip(), STEPS, id="steps")
        yield Notice(id="notice")
        with ContentSwitcher(initial=PANES[SAFETY], id="panes"):
            yield Paragraphs(id="safety")
            yield FindingList(self.model.rows, partial(words.finding_cells, self.model), id="findings")
            yield Paragraphs(id="change")
            yield Paragraphs(id="write")
            yield Paragraphs(id="proof")
        yield Paragraphs(id="evidence")
        yield PromptBar(id="prompt")
        yield KeyHints(id="keys")

    # Painting

    def _paint(self) -> None:
        self.query_one(StepLine).show(self.step)
        several = self.step == FINDINGS and len(self.model.rows) > 1
        trouble = str(self._trouble) if self._trouble is not None and self.model.survey is None else ""
        warning = self._notice or trouble
        text = warning or (words.finding_totals(self.model) if several else "")
        self.query_one(Notice).tell(text, wrong=bool(warning))
        self.query_one("#safety", Paragraphs).show(words.checks(self._checks, vouched=self._stopped_by is not None)
            if self._checks else [Paragraph("asking…", "quiet")])  # fmt: skip
        self._paint_findings()
        self._paint_change()
        self._paint_outcome()
        self.refresh_bindings()

    def _paint_findings(self) -> None:
        table = self.query_one(FindingList)
        table.rows_changed()
        table.say(count="", empty=words.findings_empty(self.model, self._trouble))
        one = self._finding
        evidence = self.query_one("#evidence", Paragraphs)
        evidence.display = self.step == FINDINGS
        evidence.show(words.evidence(self.model, one, self._time) if one else [])

    def _paint_change(self) -> None:
        """A plan of thousands of rows is many lines: they are made once. Only what stands on the screen was seen."""
        plan, pane = self.model.plan, self.query_one("#change", Paragraphs)
        if self.step == CHANGE and plan is not None and plan is not self._seen.plan:
            pane.show(self._seen.show(plan, words.change(self.model, plan, self._time)))
        elif self._seen.plan is None:
            pane.show(words.no_change_yet(failed=bool(self._notice)))

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
