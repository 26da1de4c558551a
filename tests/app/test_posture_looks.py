"""How the Posture screen looks, as text at three sizes and as a picture. Reviewed by eye, kept by snapshot."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from .conftest import Start
from .ledgers import Ledger, a_day
from .risky import DELETE, a_risky_day
from .test_looks import SIZES, picture
from .test_posture_screen import shown


@SIZES
async def test_empty(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await shown(run)
        assert run.text == text_snapshot


@SIZES
async def test_findings(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    a_risky_day(ledger)
    async with start(size) as run:
        await shown(run)
        assert run.text == text_snapshot


@SIZES
async def test_filter(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    a_risky_day(ledger)
    async with start(size) as run:
        screen = await shown(run)
        screen.filter_by("asi:05 rule:pipe")
        await run.pilot.pause()
        assert run.text == text_snapshot


@SIZES
async def test_many(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    """More findings than fit, and a score far below zero."""
    ledger.db.execute("BEGIN")
    for number in range(600):
        ledger.done("terminal", {"command": DELETE}, ago=90_000 - 100 * number, session=f"20260529_{number:06d}_aa")
    ledger.db.execute("COMMIT")
    async with start(size) as run:
        await shown(run)
        await run.press("G")
        assert run.text == text_snapshot


async def test_huge(ledger: Ledger, start: Start, text_snapshot: SnapshotAssertion) -> None:
    a_risky_day(ledger)
    async with start((200, 60)) as run:
        await shown(run)
        assert run.text == text_snapshot


async def test_picture_of_posture(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    a_day(ledger)
    a_risky_day(ledger)
    async with start((130, 32)) as run:
        await shown(run)
        assert picture(run) == picture_snapshot


async def test_without_colours_nothing_is_lost(ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    a_risky_day(ledger)
    monkeypatch.setenv("NO_COLOR", "1")
    async with start((130, 32)) as run:
        await shown(run)
        for mark in ("CRITICAL", "not observable", "(extension)", "→ 32"):
            assert mark in run.text
