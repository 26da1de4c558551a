"""One database, held open read-only for the life of the app: a connection for short questions, one for slow ones.

The connection stays open because opening one for each reading touches the file's sidecars, which would be the
next event to wake up for.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import aiosqlite

from .guard import SourceError, check, connect
from .hints import hints

Answer = TypeVar("Answer")
Question = Callable[[sqlite3.Connection], Answer]
"""What is to be read, as a function that runs in the connection's own thread: one hop, however many statements."""

BUSY_S = 0.25
"""How long a statement waits for a holder that is just committing (outside WAL mode)."""


class ReadConnection(aiosqlite.Connection):
    """A read-only aiosqlite connection that answers whole questions, and never keeps the process from ending."""

    def __init__(self, path: Path) -> None:
        super().__init__(partial(connect, path, timeout_s=BUSY_S), 64)
        # A forgotten close must not leave a process that never ends.
        self._thread.daemon = True
        answering = self._thread.run

        def answer_while_somebody_hears() -> None:
            # An answer after the app has ended finds its loop closed; errors of a question itself are answers, too.
            with suppress(RuntimeError):
                answering()

        self._thread.run = answer_while_somebody_hears  # type: ignore[method-assign]  # Its target is aiosqlite's own.

    async def ask(self, question: Question[Answer]) -> Answer:
        """The answer to `question`. When cancelled, its running statement is interrupted."""
        try:
            answer: Answer = await self._execute(lambda: question(self._conn))  # type: ignore[no-untyped-call]  # aiosqlite
        except asyncio.CancelledError:
            with suppress(ValueError, sqlite3.Error):
                await self.interrupt()
            raise
        return answer

    async def end(self) -> None:
        """Closes at once: what is still being asked is interrupted."""
        with suppress(ValueError, sqlite3.Error):
            await self.interrupt()
        with suppress(ValueError, sqlite3.Error):
            await asyncio.shield(self.close())


class _Line:
    """One connection, opened by the first question; questions take turns, so that a cancelled one interrupts itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = asyncio.Lock()
        self._opening = asyncio.Lock()
        self.connection: ReadConnection | None = None
        self.closed = False

    async def ask(self, question: Question[Answer]) -> Answer:
        async with self._turn:
            while True:
                connection = await self.opened()
                try:
                    return await connection.ask(question)
                except (sqlite3.OperationalError, ValueError):
                    if self.closed or self.connection is connection:
                        raise
                    # It was closed under the question, as another file lies there now: that one is asked.

    async def opened(self) -> ReadConnection:
        async with self._opening:
            if self.connection is None and not self.closed:
                connection = ReadConnection(self._path)
                await connection
                self.connection = connection
            if self.closed or self.connection is None:
                await self.close()
                raise SourceError(self._path, "is no longer followed", "open it again")
            return self.connection

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            await connection.end()


class Feed:
    """`async with Feed(path) as feed: async for _ in feed.hints(): await feed.ask(...)`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._quick = _Line(path)
        self._slow = _Line(path)
        self._file: tuple[int, int] | None = None
        self._written: tuple[int, int] | None = None
        """Time and size of the file when it was last found sound."""

    async def __aenter__(self) -> Feed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end()

    def hints(self) -> AsyncGenerator[None, None]:
        """Yields when the file may have changed, and at least once a second. Never ends."""
        return hints(self.path)

    async def current(self) -> bool:
        """Sees to it that the connection is to the file that lies there now. True when it is a new one.

        Raises SourceError where there is none, or none that may be opened.
        """
        try:
            info = os.stat(self.path)
        except OSError:
            await self.close()
            info = check(self.path)
        file = (info.st_dev, info.st_ino)
        written = (info.st_mtime_ns, info.st_size)
        if file == self._file and self._quick.connection is not None:
            if written != self._written and await self.ask(_has_log):
                await asyncio.to_thread(_read_head, self.path)
            self._written = written
            return False
        await self.close()
        await self._quick.opened()
        self._file, self._written = file, written
        return True

    async def ask(self, question: Question[Answer]) -> Answer:
        """The answer to a short question. Raises sqlite3.Error, SourceError, and what the question raises."""
        return await self._quick.ask(question)

    async def ask_slow(self, question: Question[Answer]) -> Answer:
        """The same on the connection for questions that a person can wait for, and may call off."""
        return await self._slow.ask(question)

    async def close(self) -> None:
        """Closes what is open; the next question opens it anew."""
        self._file = None
        await self._quick.close()
        await self._slow.close()

    async def end(self) -> None:
        """Closes for good: what is still asked fails."""
        self._quick.closed = self._slow.closed = True
        await self.close()


def _has_log(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


def _read_head(path: Path) -> None:
    """Raises sqlite3.Error where the file is no sound database any more, SourceError where it cannot be opened.

    A connection with a write-ahead log believes what it read of the file itself before: only another one looks again.
    The file seldom changes then, when the log is emptied into it or somebody damages it.
    """
    with closing(connect(path, timeout_s=BUSY_S)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
