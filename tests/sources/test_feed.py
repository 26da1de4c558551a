"""The life of a connection: cancelled, closed, forgotten."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from ledger_tui.sources import feed as feeding
from ledger_tui.sources import hints as hinting
from ledger_tui.sources.feed import Feed, ReadConnection
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.hints import hints

from .conftest import ROOT, make_ledger, remove

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"


def endless(connection: sqlite3.Connection) -> object:
    return connection.execute(ENDLESS).fetchall()


def one(connection: sqlite3.Connection) -> object:
    return connection.execute("SELECT 1").fetchall()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    make_ledger(tmp_path / "ledger.db", 5)
    return tmp_path / "ledger.db"


async def test_a_cancelled_question_frees_its_connection(ledger: Path) -> None:
    async with asyncio.timeout(20), Feed(ledger) as feed:
        task = asyncio.create_task(feed.ask_slow(endless))
        await asyncio.sleep(0.2)
        assert await feed.ask(one) == [(1,)]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await feed.ask_slow(one) == [(1,)]


async def test_closing_interrupts_what_is_asked(ledger: Path) -> None:
    async with asyncio.timeout(20):
        async with Feed(ledger) as feed:
            task = asyncio.create_task(feed.ask_slow(endless))
            await asyncio.sleep(0.2)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            await task
        with pytest.raises(SourceError, match="no longer followed"):
            await feed.ask(one)


async def test_only_another_file_is_a_new_one(ledger: Path, tmp_path: Path) -> None:
    async with Feed(ledger) as feed:
        assert await feed.current()
        assert not await feed.current()
        make_ledger(tmp_path / "other" / "ledger.db", 9, mode="delete")
        (tmp_path / "other" / "ledger.db").replace(ledger)
        assert await feed.current()
        count = await feed.ask(lambda db: db.execute("SELECT count(*) FROM ledger").fetchall())
        assert count == [(9,)]
        remove(ledger)
        with pytest.raises(SourceError) as caught:
            await feed.current()
        assert caught.value.state == "missing"


async def test_a_slow_question_goes_on_with_the_file_that_came(ledger: Path, tmp_path: Path) -> None:
    """Replaced while it is being asked: the answer is about the new file."""
    asked: list[int] = []
    under_way = threading.Event()

    def slow(connection: sqlite3.Connection) -> int:
        asked.append(connection.execute("SELECT count(*) FROM ledger").fetchall()[0][0])
        under_way.set()
        if len(asked) == 1:
            connection.execute(ENDLESS).fetchall()
        return asked[-1]

    async with asyncio.timeout(20), Feed(ledger) as feed:
        await feed.current()
        task = asyncio.create_task(feed.ask_slow(slow))
        await asyncio.to_thread(under_way.wait)
        make_ledger(tmp_path / "other" / "ledger.db", 9, mode="delete")
        (tmp_path / "other" / "ledger.db").replace(ledger)
        await feed.current()
        assert await task == 9
        assert asked == [5, 9]


@pytest.mark.parametrize("ending", ["await asyncio.sleep(0)", "raise SystemExit(3)"])
def test_a_forgotten_connection_does_not_keep_the_process(ledger: Path, ending: str) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom ledger_tui.sources.feed import Feed\n"
        "async def main():\n    feed = Feed(Path(sys.argv[1]))\n    await feed.current()\n"
        f"    await feed.ask(lambda db: db.execute('SELECT 1').fetchall())\n    {ending}\nasyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(ledger)], cwd=ROOT, timeout=60, capture_output=True)
    assert done.returncode == (3 if "3" in ending else 0)


@pytest.mark.parametrize("opens", [True, False])
def test_what_is_answered_after_the_end_is_heard_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens: bool
) -> None:
    """The app is left while a slow disk still opens the file: no traceback of the thread that waits for it."""
    told: list[object] = []
    began, go_on = threading.Event(), threading.Event()

    def slow(path: Path, **_: object) -> sqlite3.Connection:
        began.set()
        assert go_on.wait(60)
        if opens:
            return sqlite3.connect(":memory:", check_same_thread=False)
        raise SourceError(path, "cannot be read", "look")

    async def leave() -> ReadConnection:
        connection = ReadConnection(tmp_path / "ledger.db")
        opening = asyncio.ensure_future(connection._connect())
        connection._thread.start()
        await asyncio.to_thread(began.wait, 60)
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await opening
        return connection

    monkeypatch.setattr(threading, "excepthook", told.append)
    monkeypatch.setattr(feeding, "connect", slow)
    thread = asyncio.run(leave())._thread
    go_on.set()
    thread.join(60)
    assert (thread.is_alive(), told) == (False, [])


async def test_few_databases_are_watched_and_the_others_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = []

    async def watching(path: Path, *_: object) -> AsyncGenerator[None, None]:
        watched.append(path.parent.name)
        while True:
            yield

    monkeypatch.setattr(hinting, "_watch", watching)
    monkeypatch.setattr(hinting, "MOST_WATCHED", 1)
    first, second = (hints(tmp_path / name / "ledger.db", tick_ms=1) for name in ("a", "b"))
    async with asyncio.timeout(20), aclosing(second):
        async with aclosing(first):
            for _ in range(3):
                await anext(first)
                await anext(second)
            assert watched == ["a"]
        await anext(second)
        assert watched == ["a", "b"], "whoever goes makes room"


@pytest.mark.skipif(sys.platform != "linux", reason="paths are texts there")
async def test_a_folder_whose_path_is_no_utf8_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"odd\xff") / "ledger.db"
    path.parent.mkdir()
    async with asyncio.timeout(20), aclosing(hints(path, poll_s=0.001)) as events:
        for _ in range(3):
            await anext(events)


async def test_hints_come_from_a_folder_that_is_made_later_and_made_again(tmp_path: Path) -> None:
    """Beats of an hour: only events can be heard, and the one hint with which a new watch begins."""
    path = tmp_path / "later" / "ledger.db"
    heard = hints(path, tick_ms=3_600_000, poll_s=0.05)
    async with asyncio.timeout(30), aclosing(heard):
        for _ in range(2):
            path.parent.mkdir()
            beats = 0
            # While the folder is being found there are a few beats; then every commit-like write is one.
            while beats < 10:
                await asyncio.gather(anext(heard), asyncio.to_thread(_write_soon, path))
                beats += 1
            await asyncio.to_thread(shutil.rmtree, path.parent)
            await anext(heard)


def _write_soon(path: Path) -> None:
    time.sleep(0.15)
    path.write_bytes(b"x")
