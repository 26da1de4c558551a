"""The survey as a stream for the app: read in a thread, only while somebody looks, and never often."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ledger.engine.inert import inert
from ledger_tui.sources.guard import MISSING, SourceError, real_path
from ledger_tui.sources.health import outlived

from .ignored import IgnoredFile
from .progress import Progress, ReadingStoppedError, Stopped, Tell

if TYPE_CHECKING:
    from .details import Excerpt
    from .survey import Survey

REST_S = 2.0
"""Least time from the end of one reading to the start of the next."""

REST_FACTOR = 20.0
"""The same, as a multiple of the time that the reading took."""

LOOK_S = 0.5
"""How often it is asked whether the file changed at all."""

CALLED_OFF_S = 5.0
"""A reading goes on for so long after the last one looked away: somebody who asks for help comes back."""

TELL_S = 0.1
"""How often a running reading says how far it has come."""


@dataclass(frozen=True, slots=True)
class SurveyChange:
    """What is known now. `survey` stays the one before while the next is being read, and while reading fails."""

    survey: Survey | None
    fresh: bool
    """Is the survey another one than in the change before?"""
    progress: Progress | None
    """How far the running reading is; None when nothing is being read."""
    trouble: SourceError | None
    took_s: float
    """How long the last whole reading took."""
    note: str = ""
    """What is wrong beside the store: the file of what was set aside cannot be read."""

    @property
    def missing(self) -> bool:
        """There is no store at all."""
        return self.trouble is not None and self.trouble.state == MISSING


Read = Callable[[Tell, Stopped], "Survey"]


class LiveSurvey:
    """`look(who)` and `leave(who)` say whether anybody wants it; `changes()` is for one listener."""

    def __init__(
        self,
        path: Path,
        home: Path,
        data: Path,
        *,
        clock: Callable[[], float],
        mono: Callable[[], float] = time.monotonic,
        read: Read | None = None,
    ) -> None:
        """`data` is the folder beside the ledger; `read` stands for the reading of the file in tests."""
        self.path, self.home = path, home
        self.ignored = IgnoredFile(data)
        self._clock, self._mono = clock, mono
        self._read = read or self._survey
        self._lookers: set[Hashable] = set()
        self._left_at = 0.0
        self._wanted = asyncio.Event()
        self._sooner = asyncio.Event()
        self._resting = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.last: SurveyChange | None = None
        """What the last whole reading came to, for a screen that is made after it."""
        self._mark: tuple[object, ...] | None = None
        self._progress: Progress | None = None

    # What screens say

    def look(self, who: Hashable) -> None:
        """From now on somebody looks."""
        self._lookers.add(who)
        self._wanted.set()

    def leave(self, who: Hashable) -> None:
        """Nobody behind `who` looks any longer; a running reading that nobody comes back for is called off."""
        self._lookers.discard(who)
        if not self._lookers:
            self._wanted.clear()
            self._left_at = self._mono()

    def again(self) -> None:
        """Read anew at once, changed or not: something was done to the store."""
        self._mark = None
        self._sooner.set()

    async def rest(self, resting: bool) -> None:
        """While resting nothing is read: somebody writes to the store. Returns once nothing is being read."""
        self._resting = resting
        if resting:
            await self._idle.wait()

    @property
    def latest(self) -> Survey | None:
        """The newest survey."""
        return self.last.survey if self.last is not None else None

    # The stream

    async def changes(self) -> AsyncGenerator[SurveyChange, None]:
        """Every new survey, progress while one is read, and every change of trouble. Never ends."""
        loop = asyncio.get_running_loop()
        known: Survey | None = None
        trouble: SourceError | None = None
        took = 0.0
        while True:
            await self._wanted.wait()
            mark = await asyncio.to_thread(_mark, self.path)
            if self._resting or mark == self._mark:
                await self._pause(LOOK_S)
                continue
            self._mark = mark
            began = loop.time()
            stopping: list[bool] = []
            self._idle.clear()
            reading = asyncio.ensure_future(asyncio.to_thread(self._read, self._tell, partial(self._off, stopping)))
            try:
                async for progress in self._progressing(reading):
                    yield SurveyChange(known, False, progress, trouble, took, self._note)
                known = reading.result()
                trouble = None
            except ReadingStoppedError:
                self._mark = None
                continue
            except SourceError as error:
                trouble = outlived(error) if known is not None else error
                if error.state != MISSING:
                    self._mark = None
            finally:
                stopping.append(True)
                self._progress = None
                if reading.done():
                    self._idle.set()
            took = loop.time() - began
            self.last = SurveyChange(known, trouble is None, None, trouble, took, self._note)
            yield self.last
            await self._pause(max(REST_S, REST_FACTOR * took))

    async def _progressing(self, reading: asyncio.Future[Survey]) -> AsyncGenerator[Progress, None]:
        """How far the reading is, until it ended."""
        told: Progress | None = None
        while not reading.done():
            now = self._progress or Progress(0, 0)
            if now != told:
                told = now
                yield now
            await asyncio.wait({reading}, timeout=TELL_S)

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until somebody asks for a reading at once."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._sooner.wait(), seconds)
        self._sooner.clear()

    @property
    def _note(self) -> str:
        return inert(self.ignored.problem)

    async def excerpt(self, session_id: str, count: int = 3) -> Excerpt:
        """The first and last messages of one session, read in a thread. Raises SourceError."""
        from .details import first_and_last

        return await asyncio.to_thread(first_and_last, self.path, session_id, count)

    # In the thread

    def _off(self, stopping: list[bool]) -> bool:
        unwanted = not self._lookers and self._mono() - self._left_at > CALLED_OFF_S
        return bool(stopping) or unwanted or self._resting

    def _tell(self, progress: Progress) -> None:
        self._progress = progress

    def _survey(self, tell: Tell, stopped: Stopped) -> Survey:
        # Loaded with the first reading: an app in which nobody looks at the sessions starts the sooner.
        from .collecting import no_collections
        from .read import read_store
        from .survey import survey

        with no_collections():
            store = read_store(self.path, self.home, tell=tell, stopped=stopped)
            tell(Progress(1, 1))  # All is read; what follows looks at memory only.
            return survey(store, now=self._clock(), ignored=self.ignored.read())


def _mark(path: Path) -> tuple[object, ...]:
    """What differs after every commit: file, size and time of the database and of its log. An empty log is none."""
    marks: list[object] = []
    for name in (str(path), f"{real_path(path)}-wal"):
        try:
            info = os.stat(name)
        except OSError:
            marks.append(None)
            continue
        log = name.endswith("-wal")
        marks.append(None if log and not info.st_size else (info.st_ino, info.st_size, info.st_mtime_ns))
    return tuple(marks)
