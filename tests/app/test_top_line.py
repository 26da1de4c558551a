"""The top line in little and in much room: what gives way first, and how the time of the last change is named."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from ledger_tui._compat import screen_lines
from widgets.top_line import TopLine, Total

TOTALS = (
    Total("○", "1,234", "pending", "top--pending", 2),
    Total("▲", "2,345", "overdue", "top--overdue", 1),
    Total("◆", "3,456", "ghost", "top--ghost", 0),
    Total("✓", "98,765", "confirmed", "top--confirmed", 5),
)


class Line(App[None]):
    def compose(self) -> ComposeResult:
        yield TopLine("Calls")


async def shown(width: int, *, text: str = "live", clock: str = "14:40:54") -> str:
    app = Line()
    async with app.run_test(size=(width, 3)) as pilot:
        app.query_one(TopLine).show(TOTALS, state="ok", text=text, clock=clock)
        await pilot.pause()
        return screen_lines(app.screen)[0].rstrip()


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (40, " Calls   ▲ 2,345  ◆ 3,456        ● live"),
        (30, " Calls   ◆ 3,456       ● live"),
        (52, " Calls   ○ 1,234  ▲ 2,345  ◆ 3,456  ✓ 98,765 ● live"),
    ],
)
async def test_ghosts_and_overdue_calls_give_way_last(width: int, line: str) -> None:
    assert await shown(width) == line


async def test_a_time_is_never_shown_without_saying_of_what() -> None:
    assert (await shown(80)).endswith("● live  last change 14:40:54")
    for width in range(40, 121):
        line = await shown(width) if width % 8 == 0 else ""
        assert ("14:40:54" in line) == ("last change 14:40:54" in line)
    assert "14:40:54" not in await shown(60)
