"""The last line: however narrow it gets, it says how to get to the other screens, to the help and out."""

from __future__ import annotations

import pytest

from .conftest import Run, Start
from .ledgers import Ledger, a_day


def keys(run: Run) -> str:
    return run.text.splitlines()[-1]


@pytest.mark.parametrize(("size", "together"), [((60, 15), " 1-5  "), ((80, 24), " 1-5 Screens ")])
async def test_every_screen_says_that_there_are_others(
    ledger: Ledger, start: Start, size: tuple[int, int], together: str
) -> None:
    a_day(ledger)
    async with start(size) as run:
        for key in "12345":
            await run.press(key)
            await run.until(lambda: keys(run).endswith("? Help  q Quit"))
            assert together in keys(run), key


async def test_with_room_each_has_its_own_word(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((200, 24)) as run:
        assert "1 Calls  2 Posture  3 Lineage  4 Policy  5 Repair" in keys(run)


async def test_where_q_does_not_quit_the_own_keys_come_first(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((60, 15)) as run:
        await run.press("enter")
        await run.until(lambda: "q Close" in keys(run))
        assert keys(run).split("  ")[0] == " q Close"
        assert keys(run).index("1-5") > keys(run).index("^p")


async def test_keys_that_do_not_follow_each_other_are_all_named(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((100, 24)) as run:
        run.app.set_keymap({"app.lineage": "f3"})
        run.calls.refresh_bindings()
        await run.until_shown("1/2/4/5/f3 Screens")
