"""Whatever the host says means the same whether it is written at once or waits in the spool, from whichever word on."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any, get_args

import pytest

from agent_ledger.engine.events import _KINDS, Contradiction, Event, from_record, to_record
from agent_ledger.engine.outcome import Outcome

from .homes import Home
from .test_hooks_pairing import NESTED, SCRIPT

Word = Callable[[Home], Any]

FAILED = {"status": "error", "error_type": "late", "result": '{"error": "no"}'}

CONTRADICTED_INSIDE: list[Word] = [
    lambda home: home.pre("execute_code", SCRIPT, call="x1"),
    lambda home: home.pre(**NESTED),
    lambda home: home.returned('{"bytes_written": 1}', **NESTED),
    lambda home: home.post(**FAILED, **NESTED),
    lambda home: home.post("execute_code", SCRIPT, call="x1"),
]

TWICE_INSIDE: list[Word] = [
    *CONTRADICTED_INSIDE[:4],
    lambda home: home.pre(**NESTED),
    lambda home: home.returned(ValueError("no"), **NESTED),
    lambda home: home.post(**NESTED),
]

IN_A_CHAT: list[Word] = [
    lambda home: home.pre(),
    lambda home: home.pre(),
    lambda home: home.post(status="timeout"),
    lambda home: home.returned('{"bytes_written": 1}'),
    lambda home: home.post(call="c2", status="cancelled", error_type="user_interrupt"),
    lambda home: home.pre(call="c2"),
    lambda home: home.pre(call="c3", session_id="", turn_id=""),
    lambda home: home.post(call="c3"),
    lambda home: home.post(call="c3", **FAILED),
]

STORIES = {"contradicted inside": CONTRADICTED_INSIDE, "twice inside": TWICE_INSIDE, "in a chat": IN_A_CHAT}

PASSING = {"ts", "settled_ts", "later_ts", "mono", "changed", "args_hash", "value_hashes", "issue_seal", "settle_seal"}
"""Columns that hold moments, or depend on them or on the home's key."""


def say(home: Home, words: list[Word]) -> None:
    for word in words:
        with contextlib.suppress(ValueError):  # The tool raised it, and its caller is to see it.
            word(home)


def rows_of(home: Home) -> list[dict[str, Any]]:
    return [{name: cell for name, cell in row.items() if name not in PASSING} for row in home.rows()]


@pytest.mark.parametrize("story", STORIES)
def test_words_that_wait_in_the_spool_mean_the_same(new_home: Callable[[str], Home], story: str) -> None:
    words = STORIES[story]
    plain = new_home("plain")
    plain.merged()
    say(plain, words)
    expected = rows_of(plain)
    plain.close()
    for heard in range(len(words)):
        home = new_home(f"heard-{heard}")
        home.merged()
        say(home, words[:heard])
        with closing(sqlite3.connect(home.paths.ledger, isolation_level=None)) as shell:
            shell.execute("BEGIN IMMEDIATE")
            say(home, words[heard:])
            assert home.recorder.keeper._spool.active
            shell.execute("ROLLBACK")
        assert rows_of(home) == expected, heard
        home.close()


def test_what_is_contradicted_inside_a_script_is_told_beside_its_row(home: Home) -> None:
    say(home, CONTRADICTED_INSIDE)
    inside = home.rows()[1]
    assert (inside["status"], inside["later_status"], inside["later_digest"]) == (
        "CONFIRMED", "ERROR:late", '{"error": "no"}',
    )  # fmt: skip


def test_each_kind_of_event_comes_back_from_the_spool_as_it_was() -> None:
    event = Contradiction(1.5, "write_file", "s1", b"\1\2", Outcome("CONFIRMED", "done", 0, 5, "3 bytes"))
    record = to_record(event, "full")
    assert (record["kind"], record["why"], from_record(record)) == ("contradict", "full", event)
    assert set(_KINDS.values()) == set(get_args(Event))
