"""Rules of a tool policy, and what they make of one call."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..commands import Act, Examined, examine
from ..commands.places import normal
from ..inert import clip, inert
from ..severity import SEVERITIES
from .patterns import LONGEST_TEXT

ALLOW, BLOCK = "allow", "block"

_PATH_NAMES = ("path", "file_path", "filename", "file")


@dataclass(frozen=True, slots=True)
class Budget:
    """Most calls of a conversation and its delegates; most delegates of one call; how deep delegates may delegate."""

    calls: int | None = None
    fan_out: int | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Everything that a rule names must hold for a call; what it does not name does not matter."""

    name: str
    severity: str = "HIGH"
    """Shown with a decision where the act itself has none."""
    message: str = ""
    tools: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    at_least: str = "HIGH"
    except_targets: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    paths: tuple[str, ...] = ()
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`decision` is allow or block; `call_ids` names further calls that belong to it. Every text is inert."""

    decision: str
    rule: str = ""
    severity: str = ""
    reason: str = ""
    call_ids: tuple[int | str, ...] = ()

    @property
    def blocks(self) -> bool:
        return self.decision == BLOCK


ALLOWED = Decision(ALLOW)


@dataclass(slots=True)
class Context:
    """What is known around a call: acts that earlier calls prepared, and who reserves budgets."""

    earlier: tuple[tuple[Act, tuple[int | str, ...]], ...] = ()
    """Acts of scripts that this call runs and earlier calls made, with the ids of those calls."""
    reserve: Callable[[Rule, Mapping[str, Any]], str] | None = None
    """Takes a call out of a rule's budget: empty, or why that is spent. None where no budget is counted."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The rules in force, in order: the first that matches decides; budgets are reserved only for what may run."""

    rules: tuple[Rule, ...] = ()
    about: str = ""

    def decide(self, tool_name: str, args: Mapping[str, Any], context: Context | None = None) -> Decision:
        """What becomes of one call."""
        return self.judge(tool_name, args, examine(tool_name, args), context or Context())

    def judge(self, tool_name: str, args: Mapping[str, Any], found: Examined, context: Context) -> Decision:
        """The same for a call that was read already."""
        for rule in self.rules:
            if rule.budget is None and named(rule.tools, tool_name):
                decision = _plain(rule, tool_name, args, found, context)
                if decision is not None:
                    return decision
        if context.reserve is not None:
            for rule in self.rules:
                if rule.budget is not None and named(rule.tools, tool_name):
                    spent = context.reserve(rule, args)
                    if spent:
                        return _refused(rule, rule.severity, _said(rule, spent))
        return ALLOWED


def _refused(rule: Rule, severity: str, why: str, ids: tuple[int | str, ...] = ()) -> Decision:
    """A name, too, comes from a file that may hold anything."""
    return Decision(BLOCK, inert(rule.name), severity, inert(why), ids)


def _plain(rule: Rule, tool_name: str, args: Mapping[str, Any], found: Examined, context: Context) -> Decision | None:
    if rule.paths and not (path := _path(rule, args)):
        return None
    if (rule.contains or rule.pattern) and not any(_holds(rule, text) for text in _texts(args, found)):
        return None
    if rule.kinds:
        return _by_acts(rule, found, context)
    why = f"{tool_name} {path}" if rule.paths else f"{tool_name} matches the rule {rule.name}"
    return _refused(rule, rule.severity, clip(_said(rule, why), 600))


def _by_acts(rule: Rule, found: Examined, context: Context) -> Decision | None:
    for act in found.acts:
        if _counts(rule, act):
            return _refused(rule, act.severity, clip(_said(rule, act.text), 600))
    for act, ids in context.earlier:
        if _counts(rule, act):
            return _refused(rule, act.severity, clip(_said(rule, act.text), 600), ids)
    return None


def _counts(rule: Rule, act: Act) -> bool:
    heavy = SEVERITIES.index(act.severity) <= SEVERITIES.index(rule.at_least)
    spared = act.target and any(fnmatch.fnmatchcase(act.target, target) for target in rule.except_targets)
    return heavy and named(rule.kinds, act.kind) and not spared


def named(globs: tuple[str, ...], name: str) -> bool:
    """Is this name meant? No globs mean every name."""
    return not globs or any(glob == name or fnmatch.fnmatchcase(name, glob) for glob in globs)


def _path(rule: Rule, args: Mapping[str, Any]) -> str:
    for name in _PATH_NAMES:
        value = args.get(name)
        if isinstance(value, str):
            path = normal(value)
            if any(fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(path, f"*/{glob}") for glob in rule.paths):
                return path
    return ""


def _texts(args: Mapping[str, Any], found: Examined) -> Iterator[str]:
    """What texts and patterns are tried on: the commands in their normal form, else every text among the arguments."""
    if found.commands:
        yield from found.commands
        return
    for value in list(args.values())[:20]:
        if isinstance(value, str):
            yield from (
                value[at : at + LONGEST_TEXT] for at in range(0, min(len(value), 6 * LONGEST_TEXT), LONGEST_TEXT)
            )


def _holds(rule: Rule, text: str) -> bool:
    lowered = text.lower()
    if rule.contains and not any(one.lower() in lowered for one in rule.contains):
        return False
    return rule.pattern is None or rule.pattern.search(text[:LONGEST_TEXT]) is not None


def _said(rule: Rule, why: str) -> str:
    return f"{rule.message} ({why})" if rule.message else why
