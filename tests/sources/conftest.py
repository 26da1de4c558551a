"""Ledgers with a real writer process, and an ear on a source."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import utc_text

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_767_355_200.0
"""2026-01-02T12:00:00Z"""

Change = TypeVar("Change")

_WRITER = """
import json, os, sqlite3, sys
from agent_ledger.engine import process, schema
path, mode = sys.argv[1:3]
os.makedirs(os.path.dirname(path), exist_ok=True)
db = sqlite3.connect(path, isolation_level=None, timeout=1.0)
db.execute(f"PRAGMA journal_mode={mode}").fetchall()
if len(sys.argv) == 3:
    schema.prepare(db)
    me = process.identity()
    db.execute("INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts) VALUES(?,?,?,?,?,'')",
               (me.pid, me.started, me.boot_id, me.pid_namespace, me.machine))
for line in sys.stdin:
    sql, params, times = json.loads(line)
    try:
        for _ in range(times):
            rows = db.execute(sql, params).fetchall()
        print(json.dumps(["ok", rows]), flush=True)
    except sqlite3.Error as error:
        print(json.dumps([error.sqlite_errorname, []]), flush=True)
"""


class WriterProcess:
    """Another process that holds a database open for writing, as the plugin does, and does as it is told."""

    def __init__(self, path: Path, mode: str = "wal", *, prepare: bool = True) -> None:
        self.path = path
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), mode, *([] if prepare else ["bare"])],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.run("SELECT 1") == [[1]]

    def try_(self, sql: str, params: tuple[Any, ...] = (), *, times: int = 1) -> tuple[str, list[list[Any]]]:
        """`ok` or the name of the error, and the rows."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([sql, params, times]) + "\n")
        self._process.stdin.flush()
        name, rows = json.loads(self._process.stdout.readline())
        return name, rows

    def run(self, sql: str, params: tuple[Any, ...] = ()) -> list[list[Any]]:
        name, rows = self.try_(sql, params)
        assert name == "ok", name
        return rows

    def issue(self, changed: int, **values: Any) -> int:
        """A PENDING row of this process. Returns its id."""
        row = {"ts": utc_text(NOW), "session_id": "s1", "tool_name": "write_file", "args_json": "{}", "writer_id": 1}
        row |= {"status": "PENDING", "changed": changed} | values
        marks = ",".join("?" * len(row))
        return int(
            self.run(f"INSERT INTO ledger({','.join(row)}) VALUES({marks}) RETURNING id", tuple(row.values()))[0][0]
        )

    def settle(self, row: int, changed: int, status: str = "CONFIRMED") -> None:
        self.run("UPDATE ledger SET status = ?, changed = ? WHERE id = ?", (status, changed, row))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)

    def close(self) -> None:
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "home")


@pytest.fixture
def start_writer(paths: Paths) -> Iterator[Callable[..., WriterProcess]]:
    """Starts writer processes, on the home's ledger where no other path is given, and ends them."""
    started: list[WriterProcess] = []

    def start(path: Path | None = None, mode: str = "wal", *, prepare: bool = True) -> WriterProcess:
        started.append(WriterProcess(path or paths.ledger, mode, prepare=prepare))
        return started[-1]

    yield start
    for writer in started:
        writer.close()


def make_ledger(path: Path, rows: int, *, mode: str = "wal", status: str = "'CONFIRMED'") -> None:
    """A ledger of `rows` rows; `status` is SQL over `n`, the id. Row n has change counter 10 n and session s<n % 7>."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute(f"PRAGMA journal_mode={mode}")
        schema.prepare(db)
        db.execute(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT ?)"
            " INSERT INTO ledger(id, ts, session_id, tool_name, args_json, status, changed)"
            f" SELECT n, ?, 's' || (n % 7), 'terminal', 'word' || n, {status}, n * 10 FROM c",
            (rows, utc_text(NOW)),
        )
    db.close()


class Ear(Generic[Change]):
    """Hears a source's changes while a test goes on."""

    def __init__(self) -> None:
        self.heard: list[Change] = []
        self._read = 0
        self._news = asyncio.Condition()

    async def listen(self, changes: AsyncIterator[Change]) -> None:
        async for change in changes:
            async with self._news:
                self.heard.append(change)
                self._news.notify_all()

    async def until(self, wanted: Callable[[Change], bool]) -> Change:
        """The first change not yet looked at for which `wanted` holds."""
        async with asyncio.timeout(20):
            while True:
                while self._read < len(self.heard):
                    self._read += 1
                    if wanted(self.heard[self._read - 1]):
                        return self.heard[self._read - 1]
                async with self._news:
                    if self._read == len(self.heard):
                        await self._news.wait()


@asynccontextmanager
async def listening(changes: AsyncIterator[Change]) -> AsyncGenerator[Ear[Change], None]:
    ear: Ear[Change] = Ear()
    task = asyncio.create_task(ear.listen(changes))
    try:
        yield ear
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def remove(*paths: Path) -> None:
    for path in paths:
        path.unlink()
