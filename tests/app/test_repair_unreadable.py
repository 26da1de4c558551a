"""A session store, or a journal, that cannot be read: said in one sentence with what to do, and nothing claimed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger_tui.routing.repair import journal as journals
from ledger_tui.sources.guard import SourceError
from screens import repair_run as run_module
from screens.lineage import LineageScreen
from screens.repair import RepairScreen
from screens.repair_walk import FINDINGS, SAFETY, RepairWalkScreen
from screens.repair_words import about_repair

from .conftest import Run, Start
from .repairing import repaired
from .sessions import a_family
from .test_lineage_screen import shown

pytestmark = pytest.mark.usefixtures("nobody_else")


def no_database(store: Path) -> None:
    store.write_bytes(b"this is no database at all " * 100)


def no_rights(store: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    a_family(store.parent).db.close()
    store.chmod(0)


def no_file(store: Path) -> None:
    store.mkdir()


def hot_journal(store: Path) -> None:
    """A process died inside its transaction, in SQLite's older journal mode."""
    with sqlite3.connect(store) as db:
        db.execute("CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, started_at REAL)")
        db.executemany("INSERT INTO sessions VALUES(?, 'telegram', 1)", [(f"s{n}" * 40,) for n in range(2000)])
    db.close()
    code = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 2'); db.execute('BEGIN'); db.execute('UPDATE sessions SET started_at = 2.5')\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(store)], check=True, timeout=60)
    assert store.with_name("state.db-journal").stat().st_size


CASES = pytest.mark.parametrize(
    ("spoil", "reason", "remedy"),
    [
        (no_database, "is no SQLite database", "move this one away"),
        (no_rights, "cannot be opened", "check the rights"),
        (no_file, "is not a file", "name the database file itself"),
        (hot_journal, "was left in the middle of a write", "start the program that owns it once"),
    ],
    ids=["no database", "no rights", "no file", "hot journal"],
)
Spoil = Callable[[Path], None]


def spoiled(home: Path, spoil: Spoil) -> None:
    home.mkdir()
    spoil(home / "state.db")


def in_one_line(run: Run) -> str:
    """The screen's text, lines put together as they were before they were wrapped."""
    return " ".join(run.text.split())


async def told(run: Run, reason: str, remedy: str) -> None:
    await run.until(lambda: reason in in_one_line(run) and remedy in in_one_line(run), f"{reason} … {remedy}")
    assert "reading…" not in run.text
    assert "reading the sessions" not in run.text


@CASES
async def test_lineage_says_why_there_is_no_tree(
    home: Path, start: Start, spoil: Spoil, reason: str, remedy: str
) -> None:
    spoiled(home, spoil)
    async with start((120, 24)) as run:
        await run.press("3")
        await run.until(lambda: isinstance(run.front(), LineageScreen))
        await told(run, reason, remedy)
        await run.until_shown("the sessions cannot be read, so nothing is known of them", "unreadable")


@CASES
@pytest.mark.parametrize("size", [(120, 24), (60, 15)], ids=["120x24", "60x15"])
async def test_repair_says_it_and_lets_nobody_pass(
    home: Path, start: Start, spoil: Spoil, reason: str, remedy: str, size: tuple[int, int]
) -> None:
    spoiled(home, spoil)
    async with start(size) as run:
        await run.press("5")
        await run.until(lambda: isinstance(run.front(), RepairScreen))
        await told(run, reason, remedy)
        assert "The sessions cannot be read, so nobody knows whether anything is lost." in in_one_line(run)
        await run.press("r")
        await run.until(lambda: isinstance(run.front(), RepairWalkScreen))
        screen = run.front()
        assert isinstance(screen, RepairWalkScreen)
        await told(run, reason, remedy)
        assert screen.step == SAFETY
        await run.press("n")
        await told(run, reason, remedy)
        await run.press("n", "n", "n")
        assert screen.step == FINDINGS
        assert "✓ Findings" not in run.text
        assert "nothing is lost" not in run.text


async def test_a_store_that_is_put_right_lets_the_walkthrough_go_on(home: Path, start: Start) -> None:
    spoiled(home, no_database)
    async with start((120, 24)) as run:
        await run.press("5", "r")
        await run.until_shown("is no SQLite database")
        await run.press("n")
        (home / "state.db").unlink()
        a_family(home)
        await run.until_shown("✓ accept")
        assert "is no SQLite database" not in run.text
        await run.press("n")
        await run.until_shown("1 row would be taken back")


async def test_a_change_that_cannot_be_worked_out_is_no_endless_work(
    home: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is locked for longer than anybody waits, after it was read."""

    def locked(path: Path, *_arguments: object, **_options: object) -> None:
        raise SourceError(path, "is locked by another process", "try again in a moment")

    a_family(home)
    async with start((100, 30)) as run:
        await run.press("5", "r")
        await run.until_shown("leases:")
        await run.press("n")
        await run.until_shown("✓ accept")
        with monkeypatch.context() as busy:
            busy.setattr(run_module, "propose", locked)
            await run.press("n")
            await run.until_shown("is locked by another process", "The change could not be worked out")
        await run.press("b", "n")
        await run.until_shown("1 row would be taken back")
        assert "is locked by another process" not in run.text


async def test_no_store_at_all_is_no_endless_reading(home: Path, start: Start) -> None:
    async with start() as run:
        await run.press("5")
        await run.until_shown("There is no session store yet, so nothing is lost.")


async def test_journals_that_nobody_understands_are_listed(home: Path, start: Start) -> None:
    a_family(home)
    async with start((100, 30)) as run:
        await repaired(run)
    folder = journals.folder(home)
    (folder / "20260101T000000Z-beef.json").write_text("{")
    async with start((100, 30)) as run:
        await shown(run)
        await run.press("5")
        await run.until_shown("? unreadable", "20260101T000000Z-beef", "✓ applied")
        await run.until(lambda: "cannot be understood, so the app cannot take its repair back" in in_one_line(run))
        assert "→ put its rows back by hand from the copy beside it, then move the journal away" in run.text
        assert "u Undo" not in run.text
        await run.press("j")
        await run.until_shown("it took effect", "u Undo")


async def test_a_store_behind_links_that_lead_round_is_only_another_store(home: Path, start: Start) -> None:
    a_family(home)
    async with start((100, 30)) as run:
        await repaired(run)
        await run.press("q", "5")
        await run.until_shown("✓ applied")
        screen = run.front()
        assert isinstance(screen, RepairScreen)
        loop = home / "loop.db"
        loop.symlink_to(loop.name)
        told = about_repair(screen.past.at(0), str, loop)
        assert f"of another store: {(home / 'state.db').resolve()}" in told
        assert "of another store" not in about_repair(screen.past.at(0), str, home / "state.db")
