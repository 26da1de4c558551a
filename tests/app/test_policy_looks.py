"""How the Policy screen looks, as text at two sizes and as a picture. Reviewed by eye, kept by snapshot."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from .conftest import Start
from .ledgers import Ledger
from .policies import some_decisions, write_mode, write_policy
from .risky import DELETE
from .test_looks import SIZES, picture
from .test_policy_screen import a_host, shown


@SIZES
async def test_off(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    async with start(size) as run:
        await shown(run)
        assert run.text == text_snapshot


@SIZES
async def test_dry_run(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    some_decisions(ledger)
    write_policy(ledger)
    async with start(size) as run:
        await shown(run)
        await run.press("tab")
        await run.until(run.drawn)
        assert run.text == text_snapshot


@SIZES
async def test_tried(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    some_decisions(ledger)
    write_policy(ledger)
    async with start(size) as run:
        screen = await shown(run)
        screen.try_command(DELETE)
        await run.until_shown("✗ block")
        await run.until(run.drawn)
        assert run.text == text_snapshot


@SIZES
async def test_invalid(ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion) -> None:
    write_policy(ledger, mode="on")
    write_mode(ledger.paths.prompt_policy_mode, "enforce")
    a_host(ledger, "0.22.2")
    async with start(size) as run:
        await shown(run)
        assert run.text == text_snapshot


async def test_picture_of_policy(ledger: Ledger, start: Start, picture_snapshot: SnapshotAssertion) -> None:
    some_decisions(ledger)
    write_policy(ledger)
    async with start((130, 32)) as run:
        screen = await shown(run)
        screen.try_command(DELETE)
        await run.until_shown("✗ block")
        await run.until(run.drawn)
        assert picture(run) == picture_snapshot
