"""What is typed on the Calls screen: the filter line, and the name of a file to export to."""

from __future__ import annotations

from textual import on, work

from agent_ledger.engine.queries import Filter
from ledger_tui.sources.guard import SourceError
from widgets.prompt_bar import PromptBar

from .calls_model import CallsModel
from .calls_words import Facts
from .export import ExportError, default_name, export_calls
from .feeds import Desk
from .filter_terms import FilterError, complete, parse_filter
from .verifying import VerifyingScreen


class TypingScreen(VerifyingScreen):
    """Has a `PromptBar`. What is typed narrows the model's view, or writes it to a file."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = CallsModel(desk.clock, desk.mono, desk.verdicts.unkept)
        self._facts = Facts(self.model, desk.zone, desk.titles)
        self._line = ""
        self._typed = Filter()

    def _view_changed(self) -> None:
        """Other rows are wanted."""
        raise NotImplementedError

    def _focus_pane(self, index: int | None = None) -> None:
        """Give the keys back to the list that had them."""
        raise NotImplementedError

    def action_filter(self) -> None:
        self.query_one(PromptBar).ask(
            "filter",
            "Filter",
            self._line,
            "tool:  state:  verdict:  session:  since:  until:  and any text",
            self._complete,
        )

    def _complete(self, line: str) -> str | None:
        return complete(line, tools=self.model.tools, sessions=self.model.sessions)

    def action_export(self) -> None:
        self.query_one(PromptBar).ask(
            "export", "Export to", default_name(self.model.now(), self._desk.zone), "A new file, .csv or .json"
        )

    @on(PromptBar.Answered)
    def _answered(self, event: PromptBar.Answered) -> None:
        if event.purpose == "export" and event.value.strip():
            self._export(event.value)
            return
        if event.purpose == "export":
            # An emptied line is the way out that needs no Escape.
            event.bar.close()
            self._focus_pane()
            return
        try:
            self.filter_by(event.value)
        except FilterError as error:
            event.bar.complain(str(error))
            return
        event.bar.close()
        self._focus_pane()

    @on(PromptBar.Dismissed)
    def _dismissed(self) -> None:
        self._focus_pane()

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
            done = await export_calls(name, self._desk.ledger, self.model)
        except (ExportError, SourceError) as error:
            bar.complain(str(error))
            return
        bar.close()
        self._focus_pane()
        self.notify(done.told("calls"), markup=False)
