"""The Policy screen's memory: what the files say, how often rules held, what was decided. No Textual."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agent_ledger.engine.commands import examine
from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.rehearsal import Rehearsal
from agent_ledger.engine.policy.rules import Decision, ToolPolicy
from agent_ledger.engine.policy.rules import Rule as ToolRule
from agent_ledger.engine.prompts import PromptPolicy
from ledger_tui.sources.decisions import Refusal, refusal_json
from ledger_tui.sources.policy_files import PolicyState, example_policy
from ledger_tui.sources.refusals import RefusalChange
from widgets.policy_tables import RuleRow

TOOLS, PROMPTS, GONE = "tools", "prompts", "before"
"""What a rule is about; GONE for one that is in no file now."""

Row = TypeVar("Row")


class Rows(Generic[Row]):
    """A list as a table takes it."""

    def __init__(self, key_of: Callable[[Row], Hashable]) -> None:
        self.rows: Sequence[Row] = ()
        self._key_of = key_of

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, index: int) -> Row:
        return self.rows[index]

    def key(self, index: int) -> Hashable:
        return self._key_of(self.rows[index])

    def index(self, key: Hashable) -> int | None:
        return next((index for index, row in enumerate(self.rows) if self._key_of(row) == key), None)


class Newest:
    """Refusals in the order of their ids, shown from the newest."""

    def __init__(self) -> None:
        self.rows: Sequence[Refusal] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, index: int) -> Refusal:
        return self.rows[-1 - index]

    def key(self, index: int) -> Hashable:
        return self.at(index).id

    def index(self, key: Any) -> int | None:
        at = bisect_left(self.rows, key, key=lambda one: one.id) if isinstance(key, int) else len(self.rows)
        return len(self.rows) - 1 - at if at < len(self.rows) and self.rows[at].id == key else None


MOST_TRIED = 50
"""Typed commands that are remembered as one conversation; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What the rules say of a command that somebody typed; nothing ran."""

    typed: tuple[str, ...]
    """The commands of this conversation as they were typed, this one last; a decision's `call_ids` count from 1."""
    decision: Decision
    commands: tuple[str, ...]
    """The commands that were found in it, in their normal form."""
    acts: tuple[str, ...]
    example: bool
    """By the shipped rules, since the home has none that can be used."""


