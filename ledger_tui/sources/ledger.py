"""The ledger as a stream of changes, and the questions that screens ask about it."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from agent_ledger.engine import queries
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call

from . import reading
from .feed import Answer, Feed, Question
from .guard import MISSING, STALE, SourceError, explain
from .health import DEGRADED, OK, Health, SpoolCount, spool_text
from .reading import CallScan, SessionScan, SessionTotals, Shape, Totals
from .tracker import Delta, Tracker

__all__ = ["Filter", "Health", "LedgerChange", "LedgerSource", "SessionTotals", "Totals"]

FLOOR_S = 0.06
"""Least time between two readings; the first change after a quiet time is read at once."""


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """What became known by one reading."""

    at: float
    """Clock when it was read, seconds since 1970."""
    reset: bool
    """The first reading, or the file was replaced or cut behind us: forget everything, read pages anew."""
    calls: tuple[Call, ...]
    """Rows that changed, in the order of their change, at most 2,000. On reset: the newest 500 and all unsettled
    ones, by id; unsettled ones that do not fit follow in further messages."""
    gone_through: int | None
    """The lowest id that is still there."""
    totals: Totals
    dead_writers: frozenset[int]
    """Writers of pending rows that are proven gone."""
    same_boot_writers: frozenset[int]
    """Writers on this boot of this machine: `age_of(mono_now=...)` holds for their rows only."""
    health: Health
    more: bool = False
    """Further messages of the same reading follow at once."""


class LedgerSource:
    """`async with LedgerSource(paths) as source: async for change in source.changes(): ...`

    Lives around the app's run, so that it is closed whatever happens in it. `changes()` is for one listener.
    """

    def __init__(self, paths: Paths, *, ledger: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self.path = ledger if ledger is not None else paths.ledger
        self._clock = clock
        self._feed = Feed(self.path)
        # The spool belongs to the home's own ledger, not to any other file that is looked at.
        self._spool = SpoolCount(paths) if ledger is None or ledger == paths.ledger else None
        self._tracker = Tracker()
        self._last: Delta | None = None
        self._health: Health | None = None
        self._trouble: SourceError | None = None

    async def __aenter__(self) -> LedgerSource:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._feed.close()

    async def changes(self) -> AsyncGenerator[LedgerChange, None]:
        """Every change, and every change of health. The first comes at once, also when there is no file. Never ends."""
        loop = asyncio.get_running_loop()
        async with aclosing(self._feed.hints()) as hints:
            async for _ in hints:
                began = loop.time()
                more = True
                while more:
                    change = await self._look()
                    more = change is not None and change.more
                    if change is not None:
                        yield change
                await asyncio.sleep(max(0.0, FLOOR_S - (loop.time() - began)))

    async def _look(self) -> LedgerChange | None:
        try:
            if await self._feed.current():
                self._tracker = Tracker()
            delta = await self._feed.ask(lambda connection: self._tracker.advance(connection, time.monotonic()))
        except SourceError as error:
            return await self._failed(error)
        except sqlite3.Error as error:
            return await self._failed(explain(self.path, error))
        except ValueError as error:
            return await self._failed(SourceError(self.path, str(error), "name the ledger itself"))
        self._trouble = None
        return self._change(delta)

    async def _failed(self, trouble: SourceError) -> LedgerChange | None:
        """Keeps what was read before, says why it is old, and starts anew with the next hint."""
        new = self._trouble is None or str(self._trouble) != str(trouble)
        self._trouble = trouble
        if trouble.state == STALE:
            return self._change(None)
        await self._feed.close()
        self._tracker = Tracker()
        if trouble.state == MISSING and (new or self._last is None):
            empty: frozenset[int] = frozenset()
            return self._change(Delta(True, (), None, Totals(), empty, empty, more=False))
        return self._change(None)

    def _change(self, delta: Delta | None) -> LedgerChange | None:
        health = self._judge()
        if delta is None and health == self._health:
            return None
        self._health = health
        empty: frozenset[int] = frozenset()
        last = delta or self._last or Delta(False, (), None, Totals(), empty, empty, more=False)
        self._last = last
        return LedgerChange(
            at=self._clock(),
            reset=delta is not None and delta.reset,
            calls=delta.calls if delta is not None else (),
            gone_through=last.gone_through,
            totals=last.totals,
            dead_writers=last.dead_writers,
            same_boot_writers=last.same_boot_writers,
            health=health,
            more=delta is not None and delta.more,
        )

    def _judge(self) -> Health:
        spooled = self._spool.count(self._tracker.merged) if self._spool is not None else 0
        foreign = self._tracker.shape.foreign
        if self._trouble is not None:
            return Health(self._trouble.state, str(self._trouble), spooled, foreign)
        if spooled:
            return Health(DEGRADED, spool_text(spooled), spooled, foreign)
        return Health(OK, "", 0, foreign)

    # -- questions -----------------------------------------------------------------------------------------------

    async def page(
        self, wanted: Filter, *, before_id: int | None = None, after_id: int | None = None, limit: int = 200
    ) -> list[Call]:
        """At most `limit` calls, newest first; oldest first with `after_id` alone. Raises SourceError."""
        shape = await self._shape()
        scan = CallScan(shape, wanted, before_id=before_id, after_id=after_id, limit=limit)
        # What has to be searched for goes to the slow connection, so that the feed never waits behind it.
        ask = self._ask if wanted == Filter() else self._ask_slow
        while not scan.done:
            await ask(scan.step)
        return scan.found

    async def call(self, id: int) -> Call | None:
        """One call, None where it is not (or no longer) there. Raises SourceError."""
        shape = await self._shape()
        if not shape.columns:
            return None
        query = queries.calls(shape.columns, ids=[id])
        rows = await self._ask(lambda connection: connection.execute(*query).fetchall())
        return queries.call_from_row(rows[0]) if rows else None

    async def same_calls(self, id: int) -> list[Call]:
        """The other calls that are linked to this one as its repeats, either way, by id. Raises SourceError."""
        shape = await self._shape()
        if "repeat_of" not in shape.columns:
            return []
        ids = await self._ask_slow(lambda connection: reading.read_repeats(connection, shape, id))
        query = queries.calls(shape.columns, ids=ids, newest_first=False)
        rows = await self._ask(lambda connection: connection.execute(*query).fetchall()) if ids else []
        return [queries.call_from_row(row) for row in rows]

    async def session_totals(self) -> list[SessionTotals]:
        """Counts per session, last changed first. Slow on a large ledger; may be cancelled. Raises SourceError."""
        scan = SessionScan(await self._shape())
        while not scan.done:
            await self._ask_slow(scan.step)
        return scan.result()

    async def tool_names(self) -> list[str]:
        """Names of tools among the newest rows. Raises SourceError."""
        shape = await self._shape()
        return list(await self._ask(lambda connection: reading.read_tool_names(connection, shape)))

    async def _shape(self) -> Shape:
        """What kind of file it is; of no columns, and so without any row, when there is none."""
        if self._tracker.shape.columns:
            return self._tracker.shape
        try:
            return await self._ask(reading.read_shape)
        except SourceError as error:
            if error.state == MISSING:
                return Shape(frozenset(), 0, frozenset(), wal=False)
            raise

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
        except sqlite3.Error as error:
            raise explain(self.path, error) from error
        except ValueError as error:
            raise SourceError(self.path, str(error), "name the ledger itself") from error
