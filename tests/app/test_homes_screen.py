"""Several homes side by side: what each line says, what is unconfirmed in all, and the way into one and back."""

from __future__ import annotations

import pytest
from textual.command import CommandList

from agent_ledger.engine.paths import Paths
from screens.call_details import CallDetailsScreen
from screens.calls import CallsScreen
from screens.commands import Palette
from screens.help import HelpScreen
from screens.homes import HomesScreen
from screens.posture import PostureScreen
from widgets.home_tables import FleetTable, HomeTable
from widgets.prompt_bar import PromptBar

from .conftest import Run, Start, StartFleet
from .fleet import Fleet
from .ledgers import Clock, Ledger, a_day


def two(fleet: Fleet) -> tuple[Ledger, Ledger]:
    """The same sessions and numbers in both: in each, call 1 is done and call 2 is not."""
    default, coder = fleet.ledger("default"), fleet.ledger("coder")
    default.done("terminal", {"command": "make"}, ago=900)
    default.issue("write_file", {"path": "of-default.txt"}, ago=300)
    coder.done("terminal", {"command": "ls"}, ago=800)
    coder.issue("patch", {"path": "of-coder.txt"}, ago=20)
    return default, coder


def homes(run: Run) -> HomesScreen:
    screen = run.front()
    assert isinstance(screen, HomesScreen)
    return screen


async def in_front(run: Run, kind: type[object]) -> None:
    await run.until(lambda: isinstance(run.front(), kind), kind.__name__)


