"""The details screen: what stands where, at any width."""

from __future__ import annotations

from .conftest import Start
from .ledgers import Ledger

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
