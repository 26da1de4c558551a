"""One database, held open read-only for the life of the app: a connection for short questions, one for slow ones.

The connection stays open because opening one for each reading touches the file's sidecars, which would be the
next event to wake up for.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import aiosqlite

from .guard import check, connect
from .hints import hints

Answer = TypeVar("Answer")
Question = Callable[[sqlite3.Connection], Answer]
"""What is to be read, as a function that runs in the connection's own thread: one hop, however many statements."""

BUSY_S = 0.25


class ReadConnection(aiosqlite.Connection):
    """A read-only aiosqlite connection that answers whole questions, and never keeps the process from ending."""

    def __init__(self, path: Path) -> None:
        super().__init__(partial(connect, path, timeout_s=BUSY_S), 64)
        # A forgotten close must not leave a process that never ends.
        self._thread.daemon = True

    async def ask(self, question: Question[Answer]) -> Answer:
        """The answer to `question`. When cancelled, its running statement is interrupted."""
        try:
            answer: Answer = await self._execute(lambda: question(self._conn))  # type: ignore[no-untyped-call]
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


async def _open(path: Path) -> ReadConnection:
    connection = ReadConnection(path)
    await connection
    return connection


class Feed:
    """`async with Feed(path) as feed: async for _ in feed.hints(): await feed.ask(...)`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._quick: ReadConnection | None = None
        self._slow: ReadConnection | None = None
        self._file: tuple[int, int] | None = None
        self._quick_lock = asyncio.Lock()
        self._slow_lock = asyncio.Lock()

    async def __aenter__(self) -> Feed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def hints(self) -> AsyncGenerator[None, None]:
        """Yields when the file may have changed, and at least once a second. Never ends."""
        return hints(self.path)

    async def current(self) -> bool:
        """Sees to it that the connection is to the file that lies there now. True when it is a new one.

        Raises SourceError where there is none, or none that may be opened.
        """
        async with self._quick_lock:
            try:
                info = check(self.path) if self._quick is None else os.stat(self.path)
            except FileNotFoundError:
                await self.close()
                info = check(self.path)
            file = (info.st_dev, info.st_ino)
            if self._quick is not None and file == self._file:
                return False
            await self.close()
            self._quick, self._file = await _open(self.path), file
            return True

    async def ask(self, question: Question[Answer]) -> Answer:
        """The answer to a short question. Raises sqlite3.Error, SourceError, and what the question raises."""
        async with self._quick_lock:
            if self._quick is None:
                info = check(self.path)
                self._quick, self._file = await _open(self.path), (info.st_dev, info.st_ino)
            return await self._quick.ask(question)

    async def ask_slow(self, question: Question[Answer]) -> Answer:
        """The same on the connection for questions that a person can wait for, and may call off."""
        async with self._slow_lock:
            if self._slow is None:
                check(self.path)
                self._slow = await _open(self.path)
            return await self._slow.ask(question)

    async def close(self) -> None:
        """Closes what is open; the next question opens it anew."""
        quick, self._quick = self._quick, None
        slow, self._slow = self._slow, None
        self._file = None
        for connection in (quick, slow):
            if connection is not None:
                await connection.end()
