"""The ledger as a stream of changes, and the questions that screens ask about it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from agent_ledger.engine import queries
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call

from . import reading
from .guard import MISSING, SourceError
from .health import Health, SpoolCount, health_of
from .parts import CallScan, SessionScan
from .reading import SessionTotals, Shape, Totals
from .source import Source
from .tracker import Delta, Tracker

__all__ = ["Filter", "Health", "LedgerChange", "LedgerSource", "SessionTotals", "Totals"]

FLOOR_S = 0.04
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


_NOTHING = Delta(False, (), None, Totals(), frozenset(), frozenset(), more=False)
_GONE = replace(_NOTHING, reset=True)


class LedgerSource(Source):
    """`async with LedgerSource(paths) as source: async for change in source.changes(): ...`

    `changes()` is for one listener at a time.
    """

    def __init__(self, paths: Paths, *, ledger: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        path = ledger if ledger is not None else paths.ledger
        super().__init__(path, what="ledger", clock=clock, floor_s=FLOOR_S)
        # The spool belongs to the home's own ledger, not to any other file that is looked at.
        self._spool = SpoolCount(paths if path == paths.ledger else None)
        self._tracker = Tracker()
        self._last = _NOTHING
        self._health: Health | None = None

    async def changes(self) -> AsyncGenerator[LedgerChange, None]:
        """Every change, and every change of health. The first comes at once, also when there is no file. Never ends."""
        self._tracker, self._health, self._held = Tracker(), None, False
        async with aclosing(self._moments()) as moments:
            async for _ in moments:
                more = True
                while more:
                    missing = self._missing
                    delta = await self._look(self._anew, lambda db: self._tracker.advance(db, time.monotonic()))
                    if self._missing and not missing:
                        delta = _GONE
                    change = await self._change(delta)
                    more = change is not None and change.more
                    if change is not None:
                        yield change

    def _anew(self) -> None:
        self._tracker = Tracker()

    async def _change(self, delta: Delta | None) -> LedgerChange | None:
        beside = await self._spool.count(self._tracker.merged, time.monotonic())
        health = health_of(self.trouble, beside, foreign=self._tracker.shape.foreign)
        if delta is None and health == self._health:
            return None
        self._health, self._last = health, delta or self._last
        self._held = bool(self._last.totals.rows)
        return LedgerChange(
            at=self._clock(),
            reset=delta is not None and delta.reset,
            calls=delta.calls if delta is not None else (),
            gone_through=self._last.gone_through,
            totals=self._last.totals,
            dead_writers=self._last.dead_writers,
            same_boot_writers=self._last.same_boot_writers,
            health=health,
            more=delta is not None and delta.more,
        )

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
            if error.state == MISSING and not self._held:
                return Shape(frozenset(), 0, frozenset(), wal=False)
            raise
