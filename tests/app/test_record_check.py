"""The check of the record, over any screen: what it says, that it can be left, what a bad ledger comes to."""

from __future__ import annotations

import threading

import pytest
from syrupy.assertion import SnapshotAssertion

from agent_ledger.engine.call_rows import CallRows
from agent_ledger.engine.chain import check
from agent_ledger.engine.outcome import Outcome
from agent_ledger.engine.records import utc_text
from ledger_tui.sources.record import Watch
from screens.record_check import RecordCheckScreen, progress

from .conftest import Run, Start
from .ledgers import NOW, Ledger

DONE = Outcome("CONFIRMED", "done", None, 5, "ok")


def recorded(ledger: Ledger, calls: int) -> None:
    """Calls as the hooks write them, each confirmed, their seals included."""
    rows = CallRows(ledger.db)
    for number in range(calls):
        ts, now_us = utc_text(NOW - calls + number), int((NOW - calls + number) * 1_000_000)
        ids = ("s1", "s1:t:1", f"c{number}", "t", "r")
        row = (ts, *ids, "terminal", "{}", 0, 0, None, None, "PENDING", 120.0, 1.0, None, None, None, None)
        call_id = rows.insert(row, now_us=now_us)
        assert rows.settle(call_id, f"c{number}", DONE, by="post", ts=ts, now_us=now_us + 1)


async def asked(run: Run) -> None:
    await run.press("ctrl+p")
    await run.type("check the record")
    await run.until_shown("Check the record")
    await run.press("down", "enter")
    await run.until(lambda: isinstance(run.front(), RecordCheckScreen), "the check")


async def test_a_whole_record(ledger: Ledger, start: Start) -> None:
    recorded(ledger, 12)
    async with start() as run:
        await asked(run)
        await run.until_shown("Whole: 24 records of 12 calls.", "q closes")
        await run.press("q")
        assert run.front() is run.calls


@pytest.mark.parametrize("size", [(80, 24), (60, 15)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_an_edited_call_is_named(
    ledger: Ledger, start: Start, size: tuple[int, int], text_snapshot: SnapshotAssertion
) -> None:
    recorded(ledger, 12)
    ledger.db.execute('UPDATE ledger SET args_json=\'{"command": "ls"}\' WHERE id = 7')
    async with start(size) as run:
        await asked(run)
        await run.until_shown("Not whole.", "Call #7 is not as it was recorded", "q closes")
        assert run.text == text_snapshot


async def test_nothing_recorded(start: Start) -> None:
    async with start(settled=False) as run:
        await asked(run)
        await run.until_shown("Nothing recorded yet.")


async def test_a_ledger_that_is_none(ledger: Ledger, start: Start) -> None:
    recorded(ledger, 2)
    async with start() as run:
        ledger.db.close()
        for end in ("", "-wal", "-shm"):
            ledger.paths.ledger.with_name(f"ledger.db{end}").unlink(missing_ok=True)
        ledger.paths.ledger.write_bytes(b"this is no database" * 500)
        await asked(run)
        await run.until_shown("is no SQLite database", "q closes")


async def test_a_ledger_by_a_newer_plugin_is_not_judged(ledger: Ledger, start: Start) -> None:
    recorded(ledger, 2)
    ledger.db.execute("PRAGMA user_version=99")
    async with start() as run:
        await asked(run)
        await run.until_shown("is by a newer plugin", "q closes")


async def test_leaving_it_stops_the_check(ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(ledger, 30)
    monkeypatch.setattr(check, "STEP", 1)
    note, begun, go_on, seen = Watch.note, threading.Event(), threading.Event(), []

    def held(watch: Watch, rows: int, total: int) -> None:
        seen.append(rows)
        begun.set()
        go_on.wait(20)
        note(watch, rows, total)

    monkeypatch.setattr(Watch, "note", held)
    async with start() as run:
        await asked(run)
        await run.until(begun.is_set, "the check's first word")
        await run.press("q")
        assert run.front() is run.calls
        go_on.set()
    assert seen == [1]


def test_progress_in_a_line() -> None:
    watch = Watch()
    assert progress(watch) == "Checking…"
    watch.rows, watch.total = 5_000, 1_200_000
    assert progress(watch) == "Checking: 5,000 of 1,200,000 calls"
