"""What the mouse does: everything that a key does, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from textual.command import CommandPalette
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot
from textual.widget import Widget

from screens.call_details import CallDetailsScreen
from screens.calls import CallsScreen
from screens.help import HelpScreen
from screens.posture import PostureScreen
from screens.session_details import SessionDetailsScreen
from widgets.call_panes import CallPanes
from widgets.call_table import CallTable
from widgets.key_hints import KeyHints
from widgets.pane_tabs import PaneTabs
from widgets.prompt_bar import PromptBar

from .conftest import Run, Start
from .ledgers import Clock, Ledger, a_day
from .sessions import INCIDENT_NOW, the_incident
from .test_calls_screen import cursor_of, focused, rows_of
from .test_lineage_screen import at_cursor, quiet
from .test_lineage_screen import shown as lineage_shown


async def click(run: Run, widget: type[Widget] | str, x: int, y: int, times: int = 1) -> None:
    """Click into a widget, at a cell counted from its corner."""
    pilot: Pilot[None] = run.pilot
    await pilot.click(widget, offset=(x, y), times=times)
    await pilot.pause()


def _focused_on(run: Run, name: str) -> bool:
    return focused(run) == name


async def hint(run: Run, text: str) -> None:
    """Click a word of the line of keys."""
    line = run.text.splitlines()[-1]
    assert text in line, line
    await click(run, KeyHints, line.index(text), 0)


async def test_a_click_goes_to_a_row_and_its_pane(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        assert focused(run) == "settled"
        await click(run, "#settled", 5, 3)  # Below the title: 8, 7, 6.
        assert (cursor_of(run), rows_of(run, "settled")[:3]) == (6, [8, 7, 6])
        await click(run, "#settled", 5, 3)
        assert run.front() is run.calls, "one click opens nothing, on the row at the cursor neither"
        await click(run, "#pending", 5, 2)
        assert (focused(run), cursor_of(run, "pending")) == ("pending", 11)
        assert cursor_of(run) == 6


async def test_two_clicks_open_the_row(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await click(run, "#settled", 5, 3, times=2)
        await run.until(lambda: isinstance(run.front(), CallDetailsScreen), "the details")
        await run.until_shown("confirmed  patch  #6")


async def test_the_row_of_the_first_click_is_opened(ledger: Ledger, start: Start) -> None:
    """Between two clicks a new row may have come: the row that was meant is another line by then."""
    a_day(ledger)
    async with start() as run:
        await click(run, "#settled", 5, 3)
        new = ledger.done("patch", {"path": "new.py"}, ago=1)
        await run.until(lambda: rows_of(run, "settled")[:4] == [new, 8, 7, 6], "the new row, above all others")
        table = run.calls.query_one("#settled", CallTable)
        table.post_message(Click(table, 5, 3, 0, 0, 1, False, False, False, chain=2))
        await run.until(lambda: isinstance(run.front(), CallDetailsScreen), "the details")
        await run.until_shown("confirmed  patch  #6")


async def test_clicks_beside_the_rows_do_nothing(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((80, 30)) as run:
        for y in (0, 15):  # The title; below the last row.
            await click(run, "#settled", 5, y, times=2)
            assert run.front() is run.calls
            assert cursor_of(run) == 8


async def test_the_wheel_moves_the_cursor(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        table = run.calls.query_one("#settled")
        await run.pilot._post_mouse_events([MouseScrollDown], widget=table, offset=(3, 3))
        await run.until(lambda: cursor_of(run) == 5, "three rows down: 8, 7, 6, 5")
        await run.pilot._post_mouse_events([MouseScrollUp], widget=table, offset=(3, 3))
        await run.until(lambda: cursor_of(run) == 8, "and up again")


async def test_a_click_chooses_a_session(ledger: Ledger, start: Start) -> None:
    ledger.done("terminal", {"command": "one"}, ago=2, session="s1")
    ledger.done("terminal", {"command": "two"}, ago=1, session="s2")
    async with start() as run:
        await run.until_shown("s1", "s2")
        line = next(y for y, text in enumerate(run.text.splitlines()) if " s2 " in f"{text[:20]} ")
        top = run.calls.query_one("#sessions").region.y
        await click(run, "#sessions", 3, line - top)
        await run.until(lambda: rows_of(run, "settled") == [2], "only the calls of s2")


async def test_a_click_on_a_tab_shows_its_pane(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((60, 15)) as run:
        await run.until(lambda: run.calls.query_one(CallPanes).single, "one pane at a time")
        tabs = run.text.splitlines()[run.calls.query_one(PaneTabs).region.y]
        for name, index in (("Ghosts", 1), ("Pending", 0), ("Settled", 2)):
            await click(run, PaneTabs, tabs.index(name), 0)
            await run.until(partial(_focused_on, run, name.lower()), name)
            assert run.calls.query_one(CallPanes).shown == index


async def test_a_click_on_a_key_is_the_key(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((120, 24)) as run:
        await hint(run, "Filter")
        await run.until(lambda: run.calls.query_one(PromptBar).is_open, "the line to type into")
        await run.press("escape")
        await hint(run, "? Help")
        await run.until(lambda: isinstance(run.front(), HelpScreen), "the help")
        await run.press("escape")
        await run.until(lambda: isinstance(run.front(), CallsScreen), "the calls")
        await run.press("2")
        await run.until(lambda: isinstance(run.front(), PostureScreen), "the posture")
        await hint(run, "1-5")
        await run.until(lambda: isinstance(run.app.screen, CommandPalette), "the palette, which has all screens")
        await run.type("screen: calls")
        await run.until_shown("Screen: Calls")
        await run.press("down", "enter")
        await run.until(lambda: isinstance(run.front(), CallsScreen), "the calls again")
        await hint(run, "Details")
        await run.until(lambda: isinstance(run.front(), CallDetailsScreen), "the details")


async def test_a_click_on_the_name_of_a_screen_shows_it(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((200, 24)) as run:
        await hint(run, "2 Posture")
        await run.until(lambda: isinstance(run.front(), PostureScreen), "the posture")


async def test_what_was_given_another_key_is_clicked_all_the_same(ledger: Ledger, start: Start) -> None:
    async with start((120, 24)) as run:
        run.app.set_keymap({"calls.filter": "f2"})
        run.calls.refresh_bindings()
        await run.until_shown("f2 Filter")
        await hint(run, "Filter")
        await run.until(lambda: run.calls.query_one(PromptBar).is_open, "the line to type into")


async def test_a_click_on_a_fold_mark_folds(home: Path, clock: Clock, start: Start) -> None:
    the_incident(home)
    clock.now = INCIDENT_NOW
    async with start((120, 36)) as run:
        screen = await lineage_shown(run)
        assert screen.model.view is not None
        top = screen.query_one("#tree").region.y
        before = run.text.splitlines()[top + 1]
        await click(run, "#tree", before.index("▾"), 1, times=2)
        await quiet(run)
        assert run.front() is screen, "two clicks on it fold twice and open nothing"
        assert run.text.splitlines()[top + 1] == before
        await click(run, "#tree", before.index("▾"), 1)
        await run.until(lambda: screen.model.view is not None and len(screen.model.view.lines) == 2, "one line less")
        assert "▸" in run.text.splitlines()[top + 1]


async def test_a_session_in_the_tree(home: Path, clock: Clock, start: Start) -> None:
    the_incident(home)
    clock.now = INCIDENT_NOW
    async with start((120, 36)) as run:
        screen = await lineage_shown(run)
        first = at_cursor(screen)
        await click(run, "#tree", 5, 3)
        assert at_cursor(screen) != first
        await click(run, "#tree", 5, 3, times=2)
        await run.until(lambda: isinstance(run.front(), SessionDetailsScreen), "the session")
