"""Somebody writes to the store while a word is awaited: what is done is what stood on the screen, or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_ledger.engine.inert import inert
from ledger_tui.routing import live as live_module
from ledger_tui.routing.repair.open_files import Holders
from screens import repair as repair_module
from screens import repair_walk as walk_module
from screens.donors import DonorsScreen
from screens.repair import RepairScreen
from screens.repair_walk import CHANGE, FINDINGS, PROOF, WRITE
from widgets.prompt_bar import PromptBar

from .conftest import Run, Start
from .ledgers import NOW
from .repairing import confirmed, repaired, rows, to_change, walking
from .sessions import Sessions, a_family, two_donors
from .test_lineage_screen import shown

OTHER_CHAT = "UPDATE sessions SET chat_id = '4242' WHERE id = 'tip'"
"""The lost row of the family would be given this chat instead of 42."""


pytestmark = pytest.mark.usefixtures("nobody_else", "watchful")


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the store is still as it was is looked at often."""
    monkeypatch.setattr(walk_module, "WATCH_S", 0.05)


def elsewhere(store: Path, sql: str) -> None:
    """Another process writes to the store."""
    code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.close()"
    subprocess.run([sys.executable, "-c", code, str(store), sql], check=True, timeout=60)


def is_open(run: Run) -> bool:
    return run.front().query_one(PromptBar).is_open


def line_with(run: Run, part: str) -> str:
    return next(line for line in run.text.splitlines() if part in line)


async def test_another_plan_withdraws_the_question_and_marks_what_is_new(home: Path, start: Start) -> None:
    store = a_family(home).path
    before = rows(store, "session_key, chat_id, ended_at")
    async with start((110, 30)) as run:
        screen = await to_change(run)
        await run.until_shown("chat_id           NULL → '42'")
        await run.press("n")
        await run.until_shown("Type repair to write this change")
        bar = screen.query_one(PromptBar)
        elsewhere(store, OTHER_CHAT)
        await run.until_shown("this is the change as it would be now, with 1 new line (◀ new) and 1 line gone")
        assert (is_open(run), screen.step) == (False, CHANGE)
        assert line_with(run, "chat_id           NULL").rstrip().endswith("'4242'  ◀ new")
        assert "◀ new" not in line_with(run, "session_key       NULL")
        bar.post_message(PromptBar.Answered(bar, "repair", "repair"))  # As one that was on its way at that moment.
        await run.type("repair")
        await run.press("enter")
        assert rows(store, "session_key, chat_id, ended_at")["lost"] == before["lost"]
        assert screen.step == CHANGE
        await run.press("n")
        await run.until_shown("Type repair to write this change")
        assert "The store was written to" not in run.text
        await run.type("repair")
        await run.press("enter")
        await run.until(lambda: screen.step == PROOF, "the proof")
    assert rows(store, "chat_id")["lost"] == ("4242",)


