"""Ways into the walkthrough, and what a store and its journals hold, for the tests of repairs."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from screens.repair_walk import RepairWalkScreen
from tests.routing import corpus

from .conftest import Run
from .test_lineage_screen import shown

KEY = corpus.KEY

WRITTEN = "session_key, chat_id, chat_type, user_id, parent_session_id, model_config, ended_at, end_reason"


async def walk(run: Run) -> RepairWalkScreen:
    """From the lineage into the walkthrough, checks asked."""
    await shown(run)
    await run.press("r")
    return await walking(run)


async def walking(run: Run) -> RepairWalkScreen:
    await run.until(lambda: isinstance(run.front(), RepairWalkScreen), "the walkthrough")
    screen = run.front()
    assert isinstance(screen, RepairWalkScreen)
    await run.until_shown("leases:")
    return screen


async def to_change(run: Run) -> RepairWalkScreen:
    screen = await walk(run)
    await run.press("n", "n")
    await run.until(lambda: screen.model.plan is not None, "a plan")
    return screen


async def confirmed(run: Run) -> None:
    """From the change on: it is wanted, by the word that is asked for."""
    await run.press("n")
    await run.type("repair")
    await run.press("enter")


async def repaired(run: Run) -> None:
    """All the way from the lineage to the proof."""
    await to_change(run)
    await confirmed(run)
    await run.until_shown("The repair is done, and proven.")


def rows(store: Path, columns: str) -> dict[str, tuple[object, ...]]:
    with sqlite3.connect(store) as db:
        found = {row[0]: row[1:] for row in db.execute(f"SELECT id, {columns} FROM sessions")}
    db.close()
    return found


LISTS_OPEN_FILES = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list open files")


def open_here(store: Path) -> list[str]:
    """Descriptors that this process has of the store and the files beside it."""
    folder = Path("/proc/self/fd")
    targets = [os.readlink(one) for one in folder.iterdir() if one.is_symlink()]
    return [target for target in targets if target.startswith(str(store.resolve()))]


def content(store: Path) -> bytes:
    """Only while no app has the store open: closing the file would take its locks away."""
    return store.read_bytes()


def leftovers(home: Path) -> list[Path]:
    """Files that a repair, or a store open for writing, would have left."""
    return [*home.glob("state.db-*"), *home.glob("plugin-data/**/repairs/*")]


def journal_of(home: Path) -> str:
    (journal,) = (home / "plugin-data" / "agent-ledger" / "repairs").glob("*.json")
    return journal.read_text()