async def test_each_home_has_a_line_and_all_share_a_list(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        (first,) = run.lines("● live", "default")
        (second,) = run.lines("● live", "coder")
        assert first.split()[:6] == ["default", "0", "▲", "1", "0", "0"]
        assert second.split()[:6] == ["coder", "○", "1", "0", "0", "0"]
        assert run.lines("default", "▲ overdue", "of-default.txt")
        assert run.lines("coder", "○ pending", "of-coder.txt")
        top = run.text.splitlines()[0]
        assert "Homes" in top
        assert "● live" in top
        assert "✓ 2" in top
        assert "Unconfirmed 2" in run.text


async def test_both_are_live(fleet: Fleet, start_fleet: StartFleet) -> None:
    default, coder = two(fleet)
    async with start_fleet("default", "coder") as run:
        coder.report(2)
        default.issue("cronjob", {"name": "nightly"})
        await run.until(lambda: run.lines("default", "○ pending", "nightly"), "the new call")
        await run.until(lambda: run.lines("coder", "◆ ghost", "of-coder.txt"), "the ghost")
        assert run.lines("coder", "◆ 1", "● live")
        await run.until(lambda: run.lines("coder: patch #2 was lost"), "a message that says whose call was lost")
        default.settle(2)
        await run.until(lambda: not run.lines("of-default.txt"), "the settled call to go")


async def test_one_that_is_broken_and_one_that_is_missing_do_not_take_the_others_along(
    fleet: Fleet, start_fleet: StartFleet
) -> None:
    two(fleet)
    fleet.broken("torn")
    async with start_fleet("default", "torn", "nowhere", size=(120, 30)) as run:
        assert run.lines("torn", "✕ unreadable: ledger.db is no SQLite database")
        assert run.lines("nowhere", "◌ missing: ledger.db does not exist")
        assert run.lines("default", "▲ overdue", "of-default.txt")
        assert "✕ 1 of 3 live" in run.text.splitlines()[0]
        assert not {"0", "✓"} & set(run.lines("torn", "unreadable")[0]), "nothing is claimed of what cannot be read"
        await run.press("j")
        await run.until_shown(" torn: unreadable: ledger.db is no SQLite database: ")
        await run.press("enter")
        await in_front(run, CallsScreen)
        await run.until_shown("Calls torn", "✕ unreadable", "cannot be read, so this is not known")
        await run.press("0")
        await in_front(run, HomesScreen)
        ledger = fleet.ledger("nowhere")
        ledger.issue("terminal", {"command": "first of all"})
        await run.until(lambda: run.lines("nowhere", "○ pending", "first of all"), "the home that came")
        await run.until(lambda: run.lines("nowhere", "○ 1", "● live"), "its line")


async def test_a_home_that_goes_bad_keeps_what_was_read_and_says_so(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    coder = fleet.ledger("third")
    coder.issue("terminal", {"command": "sleep"})
    async with start_fleet("default", "third", size=(120, 30)) as run:
        coder.db.close()
        path = Paths(fleet.folder / "third").ledger
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        await run.until(lambda: run.lines("third", "○ 1", "▲ stale: ledger.db is gone"), "its line to say so")
        assert run.lines("third", "○ pending", "sleep")


async def test_enter_opens_a_home_and_zero_comes_back(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("j", "enter")
        await in_front(run, CallsScreen)
        await run.settle()
        assert run.text.splitlines()[0].startswith(" Calls coder ")
        assert run.lines("✓ confirmed", "ls")
        assert not run.lines("of-default.txt")
        assert "✓ 1 confirmed" in run.text.splitlines()[0]
        await run.press("0")
        await in_front(run, HomesScreen)
        assert homes(run).chosen == 1


async def test_keys_mean_the_home_at_the_cursor_also_in_haste(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("j", "1")
        await in_front(run, CallsScreen)
        await run.until_shown("Calls coder")
        await run.press("2")
        await in_front(run, PostureScreen)
        await run.until_shown("Posture coder")
        await run.press("0", "k", "1")
        await run.until_shown("Calls default")


async def test_screens_keep_their_state(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("1")
        await in_front(run, CallsScreen)
        await run.press("slash")
        await run.type("tool:write_file")
        await run.press("enter")
        await run.until_shown("Filter: tool:write_file")
        screen = run.calls
        await run.press("0", "j", "1")
        await run.until_shown("Calls coder")
        assert "Filter:" not in run.text
        await run.press("0", "k", "1")
        await run.until_shown("Calls default", "Filter: tool:write_file")
        assert run.calls is screen


async def test_a_screen_made_later_shows_what_came_before_it_and_what_comes(
    fleet: Fleet, start_fleet: StartFleet
) -> None:
    default, coder = two(fleet)
    async with start_fleet("default", "coder") as run:
        coder.settle(2)
        coder.issue("delegate_task", {"goal": "before"}, ago=5)
        await run.until(lambda: run.lines("coder", "before"), "the call before")
        await run.press("j", "enter")
        await in_front(run, CallsScreen)
        await run.settle()
        await run.until_shown("before", "of-coder.txt", "ls")
        assert "✓ 2 confirmed" in run.text.splitlines()[0]
        assert run.calls.model.counts("s1").confirmed == 2
        coder.issue("delegate_task", {"goal": "after"})
        await run.until_shown("after")
        coder.settle(3)
        await run.until(lambda: run.calls.model.counts("s1").confirmed == 3, "the count")
        assert not run.calls.model.sessions_drifted()
        default.issue("terminal", {"command": "elsewhere"})
        await run.press("0")
        await run.until(lambda: run.lines("default", "elsewhere"), "the other home")


async def test_details_are_those_of_the_call_s_own_home(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("tab", "j", "enter")
        await in_front(run, CallDetailsScreen)
        await run.until_shown("patch", "of-coder.txt", "#2")
        assert "of-default" not in run.text
        await run.press("q")
        await in_front(run, HomesScreen)
        assert homes(run).chosen == 1, "the line of its home is marked with it"
        await run.press("k", "enter")
        await run.until_shown("write_file", "of-default.txt", "#2")
        await run.press("q", "1")
        await run.until_shown("Calls default")


async def test_enter_means_the_pane_in_use_before_that_has_the_focus(fleet: Fleet, start_fleet: StartFleet) -> None:
    """Keys that come faster than the focus follows are still heard by the list that had it."""
    two(fleet)
    async with start_fleet("default", "coder") as run:
        screen = homes(run)
        screen.action_pane()
        screen.query_one(HomeTable).action_open()
        await in_front(run, CallDetailsScreen)
        await run.press("q")
        await in_front(run, HomesScreen)
        screen.action_pane()
        screen.query_one(FleetTable).action_open()
        await in_front(run, CallsScreen)


async def test_a_filter_narrows_the_calls_and_is_dropped_again(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("slash")
        await run.type("home:x")
        await run.press("enter")
        await run.until_shown("No home is called or begins with 'x'.")
        assert run.front().query_one(PromptBar).is_open
        await run.press("backspace")
        await run.type("co")
        await run.press("tab", "enter")
        await run.until_shown("Filter: home:coder", "Unconfirmed 1", "of-coder.txt")
        assert "of-default.txt" not in run.text
        assert run.lines("default", "● live"), "every home keeps its line"
        await run.press("x")
        await run.until_shown("Unconfirmed 2", "of-default.txt")
        assert "Filter:" not in run.text
        homes(run).filter_by("state:ghost")
        await run.until_shown("nothing fits the filter")


async def test_a_call_becomes_overdue_while_another_home_is_in_front(
    fleet: Fleet, clock: Clock, start_fleet: StartFleet
) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("1")
        await in_front(run, CallsScreen)
        clock.now += 200
        await run.until(lambda: run.lines("coder: patch #2 is overdue"), "the message")
        await run.press("0")
        await run.until(lambda: run.lines("coder", "▲ overdue", "of-coder.txt"), "the state")


async def test_the_palette_offers_every_home(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("2")
        await in_front(run, PostureScreen)
        await run.until_shown("Posture default")
        await run.press("ctrl+p")
        await run.type("Home: coder")
        await run.until_shown("Home: coder", "The screens of")
        await run.press("enter")
        await run.until_shown("Posture coder")


async def test_keys_that_come_faster_than_the_palette_closes(
    fleet: Fleet, start_fleet: StartFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is closed by them, and what was chosen twice is done once."""
    two(fleet)
    done = []
    monkeypatch.setattr(HomesScreen, "action_filter", lambda screen: done.append(screen))
    async with start_fleet("default", "coder") as run:
        await run.press("tab", "enter")
        await in_front(run, CallDetailsScreen)
        await run.press("ctrl+p")
        await in_front(run, Palette)
        palette = run.front()
        assert isinstance(palette, Palette)
        palette._action_escape()
        palette._action_escape()
        await run.pilot.pause()
        await in_front(run, CallDetailsScreen)
        await run.press("q", "ctrl+p")
        await in_front(run, Palette)
        await run.type("Filter…")
        await run.until_shown("Type a filter")
        await run.press("down")
        palette = run.front()
        assert isinstance(palette, Palette)
        chosen = palette.query_one(CommandList)
        chosen.action_select()
        chosen.action_select()
        await run.until(lambda: done, "the command")
        await in_front(run, HomesScreen)
        await run.pilot.pause()
        assert len(done) == 1


async def test_a_page_of_commands_that_are_not_drawn_yet(
    fleet: Fleet, start_fleet: StartFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(commands: CommandList) -> None:
        raise KeyError(22)

    monkeypatch.setattr(CommandList, "action_page_down", unknown)
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.press("ctrl+p")
        await in_front(run, Palette)
        await run.press("pagedown", "escape")
        await in_front(run, HomesScreen)


async def test_the_mouse_chooses_a_line(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder") as run:
        await run.pilot.click(HomeTable, offset=(3, 2))
        await run.until(lambda: homes(run).chosen == 1, "the second line")
        await run.press("k")
        await run.pilot.click(FleetTable, offset=(3, 2))
        await run.until(lambda: homes(run).chosen == 1, "the home of the second call")


async def test_help_names_the_keys(fleet: Fleet, start_fleet: StartFleet) -> None:
    two(fleet)
    async with start_fleet("default", "coder", size=(100, 40)) as run:
        await run.press("question_mark")
        await in_front(run, HelpScreen)
        assert run.lines("0 1 2 3 4 5", "Homes, Calls, Posture, Lineage, Policy, Repair")
        assert run.lines("Narrow by home, tool, state…")


async def test_names_that_look_like_markup_or_paths_are_text(fleet: Fleet, start_fleet: StartFleet) -> None:
    names = ("[red]a[/]", "profiles/b")
    for name in names:
        fleet.ledger(name).issue("terminal", {"command": name})
    async with start_fleet(*names) as run:
        assert run.lines("[red]a[/]", "● live")
        await run.press("j", "enter")
        await run.until_shown("Calls profiles/b")
        await run.press("2")
        await run.until_shown("Posture profiles/b")


async def test_one_home_has_no_homes_screen(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((100, 40)) as run:
        await run.press("0")
        assert isinstance(run.front(), CallsScreen)
        assert not run.app.home.calls.loaded, "nothing is kept up that nobody shows"
        assert run.text.splitlines()[0].startswith(" Calls   ")
        await run.press("question_mark")
        await in_front(run, HelpScreen)
        assert run.lines("1 2 3 4 5", "Calls, Posture, Lineage, Policy, Repair")
        assert "Homes" not in run.text
        await run.press("q", "ctrl+p")
        await run.type("Home")
        await run.pilot.pause(0.2)
        assert "Home:" not in run.text
