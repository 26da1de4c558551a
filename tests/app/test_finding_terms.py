"""The Posture screen's filter line."""

from __future__ import annotations

from datetime import UTC

import pytest

from screens.filter_terms import FilterError
from screens.finding_terms import FindingFilter, complete_finding_terms, parse_finding_filter

from .ledgers import NOW

SESSIONS = {"20260530_a": "Nightly backup", "20260531_b": ""}


def parse(line: str) -> FindingFilter:
    return parse_finding_filter(line, now=NOW, zone=UTC, sessions=SESSIONS)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", FindingFilter()),
        ("asi:05", FindingFilter(asi="ASI05")),
        ("asi:5", FindingFilter(asi="ASI05")),
        ("ASI:asi11", FindingFilter(asi="ASI11")),
        ("rule:Pipe", FindingFilter(rule="pipe")),
        ("session:20260531", FindingFilter(session_id="20260531_b")),
        ("session:backup", FindingFilter(session_id="20260530_a")),
        ("severity:high,low", FindingFilter(severities=frozenset({"HIGH", "LOW"}))),
        ("tool:terminal since:2h", FindingFilter(tool_name="terminal", since=NOW - 7200)),
        ("until:2026-05-30T11:00", FindingFilter(until=NOW - 3600)),
        ('rule:pipe "some text"', FindingFilter(rule="pipe", text="some text")),
    ],
)
def test_a_line_is_read(line: str, wanted: FindingFilter) -> None:
    assert parse(line) == wanted


@pytest.mark.parametrize("line", ["asi:12", "asi:", "severity:bad", "session:zz", "nope:1", 'a "b', "since:soon"])
def test_what_cannot_be_read_is_said(line: str) -> None:
    with pytest.raises(FilterError):
        parse(line)


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("r", "rule:"),
        ("rule:pi", "rule:pipe-to-shell"),
        ("asi:asi1", "asi:asi10"),
        ("severity:me", "severity:medium"),
        ("", None),
    ],
)
def test_completion(line: str, completed: str | None) -> None:
    assert complete_finding_terms(line, rules={"pipe-to-shell"}, tools=(), sessions=()) == completed
