"""The Policy screen's two tables: rules with how often each held, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ledger_tui.sources.decisions import Refusal

from .look import count_text
from .record_table import Field, Records, RecordTable, severity_style


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule: of tools or of prompts, in the file or only in what was recorded."""

    of: str
    name: str
    severity: str
    means: str
    hits: int


class RuleTable(RecordTable[RuleRow]):
    """Rules in the order of their file; moving the cursor chooses."""

    def __init__(self, rules: Records[RuleRow], *, id: str | None = None) -> None:
        fields: Sequence[Field[RuleRow]] = (
            Field("", 22, lambda rule: (rule.name, "record--name")),
            Field("HELD", 6, lambda rule: (count_text(rule.hits), _strong(rule.hits)), right=True),
            Field("OF", 7, lambda rule: (rule.of, "record--quiet"), from_width=56),
            Field("SEVERITY", 8, lambda rule: (rule.severity, severity_style(rule.severity)), from_width=90),
            Field("MEANS", 0, lambda rule: (rule.means, "")),
        )
        super().__init__("Rules", rules, fields, follow=False, id=id)


class RefusalTable(RecordTable[Refusal]):
    """Refusals, newest first."""

    def __init__(self, refusals: Records[Refusal], time_of: Callable[[Refusal], str], *, id: str | None = None) -> None:
        fields: Sequence[Field[Refusal]] = (
            Field("", 9, _done, from_width=70),
            Field("TIME", 11, lambda one: (time_of(one), "record--quiet"), right=True),
            Field("TOOL", 14, lambda one: (one.tool_name, "record--name"), from_width=100),
            Field("RULE", 18, lambda one: (one.rule, severity_style(one.severity))),
            Field("CALL", 7, _call, right=True, from_width=70),
            Field("SESSION", 16, lambda one: (one.session_id, "record--quiet"), tail=True, from_width=130),
            Field("REASON", 0, lambda one: (one.reason, "")),
        )
        super().__init__("Decisions", refusals, fields, id=id)


def _done(one: Refusal) -> tuple[str, str]:
    """Was it refused, or only noted?"""
    return ("✗ refused", "record--high") if one.mode == "enforce" else ("○ noted", "record--quiet")


def _call(one: Refusal) -> tuple[str, str]:
    return ("" if one.ledger_id is None else f"#{one.ledger_id}"), "record--quiet"


def _strong(hits: int) -> str:
    return "record--strong" if hits else "record--quiet"
