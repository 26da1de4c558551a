"""Postures of any rows, and commands of any words: sums add up, portions do not matter, short ways say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.commands import Examined, examine, quick, shell
from agent_ledger.engine.inert import inert
from agent_ledger.engine.posture import Posture, report
from agent_ledger.engine.posture.plain import is_plain, quiet_call
from agent_ledger.engine.posture.rows import RawRow
from agent_ledger.engine.posture.telegram import LIMIT, parts, units
from agent_ledger.engine.records import utc_text
from agent_ledger.engine.severity import SEVERITY_WEIGHT

from . import strategies as some
from .profiles import fuzzed

BEGIN = 1_780_000_000.0
SEVERE = ("HIGH", "CRITICAL")

_args = st.one_of(
    st.builds(lambda command: {"command": command}, some.commands),
    st.builds(lambda name, text: {"path": name, "content": text}, st.sampled_from(("run.sh", "/etc/hosts",
    "a.py")), some.commands),
    some.arguments,
)  # fmt: skip


@st.composite
def ledgers(draw: st.DrawFn) -> list[RawRow]:
    """Rows of two chats, seconds apart, each of any tool and with any arguments."""
    rows: list[RawRow] = []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        at = utc_text(BEGIN + draw(st.sampled_from((1, 20, 4000))) * number)
        status = draw(st.sampled_from(("CONFIRMED", "PENDING", "GHOST_REPORTED", "ERROR:timeout", "ERROR:error")))
        tool = draw(
            st.sampled_from(("terminal", "terminal", "write_file", "patch", "execute_code", "cronjob", "mcp__a__b"))
        )
        args = draw(st.one_of(_args.map(some.written), some.utf8_texts()))
        cut, redacted = draw(st.sampled_from((0, 0, 1))), draw(st.sampled_from((0, 0, 2)))
        session, turn = draw(st.sampled_from(("s1", "s2", None, ""))), draw(st.sampled_from((None, "s1:s1:1")))
        rows.append(
            (number, at, session, None, tool, args, cut, redacted, status, draw(st.sampled_from((1, 1, 3))), turn)
        )
    return rows


def portions(rows: list[RawRow], sizes: list[int]) -> Iterator[list[RawRow]]:
    at = 0
    for size in (*sizes, len(rows)):
        yield rows[at : at + size]
        at += size


def findings(posture: Posture) -> list[tuple[str, int, tuple[int, ...], str]]:
    return [(one.rule, one.weight, one.rows, one.evidence) for one in posture.findings]


@fuzzed(2)
@given(ledgers(), st.lists(st.integers(1, 4), max_size=6), st.booleans())
def test_a_posture_adds_up_in_whatever_portions_it_is_fed(rows: list[RawRow], sizes: list[int], pending: bool) -> None:
    whole, parted = Posture(), Posture()
    whole.feed_rows(rows)
    for portion in portions(rows, sizes):
        if pending:  # Met first as they were issued, then as they ended.
            parted.feed_rows([(*row[:8], "PENDING", *row[9:]) for row in portion])
        parted.feed_rows(portion)
    assert whole.score == 100 - sum(SEVERITY_WEIGHT[one.severity] for one in whole.findings)
    assert findings(parted) == findings(whole)
    assert (parted.score, parted.rows) == (whole.score, len(rows))


@fuzzed()
@given(ledgers(), some.utf8_texts())
def test_a_report_is_plain_text_in_messages_that_telegram_takes(rows: list[RawRow], name: str) -> None:
    posture = Posture()
    posture.feed_rows(rows)
    lines = list(report.as_text(posture, name))
    assert all(inert(line) == line for line in lines)
    messages = parts(lines)
    assert all(0 < units(message) <= LIMIT for message in messages)
    assert "".join("".join(messages).split()) == "".join("".join(lines).split())
    json.dumps(report.as_json(posture), allow_nan=False)


def in_full(text: str) -> Examined:
    """What the parser makes of a command, without the short way."""
    with mock.patch.object(quick, "read", return_value=None):
        return examine("terminal", {"command": text})


@fuzzed(4)
@given(st.one_of(some.commands, some.utf8_texts()))
def test_a_command_that_is_read_the_short_way_reads_the_same_in_full(text: str) -> None:
    full = in_full(text)
    assert examine("terminal", {"command": text}) == full
    stored = some.written({"command": text})
    if is_plain(stored) or quiet_call(stored) is not None:
        assert not [act for act in full.acts if act.severity in SEVERE], text


@fuzzed(2)
@given(st.sampled_from(some.TOOLS), st.one_of(_args, some.arguments), st.booleans())
def test_reading_a_call_is_bounded_and_says_one_plain_line_of_each_act(
    tool: str, args: dict[Any, Any], cut: bool
) -> None:
    steps = 0
    counted = shell.Shell.step

    def step(self: shell.Shell) -> None:
        nonlocal steps
        steps += 1
        counted(self)

    with mock.patch.object(shell.Shell, "step", step):
        found = examine(tool, args, cut=cut)
    assert steps <= 20 * shell.MOST_STEPS
    for act in found.acts:
        assert act.severity in SEVERITY_WEIGHT
        assert "\n" not in act.text + act.target
