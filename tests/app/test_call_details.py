"""The details screen: how it opens and closes, what stands where at any width, and how it follows the row."""

from __future__ import annotations

from agent_ledger.engine.records import utc_text
from screens.call_details import CallDetailsScreen

from .conftest import Start
from .ledgers import Clock, Ledger, a_day

TURN = "20260530_114502_77b0de:telegram:group:-1002031:turn:0042"


async def test_the_details_say_that_it_is_a_simulation(ledger: Ledger, start: Start) -> None:
    ledger.done("mcp__calendar__create_event", {"title": "x" * 90}, ago=9, status="ERROR:invalid_tool_arguments")
    async with start((60, 15), label="simulation") as run:
        assert run.text.splitlines()[0].startswith(" Calls simulation ")
        await run.press("enter")
        await run.until_shown("arguments")
        first = run.text.splitlines()[0]
        assert first.startswith(" ✗ error invalid_tool_arguments  mcp__calend")
        assert first.endswith("  simulation")


async def test_without_a_label_the_headline_has_the_whole_line(ledger: Ledger, start: Start) -> None:
    ledger.done("mcp__calendar__create_event", {}, ago=9, status="ERROR:invalid_tool_arguments")
    async with start((66, 15)) as run:
        await run.press("enter")
        await run.until_shown("invalid_tool_arguments  mcp__calendar__create_event  #1")


async def test_a_long_id_goes_on_under_its_value(ledger: Ledger, start: Start) -> None:
    """At every width in two columns, and in one."""
    ledger.done("terminal", {"command": "make"}, ago=9, turn_id=TURN, exit_code=3)
    async with start((120, 36)) as run:
        await run.press("enter")
        await run.until_shown("turn       20260530_114502_77b0de")
        for width in (120, 112, 60):
            await run.pilot.resize_terminal(width, 36)
            await run.pilot.pause()
            left = [line[1:] for line in run.text.splitlines()]
            at = next(index for index, line in enumerate(left) if line.startswith("turn "))
            value = left[at][11:].split("  ")[0].rstrip()
            assert TURN.startswith(value)
            assert value != TURN
            assert left[at + 1].startswith(" " * 11 + TURN[len(value) :])


async def test_rules_have_room_around_their_titles_and_between_them(ledger: Ledger, start: Start) -> None:
    ledger.done("terminal", {"command": "make"}, ago=9)
    async with start((130, 32)) as run:
        await run.press("enter")
        await run.until_shown(" timeline ", " facts ", " arguments ", " result ")
        left, right = run.front().query_one("#left"), run.front().query_one("#arguments")
        assert right.region.x - left.region.right == 3
        for line in run.text.splitlines():
            for name in ("timeline", "facts", "arguments", "result"):
                assert f"─{name}" not in line
                assert f"{name}─" not in line


async def test_enter_opens_the_details_and_three_keys_close_them(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        for key in ("q", "backspace", "escape"):
            await run.press("enter")
            assert isinstance(run.front(), CallDetailsScreen)
            await run.until_shown("五月/予算.csv", "confirmed")
            await run.press(key)
            assert run.front() is run.calls


async def test_details_count_down_and_follow_the_row(ledger: Ledger, clock: Clock, start: Start) -> None:
    call = ledger.issue("terminal", {"command": "make"}, ago=20)
    async with start() as run:
        await run.press("tab", "tab", "enter")
        await run.until_shown("Counts as lost in 1:40")
        clock.now += 60
        await run.until_shown("Counts as lost in 0:40")
        ledger.settle(call, exit_code=2, duration_ms=80_000, result_digest="2 tests failed")
        await run.until_shown("settled: CONFIRMED", "2 tests failed", "exit code 2")
        ledger.settle(call, "CONFIRMED", later_status="ERROR:timeout", later_ts=utc_text(clock.now + 5))
        await run.until_shown("contradicted: ERROR:timeout")


async def test_details_lead_to_the_repeats(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("tab", "tab", "enter")
        await run.until_shown("#9", "was issued before, as call 6")
        await run.press("enter")
        await run.until_shown("patch  #6")
        await run.press("p")
        await run.until_shown("patch  #9")
