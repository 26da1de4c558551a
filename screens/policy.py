"""The Policy screen: modes, rules with how often they held, what was refused or noted, and a field to try a command."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Static

from widgets.key_hints import KeyHints
from widgets.line_list import LineList
from widgets.passage import Notice, Passage
from widgets.policy_tables import RefusalTable, RuleTable
from widgets.prompt_bar import PromptBar
from widgets.top_line import TopLine

from . import policy_words as words
from .commands import Command
from .feeds import Desk
from .policy_model import PolicyModel, Trial
from .record_screen import RecordScreen

LOOK_S = 1.0
"""How often the policies' files are looked at; so does the plugin."""


class PolicyScreen(RecordScreen):
    """What is refused, what would be, and why."""

    CSS_PATH = "policy.tcss"
    OWN_ACTIONS = frozenset({"try", "pane", "clear", "export"})
    TITLE = "Policy"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - one per instance for Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - one per instance for Textual

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "try", "Try", id="policy.try", tooltip="Type a command: what do the rules say? Nothing runs"),
        Binding("tab,right,l", "pane", "Pane", key_display="tab", id="policy.next", tooltip="Rules or decisions"),
        Binding("shift+tab,left,h", "pane", "Back", show=False, id="policy.previous", tooltip="The same, backwards"),
        Binding("x", "clear", "Clear", id="policy.clear", tooltip="Forget what was tried; show every decision"),
        Binding("e", "export", "Export", id="policy.export", tooltip="Write the decisions in view to a file"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.model = PolicyModel(shipped=bool(desk.shipped))
        self._command = ""
        self._trial = ""

    # Composition

    def compose(self) -> ComposeResult:
        yield TopLine(f"Policy {self._desk.label}".strip(), id="top")
        yield Notice(id="notice")
        yield Passage(id="modes")
        with Container(id="body"):
            yield RuleTable(self.model.rules, id="rules")
            yield RefusalTable(self.model.view, lambda one: self._clock_text(one.at), id="decisions")
        yield Static("", id="about", markup=False)
        yield Passage(id="trial")
        yield PromptBar(id="prompt")
        yield Static("", id="limits", markup=False)
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        self._follow_ledger()
        self._rules.add_class("-shown")
        self._rules.focus()
        if not self.model.shipped:
            self.set_interval(LOOK_S, self._look)
            self._look()
        self._follow()

    @property
    def _rules(self) -> RuleTable:
        return self.query_one(RuleTable)

    @property
    def _decisions(self) -> RefusalTable:
        return self.query_one(RefusalTable)

    # What happens outside

    @work(group="policy-files", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        """Read the files where they changed, away from the keys: a policy may hold many patterns."""
        state = await asyncio.to_thread(self._desk.policy_files.look)
        if state is not None:
            self.model.files_changed(state)
        self._paint()

    @work(group="refusals", exclusive=True, exit_on_error=False)
    async def _follow(self) -> None:
        async for change in self._desk.refusals.changes():
            self.model.decided(change)
            self._paint()

    # Painting

    def _draw(self) -> None:
        model = self.model
        self._rules.rows_changed()
        self._rules.say(count=str(len(model.rules) or ""), empty=words.rules_empty(model))
        self._decisions.rows_changed()
        self._decisions.say(count=words.decisions_count(model), empty=words.decisions_empty(model))
        self._paint_top(words.totals(model))
        health = self._calls.health
        self.query_one(Notice).tell(words.notice(model, health.text), wrong=health.is_wrong)
        self._say("modes", words.mode_lines(model))
        self.query_one("#modes").set_class(words.has_trouble(model), "-wrong")
        self._say("trial", self._trial)
        self._say("limits", words.SHORT_LIMITS if self.has_class("-short") else words.LIMITS_IN_SIGHT)
        self.query_one("#trial").set_class(bool(self._trial), "-open")
        self._paint_about()
        # What was just opened or closed takes its room with the next refresh.
        self.call_after_refresh(self._share_room)

    def _share_room(self) -> None:
        room = self.query_one("#body").size.height
        height = None if self.has_class("-short") else rules_height(room, len(self.model.rules), len(self.model.view))
        self._rules.styles.height = height

    def _paint_about(self) -> None:
        model = self.model
        rule, refusal = self._rules.cursor, self._decisions.cursor
        text = ""
        if self._decisions.has_class("-shown") and refusal < len(model.view):
            one = model.view.at(refusal)
            text = words.about_refusal(one, self._name_of(one.session_id))
        elif self._rules.has_class("-shown") and rule < len(model.rules):
            text = words.about_rule(model.rules.at(rule))
        self._say("about", text)

    # Choosing

    def _focus_pane(self, pane: LineList) -> None:
        for one in (self._rules, self._decisions):
            one.set_class(one is pane, "-shown")
        pane.focus()
        self._paint_about()

    @on(LineList.Moved)
    def _moved(self) -> None:
        self._paint_about()

    @on(LineList.Opened, "#rules")
    def _rule_opened(self) -> None:
        """The decisions of one rule."""
        self.model.choose(self.model.rules.at(self._rules.cursor))
        self._decisions.reset()
        self._focus_pane(self._decisions)
        self.refresh_bindings()
        self._paint()

    @on(LineList.Opened, "#decisions")
    def _decision_opened(self) -> None:
        index = self._decisions.cursor
        ledger_id = self.model.view.at(index).ledger_id if index < len(self.model.view) else None
        if ledger_id is not None:
            self._open_call(ledger_id)

    # Keys

    def _is_narrowed(self) -> bool:
        return bool(self._trial) or self.model.chosen is not None

    def action_pane(self) -> None:
        self._focus_pane(self._decisions if self._rules.has_class("-shown") else self._rules)

    def action_clear(self) -> None:
        self._trial = ""
        self.model.forget_tried()
        if self.model.chosen is not None:
            self.model.choose(None)
            self._decisions.reset()
        self.refresh_bindings()
        self._paint()

    def action_try(self) -> None:
        self.query_one(PromptBar).ask(
            "try", "Try", self._command, "A shell command, judged after those tried before it. Nothing runs."
        )

    def action_export(self) -> None:
        self._ask_export("policy")

    def _take(self, purpose: str, line: str) -> None:
        if purpose == "try":
            self.try_command(line)
        else:
            self._export(line, self.model.shapes(), "decisions")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without the rules of its home there is nothing to try a command by."""
        if action == "try" and self.model.shipped:
            return False
        return super().check_action(action, parameters)

    @property
    def _list_in_use(self) -> LineList:
        return self._rules if self._rules.has_class("-shown") else self._decisions

    def try_command(self, command: str) -> None:
        """Ask the rules about a command, given those that were tried before it."""
        self._command = command.strip()
        self._trial = ""
        if self._command:
            trial = self.model.try_command(self._command)
            self._trial = words.trial_text(trial) if isinstance(trial, Trial) else f"✗ {trial}"
        self.refresh_bindings()
        self._paint()

    # Help and command palette

    def help_notes(self) -> Iterable[str]:
        """What a policy cannot see, whole."""
        return words.help_notes()

    def commands(self) -> Iterable[Command]:
        """What the palette offers here."""
        if not self.model.shipped:
            yield Command("Try a command…", "What do the rules say? Nothing runs", self.action_try)
        yield Command("Show every decision", "Forget what was tried, drop the rule", self.action_clear)
        yield Command("Export the decisions in view…", "To a CSV or JSON file", self.action_export)
        for rule in self.model.rules.rows:
            yield Command(f"Rule: {rule.name}", f"Held {rule.hits} times", partial(self._jump, rule.of, rule.name))

    def _jump(self, of: str, name: str) -> None:
        self._rules.select((of, name))
        self._rule_opened()


def rules_height(room: int, rules: int, decisions: int) -> int:
    """Lines of the upper table of two that share `room` lines, each with a heading: it may take what the lower one
    leaves, and two of five where both want more."""
    upper, lower = (1 + max(rows, 1) for rows in (rules, decisions))  # An empty one says why.
    return min(upper, max(room * 2 // 5, room - lower))
