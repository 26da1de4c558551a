"""Calls that the host or the user gave up on: what really happened to them."""

from __future__ import annotations

import pytest

from .conftest import MakeHome
from .environments import Host
from .home import HermesHome
from .model import Calls, call

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def given_up(host: Host, make_home: MakeHome) -> HermesHome:
    """One process: a command or a batch that outlives its deadline, then a user who interrupts."""
    home = make_home("deadlines")
    home.add_plugin("slowdown")
    home.configure(plugins=["slowdown"], extra="timeouts:\n  tools:\n    sequential_call: 3\n    concurrent_batch: 2\n")
    work, model = home.work, home.model
    for chat in ("END", "START"):
        slow = [("write_file", {"path": str(work / f"{chat}{n}.txt"), "content": f"SLOW-TO-{chat}"}) for n in range(2)]
        model.script(f"[{chat}]", Calls(slow))
    started = "touch started; sleep 30; echo never > never.txt"
    after = ("write_file", {"path": str(work / "after.txt"), "content": "x"})
    model.script("[stop]", Calls([("terminal", {"command": started}), after]))
    home.run(
        {"do": "turn", "chat": "END", "text": "[END] go"},
        {"do": "turn", "chat": "START", "text": "[START] go"},
        {"do": "turn", "chat": "stop", "text": "[stop] go", "interrupt_when": str(work / "started")},
        environment={"HERMES_CONCURRENT_TOOL_TIMEOUT_S": "2"},
    )
    return home


@pytest.fixture(scope="module")
def outlasted(make_home: MakeHome) -> HermesHome:
    """A single command that takes longer than its deadline, in a process of its own."""
    home = make_home("outlasted")
    home.configure(extra="timeouts:\n  tools:\n    sequential_call: 2\n")
    home.model.script("[late]", call("terminal", command="sleep 5; echo late > late.txt"))
    home.run(
        {"do": "turn", "chat": "late", "text": "[late] go"},
        {"do": "wait", "file": str(home.work / "late.txt"), "seconds": 20},
        {"do": "wait", "seconds": 2},
    )
    return home


def test_a_batch_past_its_deadline_keeps_the_first_word_and_records_the_second(
    host: Host, given_up: HermesHome
) -> None:
    """The tools had done their work when the deadline passed. 0.19 gives up first and confirms later, 0.22 the other
    way round; the agent reads "timed out" on both."""
    rows = given_up.rows("END")
    first, second = ("ERROR:timeout", "CONFIRMED") if host.is_019 else ("CONFIRMED", "ERROR:timeout")
    assert [(row["status"], row["later_status"], row["effect"]) for row in rows] == [(first, second, "done")] * 2
    for row in rows:
        assert f"A contradicting outcome came later: {second}. The first one stands." in row["remarks"]
    assert (given_up.work / "END0.txt").exists()


def test_a_call_announced_after_its_deadline_is_still_one_row(given_up: HermesHome) -> None:
    """Another plugin's middleware held the calls back. 0.22 gives them up, announces them all the same when they are
    let go, and then does not run them; 0.19 runs them."""
    rows = given_up.rows("START")
    assert [row["status"] for row in rows] == ["ERROR:timeout"] * 2
    landed = (given_up.work / "START0.txt").exists()
    assert all(row["effect"] == "done" for row in rows) == landed


def test_a_command_past_its_deadline_landed_all_the_same(host: Host, outlasted: HermesHome) -> None:
    row = outlasted.row("late")
    assert (outlasted.work / "late.txt").read_text() == "late\n"
    if host.is_019:  # This host waits for a single command as long as it takes.
        assert (row["status"], row["effect"], row["later_status"]) == ("CONFIRMED", "done", None)
        return
    assert (row["status"], row["effect"], row["later_status"]) == ("ERROR:timeout", "done", "CONFIRMED")


def test_a_call_stopped_by_the_user_may_have_had_its_effect(given_up: HermesHome) -> None:
    row = given_up.row("stop", tool="terminal")
    assert row["status"].startswith("ERROR:")
    assert (row["exit_code"], row["effect"]) == (130, "unknown")
    assert not (given_up.work / "never.txt").exists()


def test_a_call_skipped_after_the_stop_never_happened(host: Host, given_up: HermesHome) -> None:
    skipped = given_up.rows("stop", tool="write_file")
    assert not (given_up.work / "after.txt").exists()
    if host.is_019:  # This host says nothing of it.
        assert skipped == []
        return
    assert [(row["status"], row["effect"]) for row in skipped] == [("ERROR:cancelled", "none")]


def test_none_of_it_is_a_ghost(given_up: HermesHome) -> None:
    assert [row for row in given_up.rows() if row["state"] in ("pending", "overdue", "ghost")] == []