async def test_what_was_not_read_yet_is_refused_and_never_written(
    home: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app has not noticed the change when the word is typed: the plan that was seen no longer fits the store."""
    store = a_family(home).path
    async with start((110, 30)) as run:
        screen = await to_change(run)
        seen = screen.model.plan
        with monkeypatch.context() as blind:
            blind.setattr(live_module, "_mark", lambda _path: run.app.home.desk.lineage._mark)
            elsewhere(store, OTHER_CHAT)
            await confirmed(run)
            await run.until(lambda: screen.step == WRITE and "Nothing was changed" in run.text, "a refusal")
            assert rows(store, "chat_id")["lost"] == (None,)
            assert screen.model.plan is seen
        await run.press("b")
        await run.until_shown("The store was written to: this is the change", "'4242'  ◀ new")


async def test_a_check_that_turns_to_fail_withdraws_the_question(
    home: Path, start: Start, nobody_else: list[Holders]
) -> None:
    a_family(home)
    async with start((110, 30)) as run:
        screen = await to_change(run)
        await run.press("n")
        await run.until_shown("Type repair")
        nobody_else[0] = Holders(True, holding=(inert("process 41 (hermes)"),))
        await run.until_shown("open-files: The store is open in process 41 (hermes). → stop the gateway")
        assert (is_open(run), screen.step) == (False, CHANGE)
        await run.press("n")
        await run.until_shown("Nothing was changed.", "process 41")


async def test_who_said_that_all_is_stopped_is_asked_again(
    home: Path, start: Start, nobody_else: list[Holders]
) -> None:
    nobody_else[0] = Holders(False)
    store = a_family(home).path
    async with start((110, 30)) as run:
        await to_change(run)
        await run.press("n")
        await run.until_shown("Type stopped")
        await run.type("stopped")
        await run.press("enter")
        await run.until_shown("Type repair")
        elsewhere(store, OTHER_CHAT)
        await run.until_shown("The store was written to")
        assert not is_open(run)
        await run.press("n")
        await run.until_shown("Type stopped")
        elsewhere(store, "UPDATE sessions SET chat_id = '77' WHERE id = 'tip'")
        await run.until_shown("'77'  ◀ new")
        assert not is_open(run)


async def test_the_end_of_a_talk_is_asked_of_the_session_that_was_in_view(home: Path, start: Start) -> None:
    made = Sessions(home)
    made.chat("old", ago=2_500_000, messages=4, title="Garden plan")
    async with start((110, 30)) as run:
        await shown(run)
        await run.press("r")
        screen = await walking(run)
        await run.press("n", "a")
        await run.until_shown("Is its talk over?")
        elsewhere(
            made.path,
            "INSERT INTO messages(session_id, role, content, timestamp)"
            f" VALUES('old', 'user', 'still here', {NOW - 2_400_000})",
        )
        await run.until_shown("this session is not as it was when you were asked")
        assert (is_open(run), screen.step, screen.model.ends) == (False, FINDINGS, frozenset())
        await run.press("a")
        await run.type("end")
        await run.press("enter")
        await run.until_shown("■ end")


async def test_a_choice_is_asked_anew_where_the_sessions_are_others(home: Path, start: Start) -> None:
    store = two_donors(home).path
    async with start((120, 36)) as run:
        await shown(run)
        await run.press("5", "r")
        screen = await walking(run)
        await run.press("n", "d")
        await run.until(lambda: isinstance(run.front(), DonorsScreen))
        await run.press("enter")
        await run.until_shown("It goes on from this one?")
        elsewhere(store, "UPDATE sessions SET title = 'Chat of carla' WHERE id = 'anna'")
        await run.until_shown("these sessions are not as they were", "Chat of carla")
        assert not is_open(run)
        await run.press("enter")
        await run.until_shown("It goes on from this one?")
        elsewhere(store, "UPDATE sessions SET source = 'discord' WHERE id = 'bert'")
        await run.until_shown("there are others to choose from now")
        assert not is_open(run)
        await run.press("enter")
        assert not is_open(run)
        await run.press("q")
        await run.until(lambda: run.front() is screen)
    assert screen.model.choices == {}


async def test_an_undo_is_withdrawn_where_the_rows_are_others(home: Path, start: Start) -> None:
    store = a_family(home).path
    async with start((110, 30)) as run:
        await repaired(run)
        await run.press("u")
        await run.until_shown("Take it back?")
        elsewhere(store, "UPDATE sessions SET chat_id = 'other' WHERE id = 'lost'")
        await run.until_shown("The repair or its rows are not as they were when you were asked")
        assert not is_open(run)
    assert rows(store, "chat_id")["lost"] == ("other",)


async def test_the_same_holds_for_the_list_of_repairs(
    home: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_module, "LOOK_S", 0.05)
    store = a_family(home).path
    async with start((110, 30)) as run:
        await repaired(run)
    async with start((110, 30)) as run:
        await run.press("5")
        await run.until_shown("✓ applied")
        screen = run.front()
        assert isinstance(screen, RepairScreen)
        await run.press("u")
        await run.until_shown("Take it back?")
        elsewhere(store, "UPDATE sessions SET chat_id = 'other' WHERE id = 'lost'")
        await run.until_shown("The repair or its rows are not as they were when you were asked")
        assert not is_open(run)
        bar = screen.query_one(PromptBar)
        bar.post_message(PromptBar.Answered(bar, "", "undo"))
        await run.press("j")
        assert "is taken back" not in run.text
    assert rows(store, "chat_id")["lost"] == ("other",)
