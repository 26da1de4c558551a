"""The walkthrough by its keys, with real repairs on temporary copies."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agent_ledger.engine.inert import inert
from ledger_tui.routing.repair import apply as apply_module
from ledger_tui.routing.repair.open_files import Holders
from ledger_tui.routing.repair.refused import RefusedError
from screens import repair_run as run_module
from screens import repair_walk as walk_module
from screens.donors import DonorsScreen
from screens.lineage import LineageScreen
from screens.repair_walk import CHANGE, FINDINGS, PROOF, SAFETY, WRITE
from widgets.prompt_bar import PromptBar

from .conftest import Start
from .ledgers import Clock
from .repairing import (
    KEY,
    LISTS_OPEN_FILES,
    WRITTEN,
    confirmed,
    content,
    journal_of,
    leftovers,
    open_here,
    rows,
    to_change,
    walk,
    walking,
)
from .sessions import ORPHAN, ZOMBIE, a_family, hostile
from .test_lineage_screen import shown

pytestmark = pytest.mark.usefixtures("nobody_else")


async def test_all_the_way_and_back_by_keys_alone(incident: Path, start: Start) -> None:
    before = rows(incident, WRITTEN)
    async with start((120, 36)) as run:
        screen = await walk(run)
        assert screen.step == SAFETY
        await run.until_shown("✓ gateway-lock", "✓ open-files", "Nobody holds the store. n goes on")
        await run.press("n")
        assert screen.step == FINDINGS
        await run.until_shown("✓ accept", "798", "goes on from owner · 12 messages", "45s before this one")
        await run.press("n")
        await run.until_shown(
            "1 row would be taken back", f"session_key       NULL → '{KEY}'", "ended_at          NULL →"
        )
        await run.until_shown("After the next start the chat goes on in the conversation that was lost.")
        await run.press("n")
        await run.until_shown("Type repair to write this change")
        await run.type("repair")
        await run.press("enter")
        await run.until(lambda: screen.step == PROOF, "the proof")
        await run.until_shown(
            "The repair is done, and proven.", "✓ read-back", "✓ integrity", "✓ resolver", "✓ journal"
        )
        written = rows(incident, WRITTEN)
        assert written[ORPHAN][:4] == (KEY, "5550001234", "dm", "5550001234")
        assert written[ZOMBIE][7] == "superseded_by_repair"
        await run.press("u")
        await run.type("undo")
        await run.press("enter")
        await run.until_shown("2 rows as before; the repair is taken back.")
        assert rows(incident, WRITTEN) == before
        await run.press("q")
        await run.until(lambda: isinstance(run.front(), LineageScreen))


@pytest.mark.parametrize("steps", range(4))
async def test_leaving_at_any_step_leaves_the_file_as_it_was(incident: Path, start: Start, steps: int) -> None:
    """Up to the question itself, answered by an empty line."""
    before = content(incident)
    async with start() as run:
        screen = await walk(run)
        for step in range(steps):
            await run.press("n")
            if step == 1:
                await run.until(lambda: screen.model.plan is not None)
        if steps == 3:
            await run.until_shown("Write it?")
            await run.press("enter")
        await run.press("q")
        await run.until_shown("Nothing was changed")
        assert isinstance(run.front(), LineageScreen)
    assert content(incident) == before
    assert leftovers(incident.parent) == []


async def test_another_word_writes_nothing(incident: Path, start: Start) -> None:
    before = content(incident)
    async with start() as run:
        screen = await to_change(run)
        await run.press("n")
        await run.type("yes")
        await run.press("enter")
        await run.until_shown("That is not the word: repair")
        assert screen.query_one(PromptBar).is_open
        await run.press("ctrl+u", "enter", "q")
    assert content(incident) == before


async def test_a_store_in_use_is_looked_at_but_not_written(
    incident: Path, start: Start, nobody_else: list[Holders]
) -> None:
    nobody_else[0] = Holders(True, holding=(inert("process 41 (hermes)"),))
    async with start((100, 30)) as run:
        screen = await walk(run)
        await run.until_shown("✗ open-files: The store is open in process 41 (hermes).", "→ stop the gateway")
        await run.press("n", "n")
        await run.until(lambda: screen.model.plan is not None)
        await run.press("n")
        assert screen.step == WRITE
        await run.until_shown("Nothing was changed.", "process 41 (hermes). (check: open-files)")
        await run.press("b")
        await run.until_shown("would be taken back")
        await run.press("b", "b")
        nobody_else[0] = Holders(True)
        await run.press("c")
        await run.until_shown("Nobody holds the store. n goes on")


async def test_somebody_who_comes_after_the_checks_is_noticed(
    incident: Path, start: Start, nobody_else: list[Holders], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the word was typed before the next look at who is there."""
    monkeypatch.setattr(walk_module, "WATCH_S", 3600.0)
    async with start((100, 30)) as run:
        screen = await to_change(run)
        nobody_else[0] = Holders(True, holding=(inert("process 41 (hermes)"),))
        await confirmed(run)
        await run.until(lambda: screen.step == WRITE and "Nothing was changed" in run.text, "a refusal")
        await run.until_shown("process 41 (hermes)", "→ stop the gateway")
    assert rows(incident, "session_key")[ORPHAN] == (None,)


