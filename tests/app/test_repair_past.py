"""Repairs of the past: listed with their state, undone late, refused where rows have changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.plan import propose
from ledger_tui.routing.survey import survey

from .conftest import Start
from .repairing import WRITTEN, repaired, rows
from .sessions import INCIDENT_NOW, ORPHAN

pytestmark = pytest.mark.usefixtures("nobody_else")


async def test_past_repairs_and_a_late_undo(incident: Path, start: Start) -> None:
    before = rows(incident, WRITTEN)
    async with start((100, 30)) as run:
        await repaired(run)
    async with start((100, 30)) as run:
        await run.press("5")
        await run.until_shown("✓ applied", "it took effect", "Nothing is lost")
        await run.press("u")
        await run.until_shown("Take it back?")
        await run.type("undo")
        await run.press("enter")
        await run.until_shown(
            "↺ undone", "is taken back: 2 rows as before.", "1 session can be taken back on clear evidence"
        )
    assert rows(incident, WRITTEN) == before


async def test_a_refused_undo_names_the_row(incident: Path, start: Start) -> None:
    async with start((100, 30)) as run:
        await repaired(run)
    with sqlite3.connect(incident) as db:
        db.execute("UPDATE sessions SET chat_id = 'other' WHERE id = ?", (ORPHAN,))
    db.close()
    async with start((100, 30)) as run:
        await run.press("5")
        await run.until_shown("✓ applied")
        await run.press("u")
        await run.type("undo")
        await run.press("enter")
        await run.until_shown("Nothing was changed.", "chat_id")
    assert rows(incident, "chat_id")[ORPHAN] == ("other",)


async def test_a_repair_that_was_cut_short_is_listed_as_not_applied(incident: Path, start: Start) -> None:
    """Its process ended after the journal was on the disk and before anything was written."""
    home = incident.parent
    found = survey(read_store(incident, home), now=INCIDENT_NOW)
    plan = propose(incident, found, now=INCIDENT_NOW)

    def die(stage: str) -> None:
        if stage == "prepared":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(incident, home, plan, clock=lambda: INCIDENT_NOW, fault=die)
    async with start((100, 30)) as run:
        await run.press("5")
        await run.until_shown(
            "– not applied", "it was cut short and changed nothing", "its process ended in the middle"
        )
        assert "u Undo" not in run.text
