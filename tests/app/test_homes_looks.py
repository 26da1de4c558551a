"""How several homes side by side look, at four sizes and as a picture. Reviewed by eye, kept by snapshot."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from .conftest import StartFleet
from .fleet import Fleet
from .ledgers import a_day, looked_at
from .test_looks import picture

SIZES = pytest.mark.parametrize("size", [(80, 24), (60, 15), (120, 36), (200, 60)], ids="{0[0]}x{0[1]}".format)
NAMES = ("default", "coder", "night", "torn", "nowhere")


def five(fleet: Fleet) -> None:
    """A busy home, a small one, a quiet one, one whose ledger is no database, and one that is not there."""
    busy = fleet.ledger("default")
    a_day(busy)
    looked_at(busy)
    coder = fleet.ledger("coder")
    for n in range(30):
        coder.done("terminal", {"command": f"make {n}"}, ago=600 - n)
    coder.issue("write_file", {"path": "src/main.py", "content": "x"}, ago=200)
    coder.issue("terminal", {"command": "make release"}, ago=20)
    fleet.ledger("night").done("terminal", {"command": "ls"}, ago=60_000)
    fleet.broken("torn")


@SIZES
async def test_homes(
    fleet: Fleet, start_fleet: StartFleet, size: tuple[int, int], text_snapshot: SnapshotAssertion
) -> None:
    five(fleet)
    async with start_fleet(*NAMES, size=size) as run:
        await run.press("j", "j", "j")
        await run.until_shown("torn: unreadable")
        assert run.text == text_snapshot


async def test_more_homes_than_fit(fleet: Fleet, start_fleet: StartFleet, text_snapshot: SnapshotAssertion) -> None:
    names = [f"agent-{n:02d}-of-the-long-hall" for n in range(12)]
    for n, name in enumerate(names):
        fleet.ledger(name).issue("terminal", {"command": f"make {n}"}, ago=10 * n)
    async with start_fleet(*names, size=(60, 15)) as run:
        await run.press("G")
        await run.until_shown("homes/agent-11")
        assert run.text == text_snapshot


async def test_picture_of_homes(fleet: Fleet, start_fleet: StartFleet, picture_snapshot: SnapshotAssertion) -> None:
    five(fleet)
    async with start_fleet(*NAMES, size=(130, 24)) as run:
        await run.press("tab", "j")
        await run.until_shown(" default: homes/default")
        assert picture(run) == picture_snapshot


async def test_without_colours_every_state_has_its_mark(
    fleet: Fleet, start_fleet: StartFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    five(fleet)
    monkeypatch.setenv("NO_COLOR", "1")
    async with start_fleet(*NAMES) as run:
        assert run.app.no_color
        for mark in ("○ 2", "▲ 2", "◆ 4", "✗ 2", "● live", "✕ unreadable", "◌ missing", "▲ overdue", "◆ ghost"):
            assert mark in run.text


async def test_paths_keep_their_ends(fleet: Fleet, start_fleet: StartFleet) -> None:
    names = ("somewhere/far/away/kim", "somewhere/far/away/ada")
    for name in names:
        fleet.ledger(name).issue("terminal", {"command": "make"}, ago=10)
    async with start_fleet(*names, size=(80, 24)) as run:
        for end in ("/kim", "/ada"):
            assert len(run.lines("…/far/away" + end)) == 2, "in both tables"
