"""News that pass: they stand over titles, never over a row that somebody may be reading."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from widgets.line_list import LineList

from .conftest import Run, Start
from .ledgers import Clock, Ledger

SIZES = pytest.mark.parametrize("size", [(80, 24), (60, 15), (120, 36)], ids=["80x24", "60x15", "120x36"])


def heading_lines(run: Run) -> set[int]:
    return {one.region.y for one in run.front().query(LineList) if one.region}


@SIZES
async def test_a_toast_covers_no_row(ledger: Ledger, start: Start, size: tuple[int, int]) -> None:
    for n in range(30):
        ledger.done("patch", {"path": f"f{n}.py"}, ago=900 - n)
    calls = [ledger.issue("mcp__calendar__create_event", {"title": f"e{n}"}, ago=5) for n in range(4)]
    async with start(size) as run:
        ledger.db.execute("BEGIN")
        for call in calls:
            ledger.report(call)
        ledger.db.execute("COMMIT")
        await run.until_shown("4 calls were lost: ")
        (toast,) = run.front().query(Toast)
        assert toast.region.height == 1
        assert toast.region.y in heading_lines(run)
        assert toast.region.right <= size[0]


async def test_over_the_details_a_toast_stands_at_the_end(ledger: Ledger, clock: Clock, start: Start) -> None:
    ledger.done("patch", {"path": "a.py"}, ago=900, exit_code=3)
    ledger.issue("cronjob", {"action": "create"}, ago=100)
    async with start() as run:
        await run.press("enter")
        await run.until_shown("ended with exit code 3")
        clock.now += 30
        run.calls._tick()
        await run.until_shown("cronjob #2 is overdue")
        (toast,) = run.front().query(Toast)
        assert (toast.region.y, toast.region.height) == (22, 1), "just above the keys"
