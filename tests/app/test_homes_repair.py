"""A repair in one home, while the app shows another beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ledger_tui.routing.repair.refused import RefusedError
from screens import repair_run as run_module
from screens.repair_walk import PROOF, WRITE

from .conftest import StartFleet
from .fleet import Fleet
from .ledgers import Clock
from .repairing import KEY, LISTS_OPEN_FILES, confirmed, open_here, rows, to_change
from .sessions import INCIDENT_NOW, ORPHAN, the_incident
from .test_lineage_screen import shown

pytestmark = pytest.mark.usefixtures("nobody_else")


@pytest.fixture
def stores(fleet: Fleet, clock: Clock) -> tuple[Path, Path]:
    """The same lost conversation in two homes, by the same ids."""
    clock.now = INCIDENT_NOW
    for name in ("default", "coder"):
        fleet.ledger(name)
    return the_incident(fleet.folder / "default"), the_incident(fleet.folder / "coder")


@LISTS_OPEN_FILES
async def test_a_repair_closes_the_readers_of_its_own_home_only(
    stores: tuple[Path, Path], start_fleet: StartFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, others = stores
    held: list[tuple[bool, bool]] = []

    def look(path: Path, *_arguments: object, **_options: object) -> None:
        held.append((bool(open_here(path)), bool(open_here(others))))
        raise RefusedError("this is only a test", "go on")

    monkeypatch.setattr(run_module, "apply", look)
    async with start_fleet("default", "coder") as run:
        screen = await to_change(run)
        await run.until(lambda: open_here(mine) and open_here(others), "readers of both")
        await confirmed(run)
        await run.until(lambda: screen.step == WRITE and held, "a try")
        assert held == [(False, True)]
        with sqlite3.connect(others) as db:
            db.execute("UPDATE sessions SET title = 'A new title' WHERE id = ?", (ORPHAN,))
        first, second = run.app.homes
        await run.until(lambda: second.desk.titles.get(ORPHAN) == "A new title", "the title in the other home")
        assert first.desk.titles.get(ORPHAN) != "A new title"


async def test_a_repair_writes_to_the_home_it_was_shown_for(stores: tuple[Path, Path], start_fleet: StartFleet) -> None:
    mine, others = stores
    before = rows(others, "session_key")
    async with start_fleet("coder", "default", size=(120, 36)) as run:
        await run.press("j")
        screen = await to_change(run)
        await run.until_shown(f"session_key       NULL → '{KEY}'")
        await confirmed(run)
        await run.until(lambda: screen.step == PROOF, "the proof")
        assert rows(mine, "session_key")[ORPHAN] == (KEY,)
        assert rows(others, "session_key") == before
        await run.press("q", "0", "k")
        await shown(run)
        await run.until_shown("Lineage coder", "◇ 1 orphan")
