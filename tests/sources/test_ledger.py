"""The ledger as a stream, with another process at the other end of the file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.queries import Filter
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.health import Health
from ledger_tui.sources.ledger import LedgerSource
from ledger_tui.sources.reading import Totals

from .conftest import NOW, WriterProcess, listening, make_ledger, remove

Start = Callable[..., WriterProcess]


async def test_missing_file_is_said_at_once_and_its_first_row_arrives(paths: Paths, start_writer: Start) -> None:
    async with LedgerSource(paths, clock=lambda: NOW) as source, listening(source.changes()) as ear:
        first = await ear.until(lambda _: True)
        assert (first.health.state, first.reset, first.calls, first.totals) == ("missing", True, (), Totals())
        assert first.at == NOW
        assert await source.page(Filter()) == []
        assert await source.call(1) is None
        writer = start_writer()
        writer.issue(100)
        seen = await ear.until(lambda change: change.totals.rows == 1)
        assert seen.health.state == "ok"
        assert seen.health.text == ""
        assert [(call.id, call.status) for call in await source.page(Filter())] == [(1, "PENDING")]


async def test_each_change_comes_with_counts_that_agree(paths: Paths, start_writer: Start) -> None:
    writer = start_writer()
    writer.issue(100)
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        first = await ear.until(lambda change: change.reset)
        assert [call.id for call in first.calls] == [1]
        assert first.totals == Totals(rows=1, pending=1)
        assert first.same_boot_writers == {1}
        assert first.dead_writers == frozenset()
        writer.settle(1, 110, "ERROR:timeout")
        second = await ear.until(lambda change: bool(change.calls))
        assert (second.reset, second.calls[0].status, second.totals) == (
            False,
            "ERROR:timeout",
            Totals(rows=1, error=1),
        )
        writer.issue(120, status="GHOST_REPORTED", reported_ts="2026-01-02T12:00:00.000Z")
        third = await ear.until(lambda change: bool(change.calls))
        assert third.totals == Totals(rows=2, error=1, ghost=1)
        writer.settle(2, 130)
        fourth = await ear.until(lambda change: bool(change.calls))
        assert fourth.totals == Totals(rows=2, error=1, revived=1)


def overwrite(path: Path, at: int, new: bytes) -> bytes:
    """Bytes in the middle of a file, by another process. Returns those that stood there."""
    script = (
        "import os, sys\nfile = os.open(sys.argv[1], os.O_RDWR)\n"
        "at, new = int(sys.argv[2]), bytes.fromhex(sys.argv[3])\n"
        "print(os.pread(file, len(new), at).hex())\nos.pwrite(file, new, at)"
    )
    words = [sys.executable, "-c", script, str(path), str(at), new.hex()]
    return bytes.fromhex(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


async def test_file_replaced_by_rename_is_read_anew(paths: Paths, tmp_path: Path, start_writer: Start) -> None:
    start_writer().issue(100)
    make_ledger(tmp_path / "other" / "copy.db", 3, mode="delete")
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 1)
        remove(*(Path(f"{paths.ledger}{end}") for end in ("-wal", "-shm")))
        os.replace(tmp_path / "other" / "copy.db", paths.ledger)
        seen = await ear.until(lambda change: change.totals.rows == 3)
        assert seen.reset
        assert [call.id for call in seen.calls] == [1, 2, 3]


async def test_file_deleted_and_made_again(paths: Paths, start_writer: Start) -> None:
    start_writer().issue(100)
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 1)
        remove(*(Path(f"{paths.ledger}{end}") for end in ("", "-wal", "-shm")))
        gone = await ear.until(lambda change: change.health.state == "stale")
        assert (gone.reset, gone.totals.rows) == (False, 1)
        assert "is gone: what is shown was read before" in gone.health.text
        with pytest.raises(SourceError, match="does not exist"):  # Not an empty page: nobody knows what was in it.
            await source.page(Filter())
        writer = start_writer()
        writer.issue(200)
        writer.issue(201)
        seen = await ear.until(lambda change: change.totals.rows == 2)
        assert (seen.health.state, seen.reset) == ("ok", True)


async def test_damage_under_a_write_ahead_log_is_seen(paths: Paths, start_writer: Start) -> None:
    """A connection that read the head before the damage believes what it read: somebody must look again."""
    writer = start_writer()
    writer.issue(100)
    writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 1)
        sound = overwrite(paths.ledger, 0, b"\xff" * 100)
        seen = await ear.until(lambda change: change.health.state == "unreadable")
        assert (seen.reset, seen.totals.rows) == (False, 1)
        assert "is no SQLite database" in seen.health.text
        overwrite(paths.ledger, 0, sound)
        assert (await ear.until(lambda change: change.health.state == "ok")).reset


async def test_pruned_head_means_to_forget(paths: Paths, start_writer: Start) -> None:
    writer = start_writer()
    for changed in (100, 101, 102, 103):
        writer.issue(changed, status="CONFIRMED")
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        first = await ear.until(lambda change: change.totals.rows == 4)
        assert first.gone_through == 1
        writer.run("DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT 2)")
        seen = await ear.until(lambda change: change.totals.rows == 2)
        assert (seen.reset, seen.gone_through, [call.id for call in seen.calls]) == (True, 3, [3, 4])


async def test_a_holder_outside_wal_mode_never_finds_it_busy(paths: Paths, start_writer: Start) -> None:
    make_ledger(paths.ledger, 30_000, mode="delete", status="CASE n % 100 WHEN 0 THEN 'PENDING' ELSE 'CONFIRMED' END")
    writer = start_writer(mode="delete")
    assert writer.run("PRAGMA journal_mode") == [["delete"]]
    insert = (
        "INSERT INTO ledger(ts, tool_name, status, changed) SELECT ts, 't', 'CONFIRMED', max(changed) + 1 FROM ledger"
    )
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 30_000)
        answers = []
        for _ in range(15):
            reads = asyncio.gather(source.session_totals(), source.page(Filter(text="nothing like this")))
            answers.append((await asyncio.to_thread(writer.try_, insert, (), times=10))[0])
            await reads
        assert answers == ["ok"] * 15
        seen = await ear.until(lambda change: change.totals.rows == 30_150)
        assert (seen.totals.pending, seen.health.state) == (300, "ok")


async def test_readers_leave_no_trace_that_a_holder_could_notice(paths: Paths, start_writer: Start) -> None:
    writer = start_writer()
    writer.issue(100)
    sidecars = [Path(f"{paths.ledger}{end}") for end in ("", "-wal", "-shm")]
    before = [(path.stat().st_ino, path.stat().st_mode, path.stat().st_size) for path in sidecars]
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 1)
        for _ in range(100):
            await source.page(Filter())
            await source.session_totals()
        assert [(path.stat().st_ino, path.stat().st_mode, path.stat().st_size) for path in sidecars] == before
        writer.issue(101)
        # Nothing of ours is in the way of a checkpoint that needs all readers gone: busy, log, checkpointed.
        assert writer.run("PRAGMA wal_checkpoint(TRUNCATE)") == [[0, 0, 0]]
        await ear.until(lambda change: change.totals.rows == 2)
    writer.issue(102)


async def test_locked_file_keeps_what_was_read_and_recovers(paths: Paths, start_writer: Start) -> None:
    writer = start_writer(mode="delete")
    writer.issue(100)
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 1)
        writer.run("BEGIN EXCLUSIVE")
        stale = await ear.until(lambda change: change.health.state == "stale")
        assert (stale.reset, stale.totals) == (False, Totals(rows=1, pending=1))
        assert "locked" in stale.health.text
        writer.issue(101)
        writer.run("COMMIT")
        seen = await ear.until(lambda change: change.totals.rows == 2)
        assert (seen.reset, seen.health.state, [call.id for call in seen.calls]) == (False, "ok", [2])


async def test_damaged_file_keeps_what_was_read_and_recovers(paths: Paths, tmp_path: Path) -> None:
    make_ledger(paths.ledger, 2000, mode="delete")
    whole = paths.ledger.read_bytes()
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 2000)
        broken = tmp_path / "broken"
        broken.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
        os.replace(broken, paths.ledger)
        seen = await ear.until(lambda change: change.health.state == "unreadable")
        assert (seen.reset, seen.totals.rows) == (False, 2000)
        assert "damaged" in seen.health.text
        broken.write_bytes(b"no database at all, but long enough to be looked at" * 100)
        os.replace(broken, paths.ledger)
        await ear.until(lambda change: "no SQLite database" in change.health.text)
        with pytest.raises(SourceError, match="no SQLite database"):
            await source.page(Filter())
        broken.write_bytes(whole)
        os.replace(broken, paths.ledger)
        back = await ear.until(lambda change: change.health.state == "ok")
        assert (back.reset, back.totals.rows) == (True, 2000)


async def test_a_database_of_something_else_is_named_so(paths: Paths) -> None:
    paths.data.mkdir(parents=True)
    with sqlite3.connect(paths.ledger) as db:
        db.execute("CREATE TABLE recipe(id, title)")
    db.close()
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        seen = await ear.until(lambda change: change.health.state == "unreadable")
        assert "a database without a ledger in it" in seen.health.text


async def test_ledger_of_other_software_is_followed_without_a_counter(paths: Paths, start_writer: Start) -> None:
    writer = start_writer(prepare=False)
    writer.run("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    insert = "INSERT INTO ledger(ts, tool_name, status, args_json) VALUES(?, 'terminal', ?, '{\"command\": \"ls\"}')"
    writer.run(insert, (NOW, "PENDING"))
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        first = await ear.until(lambda change: change.reset and change.totals.rows == 1)
        assert first.health.read_only_schema
        assert (first.calls[0].at, first.calls[0].session_id, first.calls[0].changed) == (NOW, None, 0)
        writer.run(insert, (NOW + 1, "CONFIRMED"))
        second = await ear.until(lambda change: bool(change.calls))
        assert ([call.id for call in second.calls], second.totals) == ([2], Totals(rows=2, pending=1, confirmed=1))
        writer.run("UPDATE ledger SET status = 'CONFIRMED' WHERE id = 1")
        third = await ear.until(lambda change: bool(change.calls))
        assert ([call.id for call in third.calls], third.reset, third.totals) == (
            [1],
            False,
            Totals(rows=2, confirmed=2),
        )
        assert await source.same_calls(1) == []
        assert [(session.session_id, session.rows) for session in await source.session_totals()] == [("", 2)]


async def test_killed_writer_is_found_dead(paths: Paths, start_writer: Start) -> None:
    writer = start_writer()
    writer.issue(100)
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        first = await ear.until(lambda change: change.totals.rows == 1)
        assert first.dead_writers == frozenset()
        writer.kill()
        seen = await ear.until(lambda change: bool(change.dead_writers))
        assert (seen.dead_writers, seen.reset, seen.totals.pending) == (frozenset({1}), False, 1)


async def test_waiting_records_degrade_health(paths: Paths, start_writer: Start) -> None:
    start_writer().issue(100)
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.health.state == "ok")
        paths.spool.mkdir(mode=0o700)
        waiting = paths.spool / "a.jsonl"
        waiting.touch(0o600)
        waiting.write_text('{"kind": "writer"}\n{"kind": "pre", "at": "2026-01-02T12:00:00.000Z"}\n{"kind": "post"}\n')
        seen = await ear.until(lambda change: change.health.state == "degraded")
        assert seen.health.spooled == 2
        assert "2 records wait" in seen.health.text
        waiting.unlink()
        assert (await ear.until(lambda change: change.health.state == "ok")).health.spooled == 0


async def test_records_that_were_set_aside_degrade_health_until_they_are_moved_away(
    paths: Paths, start_writer: Start
) -> None:
    start_writer().issue(100)
    async with LedgerSource(paths) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.health.state == "ok")
        paths.spool.mkdir(mode=0o700)
        aside = paths.spool / "unreadable.txt"
        aside.write_text("{torn\n")
        seen = (await ear.until(lambda change: change.health.set_aside == 1)).health
        assert (seen.state, seen.spooled) == ("degraded", 0)
        assert "1 record was not understood and is in no ledger: look into spool/unreadable.txt" in seen.text
        (paths.spool / "a.jsonl").write_text('{"kind": "post"}\n')
        aside.write_text("{torn\n{torn")
        seen = (await ear.until(lambda change: change.health.set_aside == 2 and change.health.spooled == 1)).health
        assert seen.text.startswith("1 record waits")
        assert "2 records were not understood and are in no ledger" in seen.text
        (paths.spool / "a.jsonl").unlink()
        aside.rename(paths.spool / "looked-at.txt")
        await ear.until(lambda change: change.health == Health())


async def test_pages_go_both_ways(paths: Paths) -> None:
    make_ledger(paths.ledger, 30)
    async with LedgerSource(paths) as source:
        assert [call.id for call in await source.page(Filter(), limit=3)] == [30, 29, 28]
        assert [call.id for call in await source.page(Filter(), before_id=28, limit=3)] == [27, 26, 25]
        assert [call.id for call in await source.page(Filter(), after_id=25, limit=3)] == [26, 27, 28]
        assert [call.id for call in await source.page(Filter(session_id="s1"), limit=3)] == [29, 22, 15]
        assert await source.tool_names() == ["terminal"]
        found = await source.call(7)
        assert found is not None
        assert found.args_json == "word7"


async def test_repeats_are_found_from_any_of_them(paths: Paths) -> None:
    make_ledger(paths.ledger, 6)
    with sqlite3.connect(paths.ledger) as db:
        db.execute("UPDATE ledger SET args_hash = x'01' WHERE id IN (1, 3, 5, 6)")
        db.execute("UPDATE ledger SET repeat_of = 1 WHERE id = 3")
        db.execute("UPDATE ledger SET repeat_of = 1 WHERE id = 5")
    db.close()
    async with LedgerSource(paths) as source:
        assert [call.id for call in await source.same_calls(1)] == [3, 5]
        assert [call.id for call in await source.same_calls(5)] == [1, 3]
        assert await source.same_calls(6) == []
        assert await source.same_calls(2) == []


async def test_a_link_is_followed_to_where_commits_go(paths: Paths, tmp_path: Path, start_writer: Start) -> None:
    writer = start_writer(tmp_path / "elsewhere" / "real.db")
    writer.issue(100)
    link = tmp_path / "link?.db"
    link.symlink_to(writer.path)
    async with LedgerSource(paths, ledger=link) as source, listening(source.changes()) as ear:
        await ear.until(lambda change: change.totals.rows == 1)
        writer.issue(101)
        seen = await ear.until(lambda change: change.totals.rows == 2)
        assert [call.id for call in seen.calls] == [2]
