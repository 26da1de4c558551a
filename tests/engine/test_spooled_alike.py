"""Whatever the host says means the same whether it is written at once or waits in the spool, from whichever word on."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.events import _KINDS, Contradiction, Event, from_record, to_record
from agent_ledger.engine.outcome import Outcome

from .homes import Home, until
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

NEVER_RAN: list[Word] = [
    lambda home: home.pre(),
    lambda home: home.post(status="blocked", error_type="plugin_block", result='{"error": "no"}'),
    lambda home: home.pre(call="c2"),
    lambda home: home.post(call="c2"),
    lambda home: home.pre(call="c3"),
]
"""A call that was refused is no first of its kind."""

STORIES = {
    "contradicted inside": CONTRADICTED_INSIDE, "twice inside": TWICE_INSIDE, "in a chat": IN_A_CHAT,
    "never ran": NEVER_RAN,
}  # fmt: skip

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


@contextlib.contextmanager
def left_in_the_spool(home: Home, words: list[Word]) -> Iterator[Path]:
    """Words that a process could not write before it died: the file, to be put there while another lives."""
    with closing(sqlite3.connect(home.paths.ledger, isolation_level=None)) as shell:
        shell.execute("BEGIN IMMEDIATE")
        say(home, words)
        (path,) = home.paths.spool.glob("*.jsonl")
        lines = path.read_bytes()
        home.close()
        path.unlink()
        shell.execute("ROLLBACK")
    yield path
    path.write_bytes(lines)


def test_a_late_word_finds_its_call_however_many_came_between(home: Home) -> None:
    """Hundreds of calls later, the newest of them like its own, the spool of a process that is gone is merged."""
    say(home, CONTRADICTED_INSIDE[:3])
    home.merged()
    with left_in_the_spool(home, CONTRADICTED_INSIDE[3:4]):
        home.restart()
        for n in range(300):
            home.pre(call=f"o{n}")
        home.clock.advance(60)
        say(home, CONTRADICTED_INSIDE[:3])
        home.merged()
    home.restart()
    home.recorder.keeper.square(0.0)
    until(lambda: not list(home.paths.spool.glob("*.jsonl")), "it is merged")
    rows = home.rows("tool_call_id = ''")
    assert [(row["status"], row["later_status"]) for row in rows] == [("CONFIRMED", "ERROR:late"), ("CONFIRMED", None)]


def test_a_call_that_another_process_knows_never_ran_is_no_first_of_its_kind(home: Home) -> None:
    home.pre()
    home.merged()
    with left_in_the_spool(home, NEVER_RAN[1:2]) as path:
        pass
    lines = path.read_text()
    path.unlink()
    home.restart()
    home.merged()
    home.pre("patch", call="p1")  # What was called before is read now.
    path.write_text(lines)
    home.recorder.keeper.square(0.0)
    until(lambda: not path.exists(), "it is merged")
    home.pre(call="c2")
    home.pre(call="c3")
    rows = [(row["tool_call_id"], row["status"], row["repeat_of"]) for row in home.rows()]
    assert rows == [
        ("c1", "ERROR:blocked", None), ("p1", "PENDING", None), ("c2", "PENDING", None), ("c3", "PENDING", 3)
    ]  # fmt: skip


def test_a_late_word_after_the_clock_was_set_back_is_kept_beside_the_newest(home: Home) -> None:
    say(home, CONTRADICTED_INSIDE[:3])
    home.clock.wall_offset -= 3_600
    say(home, CONTRADICTED_INSIDE[3:4])
    assert home.rows()[1]["later_status"] == "ERROR:late"


@pytest.mark.parametrize(("written", "stored"), [("true", 1), ("false", 0), ("1", 1), ("0", 0)])
def test_what_an_older_plugin_spooled_is_sealed_as_it_is_stored(home: Home, written: str, stored: int) -> None:
    home.merged()
    with left_in_the_spool(home, IN_A_CHAT[:3]) as path:
        pass
    lines = path.read_text()
    assert lines.count('"args_cut":0') == 2
    path.write_text(lines.replace('"args_cut":0', f'"args_cut":{written}'))
    home.restart()
    home.recorder.keeper.square(0.0)
    until(lambda: not list(home.paths.spool.glob("*.jsonl")), "it is merged")
    assert [row["args_cut"] for row in home.rows()] == [stored]
    with closing(sqlite3.connect(home.paths.ledger)) as ledger:
        assert check_chain(ledger).state == "whole"