async def test_where_nothing_can_be_seen_a_person_says_that_all_is_stopped(
    incident: Path, start: Start, nobody_else: list[Holders]
) -> None:
    nobody_else[0] = Holders(False)
    async with start((100, 30)) as run:
        await to_change(run)
        await run.press("n")
        await run.until_shown("Type stopped if all of Hermes is stopped")
        await run.type("stopped")
        await run.press("enter")
        await run.until_shown("Type repair to write this change")
        await run.type("repair")
        await run.press("enter")
        await run.until_shown("The repair is done, and proven.")
    assert "who typed it in the app" in journal_of(incident.parent)


async def test_what_could_not_be_proven_is_not_called_proven(
    incident: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the commit, reading back fails: the rows are written all the same."""

    def fail(*_arguments: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(apply_module, "_read_back", fail)
    async with start((100, 30)) as run:
        screen = await to_change(run)
        await confirmed(run)
        await run.until(lambda: screen.step == PROOF, "the proof")
        await run.until_shown("The repair is written, but not all of it could be proven.", "disk I/O error")
    assert rows(incident, "session_key")[ORPHAN] == (KEY,)


async def test_an_error_of_the_disk_claims_nothing(
    incident: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_module, "apply", fail)
    async with start((100, 30)) as run:
        screen = await to_change(run)
        await confirmed(run)
        await run.until(lambda: screen.step == WRITE and "It stopped by an error." in run.text, "the error")
        await run.until_shown("No space left on device", "the list of repairs says (key 5)")
        assert "Nothing was changed" not in run.text


@LISTS_OPEN_FILES
async def test_the_app_holds_nothing_open_while_it_writes_and_follows_again(
    incident: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[list[str]] = []

    def look(path: Path, *_arguments: object, **_options: object) -> None:
        held.append(open_here(path))
        raise RefusedError("this is only a test", "go on")

    monkeypatch.setattr(run_module, "apply", look)
    async with start((100, 30)) as run:
        screen = await to_change(run)
        assert open_here(incident)
        await confirmed(run)
        await run.until(lambda: screen.step == WRITE and held, "a try")
        assert held == [[]]
        with sqlite3.connect(incident) as db:
            db.execute("UPDATE sessions SET title = 'A new title' WHERE id = ?", (ORPHAN,))
        await run.until(lambda: run.app.home.desk.titles.get(ORPHAN) == "A new title", "the title")
        await run.press("q")
        await run.until_shown("A new title")


async def test_a_skipped_finding_is_not_written(incident: Path, start: Start) -> None:
    async with start() as run:
        screen = await walk(run)
        await run.press("n", "s")
        await run.until_shown("– skip")
        await run.press("n")
        await run.until_shown("Nothing would be changed.", "left as it is, skipped by you")
        assert "--only" not in run.text
        await run.press("n")
        await run.until_shown("There is nothing to write")
        assert screen.step == CHANGE
        await run.press("b", "a")
        await run.until_shown("✓ accept")


async def test_what_is_written_meanwhile_and_changes_nothing_of_it_disturbs_nobody(
    home: Path, clock: Clock, start: Start
) -> None:
    made = a_family(home)
    async with start((100, 30)) as run:
        screen = await to_change(run)
        seen, survey_before = screen.model.plan, screen.model.survey
        await run.press("n")
        await run.until_shown("Write it?")
        made.chat("later", ago=100, messages=2, session_key="agent:main:telegram:dm:99")
        await run.until(lambda: screen.model.survey is not survey_before, "another reading")
        await run.until(lambda: screen.model.plan is seen, "the same plan")
        assert screen.query_one(PromptBar).is_open
        assert "The store was written to" not in run.text


async def test_hostile_names_stay_text(home: Path, start: Start) -> None:
    made = hostile(home)
    made.add("\x1b]0;lost\x07[/l]", ago=800, messages=3, user_id="42", title="\u202e[bold]lost\x1b[2J")
    for size in ((120, 36), (60, 15)):
        async with start(size) as run:
            await shown(run)
            await run.press("5", "r")
            screen = await walking(run)
            await run.press("n")
            await run.press("d")
            await run.until(lambda: isinstance(run.front(), DonorsScreen))
            assert not {"\x1b", "\u202e", "\x07"} & set(run.text)
            await run.press("q", "n")
            await run.until(lambda: screen.model.plan is not None)  # noqa: B023 - awaited at once
            assert not {"\x1b", "\u202e", "\x07"} & set(run.text)
