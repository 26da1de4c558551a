"""What both sources share: a feed that outlives every error, and errors in words."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from .feed import Answer, Feed, Question
from .guard import MISSING, STALE, SourceError, explain
from .health import outlived


class Source:
    """A database that is followed. Lives around the app's run, so that it is closed whatever happens in there."""

    def __init__(self, path: Path, *, what: str, clock: Callable[[], float], floor_s: float) -> None:
        self.path = path
        self.trouble: SourceError | None = None
        """Why the last reading failed; None when it did not."""
        self._held = False
        """Has anything been read that is still shown?"""
        self._what = what
        self._clock = clock
        self._floor_s = floor_s
        self._feed = Feed(path)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._feed.end()

    def at_most_every(self, seconds: float) -> None:
        """Look so seldom, however often the file changes."""
        self._floor_s = seconds

    async def let_go(self) -> None:
        """Closes what is open until it is followed again. Nobody may be following meanwhile."""
        await self._feed.close()

    async def _moments(self) -> AsyncGenerator[None, None]:
        """Yields whenever it is time to look: at once after a quiet time, else at most every `floor_s`. Never ends."""
        loop = asyncio.get_running_loop()
        async with aclosing(self._feed.hints()) as hints:
            async for _ in hints:
                began = loop.time()
                yield
                await asyncio.sleep(max(0.0, self._floor_s - (loop.time() - began)))

    async def _look(self, anew: Callable[[], None], question: Question[Answer]) -> Answer | None:
        """The answer from the file that lies there now; None with `trouble` set where it cannot be read.

        `anew` is called when nothing known so far can be relied on: another file, or a broken one. A locked file
        is the same as before, only later.
        """
        try:
            with self._explained():
                if await self._feed.current():
                    anew()
                answer = await self._feed.ask(question)
        except SourceError as error:
            self.trouble = outlived(error) if self._held else error
            if error.state != STALE:
                await self._feed.close()
                anew()
            return None
        self.trouble = None
        return answer

    @property
    def _missing(self) -> bool:
        return self.trouble is not None and self.trouble.state == MISSING

    async def _ask(self, question: Question[Answer]) -> Answer:
        with self._explained():
            return await self._feed.ask(question)

    async def _ask_slow(self, question: Question[Answer]) -> Answer:
        with self._explained():
            return await self._feed.ask_slow(question)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise explain(self.path, error) from error
        except (ValueError, TypeError, OverflowError) as error:
            raise SourceError(self.path, f"cannot be read ({error})", f"name the {self._what} itself") from error