class PolicyModel:
    """Everything that the Policy screen knows."""

    def __init__(self, *, shipped: bool = False) -> None:
        """`shipped`: its files are on another machine; what was decided there is here."""
        self.shipped = shipped
        self.state: PolicyState | None = None
        self.host_version: str | None = None
        self.rules: Rows[RuleRow] = Rows(lambda rule: (rule.of, rule.name))
        self.view = Newest()
        self.chosen: RuleRow | None = None
        self.read = False
        """Have the decisions been read at least once?"""
        self._refusals: list[Refusal] = []
        self._typed: deque[str] = deque(maxlen=MOST_TRIED)
        self._hits: Counter[str] = Counter()
        self._prompt_hits: Counter[str] = Counter()

    def files_changed(self, state: PolicyState) -> None:
        self.state = state
        self._list_rules()

    def decided(self, change: RefusalChange) -> None:
        """New decisions, or all of them."""
        self.read = True
        if change.reset:
            self._refusals = []
            self._hits = Counter(change.hits)
            self.host_version = change.host_version
        else:
            self._hits.update(str(one.rule) for one in change.refusals)
        if change.prompt_hits is not None:
            self._prompt_hits = Counter(change.prompt_hits)
        self._refusals += change.refusals
        self._list_rules()
        self.choose(self.chosen)

    def choose(self, rule: RuleRow | None) -> None:
        """Show the decisions of one rule, or of all."""
        self.chosen = rule
        if rule is None:
            self.view.rows = self._refusals
        else:
            about_tools = rule.of != PROMPTS
            self.view.rows = [one for one in self._refusals if about_tools and one.rule == rule.name]

    @property
    def decisions(self) -> int:
        """How many there are in all, whether each is known or only counted."""
        return self._hits.total()

    def try_command(self, command: str) -> Trial | PolicyError:
        """Ask the rules about a command, given those that were tried before it: the home's own rules, or the shipped
        ones where those cannot be used."""
        own = self.state.policy if self.state is not None else None
        rules = own if isinstance(own, ToolPolicy) else example_policy()
        if isinstance(rules, PolicyError):
            return rules
        self._typed.append(command)
        return tried(tuple(self._typed), rules, example=rules is not own)

    def forget_tried(self) -> None:
        """The next command that is tried begins a new conversation."""
        self._typed.clear()

    def _list_rules(self) -> None:
        policy = self.state.policy if self.state is not None else None
        prompts = self.state.prompts if self.state is not None else None
        rows: list[RuleRow] = []
        if isinstance(policy, ToolPolicy):
            rows += [self._row(TOOLS, one.name, one.severity, means(one), self._hits) for one in policy.rules]
        if isinstance(prompts, PromptPolicy):
            rows += [self._row(PROMPTS, one.name, one.severity, one.kind, self._prompt_hits) for one in prompts.rules]
        known = {(row.of, row.name) for row in rows}
        for of, hits in ((TOOLS, self._hits), (PROMPTS, self._prompt_hits)):
            rows += [
                RuleRow(
                    of if self.shipped or _built_in(name) else GONE,
                    name,
                    "",
                    _WITHOUT_FILE.get(name, self._unknown),
                    count,
                )
                for name, count in sorted(hits.items())
                if (of, name) not in known
            ]
        self.rules.rows = rows

    @property
    def _unknown(self) -> str:
        """What is said of a rule that was met in decisions only."""
        return "stands in a file there" if self.shipped else "in no policy file now"

    @staticmethod
    def _row(of: str, name: str, severity: str, meaning: str, hits: Mapping[str, int]) -> RuleRow:
        """Files of a person, too, may hold characters that no terminal should be given."""
        shown = inert(name)
        return RuleRow(of, shown, severity, inert(meaning), hits.get(shown, 0))

    def shapes(self) -> list[Mapping[str, Any]]:
        """The decisions in view as `policy report --json` has them, oldest first."""
        return [refusal_json(one) for one in self.view.rows]


_WITHOUT_FILE: Mapping[str, str] = {
    "policy-file": "the policy file cannot be used",
    "cannot-decide": "a call that could not be judged",
    "too-long": "a message too long to check",
    "unreadable-part": "a part of a message that cannot be read",
}
"""Rules that stand in no file."""


def _built_in(name: str) -> bool:
    return name in _WITHOUT_FILE


def means(rule: ToolRule) -> str:
    """What calls a rule means, in one line."""
    parts = []
    if rule.budget is not None:
        limits = (("calls", rule.budget.calls), ("delegates at once", rule.budget.fan_out), ("deep", rule.budget.depth))
        parts.append("at most " + ", ".join(f"{most} {what}" for what, most in limits if most is not None))
    for what, names in (("", rule.kinds), ("paths ", rule.paths), ("text ", rule.contains), ("tools ", rule.tools)):
        if names:
            parts.append(what + ", ".join(names))
    if rule.pattern is not None:
        parts.append(f"pattern {rule.pattern.pattern}")
    return " · ".join(parts)


def tried(typed: tuple[str, ...], policy: ToolPolicy, *, example: bool) -> Trial:
    """What `policy` says of the last of these commands for the tool `terminal`, as one conversation. Nothing runs; no
    budget of a real conversation is touched."""
    rehearsal = Rehearsal(policy)
    decisions = [
        rehearsal.judge("terminal", {"command": command}, session_id="", call_id=number)
        for number, command in enumerate(typed, start=1)
    ]
    found = examine("terminal", {"command": typed[-1]})
    acts = tuple(f"{act.kind} ({act.severity}): {act.text}" for act in found.acts)
    return Trial(typed, decisions[-1], found.commands, acts, example)
