"""The Posture screen's filter line: `asi:05 rule:… session:… some text`, read into a FindingFilter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo

from agent_ledger.engine.posture import IDS, Finding
from agent_ledger.engine.severity import SEVERITIES

from .filter_terms import FilterError, complete_term, find_session, listed, read_moment, split_terms

TERMS: Mapping[str, str] = {
    "asi": "05, or ASI05",
    "rule": "name of the rule, or its start",
    "session": "session id, its start, or a word of its title",
    "severity": ", ".join(word.lower() for word in SEVERITIES),
    "tool": "name of the tool",
    "since": "30m, 2h, 3d, or 2026-05-31 14:00",
    "until": "the same, as the end",
}
"""What stands before a colon, and what may follow it."""


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings. Every field narrows; None asks for nothing."""

    asi: str | None = None
    rule: str | None = None
    session_id: str | None = None
    severities: frozenset[str] | None = None
    tool_name: str | None = None
    since: float | None = None
    until: float | None = None
    text: str = ""

    def matches(self, one: Finding) -> bool:
        """Does this finding belong to what is wanted? A finding without a time lies in no span of time."""
        if self.asi is not None and one.asi != self.asi:
            return False
        if self.rule is not None and not one.rule.startswith(self.rule):
            return False
        if self.session_id is not None and (one.session_id or "") != self.session_id:
            return False
        if self.severities is not None and one.severity not in self.severities:
            return False
        if self.tool_name is not None and one.tool_name != self.tool_name:
            return False
        if self.since is not None and (one.at is None or one.at < self.since):
            return False
        if self.until is not None and (one.at is None or one.at > self.until):
            return False
        return not self.text or self.text.casefold() in f"{one.rule} {one.tool_name} {one.evidence}".casefold()


def parse_finding_filter(line: str, *, now: float, zone: tzinfo | None, sessions: Mapping[str, str]) -> FindingFilter:
    """Read a filter line. `sessions` maps the ids that have findings to titles. Raises FilterError."""
    wanted = FindingFilter()
    words: list[str] = []
    for term in split_terms(line):
        name, colon, value = term.partition(":")
        name = name.lower()
        if not colon or name not in TERMS:
            if colon and name.isalpha() and value and not value.startswith(("/", "\\")):
                raise FilterError(f"There is no filter '{name}:'; known are {listed(f'{t}:' for t in TERMS)}.")
            words.append(term)
        elif not value:
            raise FilterError(f"'{name}:' needs a value: {TERMS[name]}.")
        elif name == "since":
            wanted = replace(wanted, since=read_moment(value, name, now, zone))
        elif name == "until":
            wanted = replace(wanted, until=read_moment(value, name, now, zone))
        else:
            wanted = _with_term(wanted, name, value, sessions)
    return replace(wanted, text=" ".join(words))


def _with_term(wanted: FindingFilter, name: str, value: str, sessions: Mapping[str, str]) -> FindingFilter:
    if name == "asi":
        return replace(wanted, asi=_asi(value))
    if name == "rule":
        return replace(wanted, rule=value.lower())
    if name == "tool":
        return replace(wanted, tool_name=value)
    if name == "severity":
        return replace(wanted, severities=_severities(value))
    return replace(wanted, session_id=find_session(value, sessions))


def _asi(value: str) -> str:
    digits = value.upper().removeprefix("ASI")
    asi = f"ASI{digits.zfill(2)}"
    if asi not in IDS:
        raise FilterError(f"'{value}' is no id of the list: it runs from ASI01 to ASI10, and ASI11 is an extension.")
    return asi


def _severities(value: str) -> frozenset[str]:
    words = value.upper().split(",")
    for word in words:
        if word not in SEVERITIES:
            raise FilterError(
                f"'{word.lower()}' is no severity; a finding is {listed(map(str.lower, SEVERITIES), last='or')}."
            )
    return frozenset(words)


def complete_finding_terms(
    line: str, *, rules: Collection[str], tools: Collection[str], sessions: Collection[str]
) -> str | None:
    """The line with its last term completed, None where nothing is known to follow."""
    known = {
        "asi": IDS,
        "rule": sorted(rules),
        "session": sorted(sessions),
        "severity": [word.lower() for word in SEVERITIES],
        "tool": sorted(tools),
    }
    return complete_term(line, TERMS, known)
