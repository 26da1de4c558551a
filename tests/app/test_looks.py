"""How the screens look, as text at two sizes and as one picture a screen. Reviewed by eye, kept by snapshot."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from screens.calls import CallsScreen

from .conftest import SNAPSHOTS, Run, Start
from .ledgers import Ledger, a_day, looked_at

SIZES = pytest.mark.parametrize("size", [(80, 24), (60, 15)], ids=["80x24", "60x15"])


def picture(run: Run) -> str:
    return run.app.export_screenshot(title="ledger-tui") + "\n"


@SIZES
async def test_empty(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await run.until_shown("nothing is recorded yet")
        assert run.text == text_snapshot


@SIZES
async def test_missing(start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await run.until_shown("missing")
        assert run.text == text_snapshot


@SIZES
async def test_live(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    async with start(size) as run:
        assert run.text == text_snapshot


@SIZES
async def test_many(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """More rows in every pane than fit, and more sessions."""
    ledger.db.execute("BEGIN")
    for n in range(1200):
        ledger.done("terminal", {"command": f"echo {n}"}, ago=9000 - n, session=f"2026053{n % 2}_{n % 40:06d}_aa")
    for n in range(40):
        ledger.issue("patch", {"path": f"f{n}.py"}, ago=10 * n + 1, session="20260530_000001_aa")
        ledger.issue("cronjob", {"name": f"job {n}"}, ago=4000 + n, status="GHOST_REPORTED", reported_ts="2026-05-30")
    ledger.db.execute("COMMIT")
    async with start(size) as run:
        await run.press("j", "j")
        assert run.text == text_snapshot


@SIZES
async def test_ghost(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """A ghost was just reported; its pane has the keys, the toast is up."""
    a_day(ledger)
    async with start(size) as run:
        await run.press("shift+tab")
        ledger.report(9)
        await run.until_shown("patch #9 was lost")
        assert run.text == text_snapshot


@SIZES
async def test_degraded(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    ledger.paths.spool.mkdir(mode=0o700)
    (ledger.paths.spool / "1.jsonl").write_text(3 * '{"kind": "issue"}\n')
    async with start(size) as run:
        await run.until_shown("3 spooled")
        assert run.text == text_snapshot


@pytest.mark.parametrize("size", [(40, 12), (200, 60)], ids=["40x12", "200x60"])
async def test_tiny_and_huge(
    ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion
) -> None:
    a_day(ledger)
    async with start(size) as run:
        assert run.text == text_snapshot


@SIZES
async def test_filter(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    async with start(size) as run:
        run.calls.filter_by("tool:terminal")
        await run.settle()
        await run.press("slash")
        await run.type(" since:x")
        await run.press("enter")
        assert run.text == text_snapshot


@SIZES
async def test_details(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    async with start(size) as run:
        await run.press("j", "enter")
        await run.settle()
        assert run.text == text_snapshot


@SIZES
async def test_verdicts(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """Lost calls of which somebody knows whether they landed."""
    a_day(ledger)
    looked_at(ledger)
    async with start(size) as run:
        await run.press("shift+tab")
        assert run.text == text_snapshot


@SIZES
async def test_landed(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """The details of a call that landed, and was done once more."""
    a_day(ledger)
    looked_at(ledger)
    async with start(size) as run:
        await run.press("shift+tab", "j", "j", "enter")
        await run.until_shown("write_file  #12", "did it land?", "done twice")
        assert run.text == text_snapshot


async def test_picture_of_verdicts(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    looked_at(ledger)
    async with start((130, 32)) as run:
        await run.press("shift+tab")
        await run.until_shown("↓ landed", "∅ absent", "? unknown", "not checked")
        assert picture(run) == picture_snapshot


async def test_picture_of_landed(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    looked_at(ledger)
    async with start((130, 32)) as run:
        await run.press("shift+tab", "j", "j", "enter")
        await run.until_shown("↓ landed", "possible double")
        assert picture(run) == picture_snapshot


@SIZES
async def test_help(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await run.press("question_mark")
        assert run.text == text_snapshot


@SIZES
async def test_hostile(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """Escapes, bidi controls, markup, wide characters and stacked marks, as rows and in the details."""
    ledger.done("\x1b]0;owned\x07term", {"command": "\x1b[2J\x1b[31mred\u202eevil"}, ago=50, session="\u202es\x1b[H")
    ledger.done("[@click=app.quit]x[/]", {"path": "[bold red]x[/bold red] [/nope]"}, ago=40)
    ledger.done("write_file", {"path": "五月の予算を全部まとめた表.csv", "content": "👩‍👩‍👧❤️"}, ago=30)
    ledger.done("patch", {"path": "e" + "\u0301" * 40 + "nd"}, ago=20)
    async with start(size) as run:
        assert run.text == text_snapshot


async def test_picture_of_calls(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    state = sqlite3.connect(ledger.paths.state)
    state.execute("CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, title TEXT)")
    state.execute("INSERT INTO sessions VALUES('20260530_114502_77b0de', 'telegram', 'Release and minutes')")
    state.execute("INSERT INTO sessions VALUES('20260530_081204_9f3c1a', 'cli', 'Nightly backup')")
    state.commit()
    state.close()
    async with start((130, 32)) as run:
        await run.until_shown("Release and minutes")
        await run.press("j")
        assert picture(run) == picture_snapshot


async def test_picture_of_details(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    async with start((130, 32)) as run:
        await run.press("tab", "tab", "enter")
        await run.until_shown("repeats")
        assert picture(run) == picture_snapshot


async def test_picture_of_help(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    async with start((130, 32)) as run:
        await run.press("question_mark")
        assert picture(run) == picture_snapshot


async def test_without_colours_the_states_are_still_told_apart(
    ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_day(ledger)
    monkeypatch.setenv("NO_COLOR", "1")
    async with start((130, 32)) as run:
        assert run.app.no_color
        for mark in ("○ pending", "▲ overdue", "◆ ghost", "✓ confirmed", "✗ error", "↺ revived", "● live"):
            assert mark in run.text
        assert isinstance(run.front(), CallsScreen)


def test_every_folder_of_snapshots_belongs_to_a_test() -> None:
    folder = Path(__file__).parent
    for kept in os.listdir(SNAPSHOTS):
        assert list(folder.parent.rglob(f"{kept}.py")), f"snapshots/{kept} has no test module any more"
