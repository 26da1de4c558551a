"""The filter line: what it means, and what is answered when it means nothing."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from agent_ledger.engine.queries import Filter
from screens.filter_terms import FilterError, complete, parse_filter

from .ledgers import NOW

SESSIONS = {"20260530_081204_9f3c1a": "Nightly backup", "20260530_114502_77b0de": "Release and minutes"}


def parse(line: str) -> Filter:
    return parse_filter(line, now=NOW, zone=UTC, sessions=SESSIONS)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", Filter()),
        ("   ", Filter()),
        ("tool:terminal", Filter(tool_name="terminal")),
        ("TOOL:terminal", Filter(tool_name="terminal")),
        ("state:ghost", Filter(states=frozenset({"ghost"}))),
        ("state:ghost,overdue", Filter(states=frozenset({"ghost", "overdue"}))),
        ("state:ghost state:error", Filter(states=frozenset({"ghost", "error"}))),
        ("status:PENDING", Filter(states=frozenset({"pending", "overdue"}))),
        ("status:GHOST_REPORTED", Filter(states=frozenset({"ghost"}))),
        ("status:CONFIRMED", Filter(states=frozenset({"confirmed", "revived"}))),
        ("status:ERROR:timeout", Filter(states=frozenset({"error"}))),
        ("since:2h", Filter(since=NOW - 7200)),
        ("since:1.5d until:30m", Filter(since=NOW - 129_600, until=NOW - 1800)),
        ('since:"2026-05-30 10:00"', Filter(since=NOW - 7200)),
        ("since:2026-05-30T10:00:00+02:00", Filter(since=NOW - 4 * 3600)),
        ("session:20260530_081204_9f3c1a", Filter(session_id="20260530_081204_9f3c1a")),
        ("session:20260530_11", Filter(session_id="20260530_114502_77b0de")),
        ("session:minutes", Filter(session_id="20260530_114502_77b0de")),
        ("nightly backup", Filter(text="nightly backup")),
        ('tool:cronjob "0 3 * * *"', Filter(tool_name="cronjob", text="0 3 * * *")),
        ("https://example.org/a", Filter(text="https://example.org/a")),
        ("it's", Filter(text="it's")),
        ("C:\\temp", Filter(text="C:\\temp")),
    ],
)
def test_what_a_line_means(line: str, wanted: Filter) -> None:
    assert parse(line) == wanted


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("state:gone", "'gone' is no state; a call is pending, overdue, ghost, confirmed, error or revived."),
        ("tool:", "'tool:' needs a value: name of the tool."),
        ("colour:red", "There is no filter 'colour:'; known are tool:, state:, verdict:, session:, since: and until:."),
        ("since:soon", "'since:soon' is no time; write 30m, 2h, 3d, or 2026-05-31 14:00."),
        ("session:nobody", "No session is called or begins with 'nobody'."),
        ("session:2026", "'2026' fits 2 sessions: type more of the id."),
        ('"open', 'A quotation mark is open: close it with ".'),
    ],
)
def test_what_means_nothing_is_answered_in_one_sentence(line: str, answer: str) -> None:
    with pytest.raises(FilterError) as error:
        parse(line)
    assert str(error.value) == answer


def test_times_are_the_persons_own() -> None:
    zone = timezone(timedelta(hours=2))
    assert parse_filter("since:2026-05-30T14:00", now=NOW, zone=zone).since == NOW


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("to", "tool:"),
        ("tool:te", "tool:terminal"),
        ("state:gh", "state:ghost"),
        ("x state:o", "x state:overdue"),
        ("session:20260530_0", "session:20260530_081204_9f3c1a"),
        ("tool:terminal", None),
        ("tool:nothing", None),
        ("tool:terminal ", None),
        ("", None),
    ],
)
def test_completion(line: str, completed: str | None) -> None:
    assert complete(line, tools={"terminal", "patch"}, sessions=SESSIONS) == completed


@pytest.mark.parametrize("line", ["tool:", "tool:tw", 'tool:"tw', '"tool:two wo', 'tool:"tw"o'])
def test_what_is_completed_to_two_words_is_one_term(line: str) -> None:
    completed = complete(line, tools={"two words"}, sessions=())
    assert completed is not None
    assert completed.startswith(line)
    assert parse(completed) == Filter(tool_name="two words")


def test_words_in_quotation_marks_are_behind_when_the_next_is_completed() -> None:
    assert complete('tool:"two words" st', tools={"two words"}, sessions=()) == 'tool:"two words" state:'
    assert complete('tool:"two words"', tools={"two words"}, sessions=()) is None


def test_what_could_not_be_typed_is_not_completed() -> None:
    assert complete("tool:quo", tools={'quo"ted'}, sessions=()) is None
