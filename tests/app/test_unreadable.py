"""A ledger that cannot be read: nothing is claimed of the calls in it."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run, Start
from .ledgers import Ledger, a_day


async def test_a_ledger_that_cannot_be_read_says_so(home: Path, start: Start) -> None:
    path = home / "plugin-data" / "agent-ledger" / "ledger.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database at all " * 100)
    async with start((120, 24)) as run:
        await run.until_shown("✕ unreadable", "ledger.db")
        nothing_is_claimed(run)


def nothing_is_claimed(run: Run) -> None:
    """No number, no tick, and no comfort about calls of which nothing is known."""
    top, *rest = run.text.splitlines()
    assert "? calls unknown" in top
    assert not any(digit in top.partition("last change")[0] for digit in "0123456789")
    text = "\n".join(rest)
    for claim in ("nothing was lost", "nothing waits", "nothing is recorded", "no ledger yet", "reading…"):
        assert claim not in text
    assert not {"✓", "◆", "○", "▲"} & set(top)
    assert text.count("cannot be read, so this is not known") == 3
    for title in ("Pending ?", "Ghosts ?", "Settled ?"):
        assert title in text
    (everything,) = [line for line in rest if "All sessions" in line]
    assert "0" not in everything.split("All sessions")[1][:24]


async def test_a_ledger_that_went_and_came_back_as_garbage_stays_as_it_was_read(ledger: Ledger, start: Start) -> None:
    """What was read is still shown, with a mark that it is of before."""
    a_day(ledger)
    path = ledger.paths.ledger
    async with start((120, 24)) as run:
        ledger.db.close()
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        await run.until_shown("▲ stale", "is gone:", "read before", "make release", "2 pending")
        path.write_bytes(b"this is no database at all " * 100)
        await run.until_shown("✕ unreadable", "read before", "make release", "2 pending")
