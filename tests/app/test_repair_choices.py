"""What only a person decides: whose a lost talk is, and whether a silent session is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens.donors import DonorsScreen
from screens.repair import RepairScreen
from screens.repair_walk import PROOF

from .conftest import Start
from .repairing import confirmed, journal_of, rows, walking
from .sessions import Sessions, two_donors
from .test_lineage_screen import shown

pytestmark = pytest.mark.usefixtures("nobody_else")


async def test_donors_side_by_side_and_a_choice_by_a_typed_word(home: Path, start: Start) -> None:
    store = two_donors(home).path
    async with start((120, 36)) as run:
        await shown(run)
        await run.press("5")
        await run.until(lambda: isinstance(run.front(), RepairScreen))
        await run.until_shown("1 session may be taken back only if you say from whom.")
        await run.press("r")
        screen = await walking(run)
        await run.press("n")
        await run.until_shown("? needs a person", "d compares who it could be")
        await run.press("a")
        await run.until(lambda: isinstance(run.front(), DonorsScreen))
        await run.until_shown("the lost session", "Chat of anna", "Chat of bert", "agent:main:telegram:dm:8")
        await run.until_shown("message 1 of anna", "message 5 of bert", "24 more")
        await run.press("tab", "enter")
        await run.until_shown("It goes on from this one?")
        await run.type("choose he wrote of the boat")
        await run.press("enter")
        await run.until(lambda: run.front() is screen)
        await run.until_shown("★ chosen", "Chat of bert", "he wrote of the boat")
        await run.press("n")
        await run.until_shown("is taken back (by your choice)")
        await confirmed(run)
        await run.until_shown("The repair is done, and proven.")
    assert rows(store, "session_key")["lost"] == ("agent:main:telegram:dm:8",)
    assert "he wrote of the boat" in journal_of(home)


async def test_a_silent_session_is_ended_only_by_a_person(home: Path, start: Start) -> None:
    made = Sessions(home)
    made.chat("old", ago=2_500_000, messages=4, title="Garden plan")
    async with start((110, 30)) as run:
        await run.press("5")
        await run.until_shown("Nothing is lost", "1 session open and silent for long")
        await shown(run)
        await run.press("r")
        walk = await walking(run)
        await run.press("n")
        await run.until_shown("– skip", "Garden plan", "a: say that its talk is over")
        await run.press("n")
        await run.until_shown("Nothing would be changed.")
        await run.press("b", "a")
        await run.until_shown("Is its talk over?")
        await run.type("end the garden is done")
        await run.press("enter")
        await run.until_shown("■ end", "the garden is done")
        await run.press("n")
        await run.until_shown("1 row would be ended", "is ended by you", "end_reason        NULL → ")
        await confirmed(run)
        await run.until(lambda: walk.step == PROOF)
        await run.until_shown("The repair is done, and proven.")
    (ended,) = rows(made.path, "ended_at IS NOT NULL").values()
    assert ended == (1,)
    assert "the garden is done" in journal_of(home)


async def test_looking_at_donors_chooses_nobody(home: Path, start: Start) -> None:
    two_donors(home)
    async with start() as run:
        await shown(run)
        await run.press("5", "r")
        screen = await walking(run)
        await run.press("n", "d")
        await run.until(lambda: isinstance(run.front(), DonorsScreen))
        await run.press("enter")
        await run.type("yes")
        await run.press("enter")
        await run.until_shown("That is not the word: choose")
        await run.press("ctrl+u", "enter", "q")
        await run.until(lambda: run.front() is screen)
        await run.until_shown("? needs a person")
