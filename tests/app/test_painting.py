"""What is drawn when something changes: the lines that differ, and nothing when nothing does."""

from __future__ import annotations

from typing import Any

import pytest
from textual.geometry import Region
from textual.widget import Widget

from widgets.line_list import LineList

from .conftest import Start
from .ledgers import Clock, Ledger, a_day


class Drawn:
    """Which parts of which widgets were asked to be drawn again; None stands for a whole widget."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.regions: list[tuple[str | None, Region | None]] = []
        refresh = Widget.refresh

        def spy(widget: Widget, *regions: Region, **options: Any) -> Widget:
            if isinstance(widget, LineList) or widget.id in {"top", "tabs", "keys", "notice"}:
                self.regions += [(widget.id, region) for region in regions] or [(widget.id, None)]
            return refresh(widget, *regions, **options)

        monkeypatch.setattr(Widget, "refresh", spy)


async def test_nothing_is_drawn_when_nothing_changed(
    ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_day(ledger)
    async with start() as run:
        drawn = Drawn(monkeypatch)
        run.calls._tick()
        run.calls._paint(resort=True)
        assert drawn.regions == []


async def test_a_second_later_only_countdowns_are_drawn(
    ledger: Ledger, clock: Clock, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls count down in lines 2 and 3 of their pane; the overdue one above says `3m late` for a minute."""
    a_day(ledger)
    async with start() as run:
        drawn = Drawn(monkeypatch)
        clock.now += 1
        run.calls._tick()
        assert drawn.regions == [("pending", Region(0, 2, 56, 1)), ("pending", Region(0, 3, 56, 1))]


async def test_moving_the_cursor_draws_two_lines(ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    a_day(ledger)
    async with start() as run:
        drawn = Drawn(monkeypatch)
        run.calls.query_one("#settled", LineList).action_move(1)
        assert drawn.regions == [("settled", Region(0, 1, 56, 1)), ("settled", Region(0, 2, 56, 1))]


async def test_changes_behind_another_screen_are_drawn_on_return(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("enter")
        ledger.done("terminal", {"command": "echo later"}, ago=1)
        await run.until(lambda: run.calls.model.totals.rows == 12)
        await run.press("q")
        await run.until_shown("echo later")
