"""How Lineage and the repair look, as text at three sizes and as pictures. Reviewed by eye, kept by snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from agent_ledger.engine.inert import inert
from ledger_tui.routing.repair import holders as holders_module
from ledger_tui.routing.repair import journal as journal_module
from ledger_tui.routing.repair.open_files import Holders
from screens.donors import DonorsScreen

from .conftest import Run, Start
from .repairing import repaired, to_change, walk, walking
from .sessions import Sessions, a_family, a_forest, hostile, two_donors
from .test_lineage_screen import quiet, shown
from .test_looks import picture

SIZES = pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)], ids=["120x36", "80x24", "60x15"])


pytestmark = pytest.mark.usefixtures("nobody_else")


async def still(run: Run) -> None:
    """Toasts have their own tests, and everything in view is drawn."""
    run.app.clear_notifications()
    await quiet(run)


@SIZES
async def test_no_store(start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await run.press("3")
        await run.until_shown("there is no session store yet")
        assert run.text == text_snapshot


@SIZES
async def test_incident(incident: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await shown(run)
        await run.press("j")
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_forest(home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_forest(home)
    async with start(size) as run:
        await shown(run)
        await run.press("n")
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_only_anomalies(
    home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion
) -> None:
    a_forest(home)
    async with start(size) as run:
        await shown(run)
        await run.press("a")
        await run.until_shown("Filter: only:anomalies")
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_deep(home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """A chain of 180 compressions: no row runs off the screen."""
    made = Sessions(home)
    for n in range(180):
        last = n == 179
        made.chat(f"20260530_{n:06d}_c", ago=90_000 - 100 * n, messages=1, title=f"Part {n + 1}",
                  parent_session_id=f"20260530_{n - 1:06d}_c" if n else None,
                  ended_at=None if last else 1_780_142_400.0 - 89_950 + 100 * n,
                  end_reason=None if last else "compression")  # fmt: skip
    async with start(size) as run:
        screen = await shown(run)
        screen.model.fold_all(False)
        screen.action_fold_all()
        screen.action_fold_all()
        await run.until(lambda: len(screen.model) == 180)
        await run.press("pagedown")
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_hostile(home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    hostile(home)
    async with start(size) as run:
        await shown(run)
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_details(home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_family(home)
    async with start(size) as run:
        await shown(run)
        await run.press("n", "n", "enter")
        await run.until_shown("orphan")
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_safety(
    incident: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    held = Holders(True, holding=(inert("process 4102 (python -m hermes gateway)"),))
    monkeypatch.setattr(holders_module, "holders", lambda _store, **_options: held)
    async with start(size) as run:
        await walk(run)
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_findings(home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_forest(home)
    async with start(size) as run:
        await shown(run)
        await run.press("5", "r")
        await walking(run)
        await run.press("n", "j")
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_donors(home: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    two_donors(home)
    async with start(size) as run:
        await shown(run)
        await run.press("5", "r")
        await walking(run)
        await run.press("n", "d")
        await run.until(lambda: isinstance(run.front(), DonorsScreen))
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_change(incident: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await to_change(run)
        await still(run)
        assert run.text == text_snapshot


@SIZES
async def test_question(incident: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await to_change(run)
        await run.press("n")
        await run.type("yes")
        await run.press("enter")
        await run.until_shown("That is not the word")
        assert run.text == text_snapshot


@SIZES
async def test_proof_and_past(
    incident: Path, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The end of the walkthrough, and below it the list in which the repair stands from then on."""
    monkeypatch.setattr(journal_module, "new_id", lambda _now: "20260809T104000Z-0a1b")
    async with start(size) as run:
        await repaired(run)
        await still(run)
        proof = run.text
        await run.press("q", "5")
        await run.until_shown("✓ applied", "Nothing is lost")
        await still(run)
        assert proof + "─" * size[0] + "\n" + run.text == text_snapshot


async def test_picture_of_lineage(home: Path, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_forest(home)
    async with start((130, 32)) as run:
        await shown(run)
        await run.press("n")
        await still(run)
        assert picture(run) == picture_snapshot


async def test_picture_of_safety(
    incident: Path, start: Start, picture_snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Holders(True, holding=(inert("process 4102 (python -m hermes gateway)"),))
    monkeypatch.setattr(holders_module, "holders", lambda _store, **_options: held)
    async with start((110, 24)) as run:
        await walk(run)
        await still(run)
        assert picture(run) == picture_snapshot


async def test_picture_of_findings(home: Path, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_forest(home)
    async with start((130, 32)) as run:
        await shown(run)
        await run.press("5", "r")
        await walking(run)
        await run.press("n", "j")
        await still(run)
        assert picture(run) == picture_snapshot


async def test_picture_of_donors(home: Path, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    two_donors(home)
    async with start((130, 32)) as run:
        await shown(run)
        await run.press("5", "r")
        await walking(run)
        await run.press("n", "d")
        await run.until(lambda: isinstance(run.front(), DonorsScreen))
        await still(run)
        assert picture(run) == picture_snapshot


async def test_picture_of_change(incident: Path, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    async with start((130, 32)) as run:
        await to_change(run)
        await still(run)
        assert picture(run) == picture_snapshot
