"""Every row of a ledger in order, a page at a time, with the few columns that a posture needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .reading import Shape, read_shape
from .source import Source

if TYPE_CHECKING:
    from agent_ledger.engine.posture.rows import RawRow

PAGE = 1000
"""Rows of one page: read in some milliseconds, also where a running read keeps the holder from committing."""


class RowSource(Source):
    """`await source.start()`, then `await source.page(after_id)` until a page comes back empty.

    The rules are loaded when somebody asks for rows: the app starts without them.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, what="ledger", clock=clock, floor_s=0.0)
        self._shape: Shape | None = None

    async def start(self) -> None:
        """Turn to the file that lies there now. Raises SourceError."""
        with self._explained():
            await self._feed.current()
        self._shape = await self._ask_slow(read_shape)

    async def rotations(self) -> list[tuple[str, str]]:
        """(session id, the id that its conversation had before), as far as the ledger knows. Raises SourceError."""
        from agent_ledger.engine.posture.joined import rotations_of

        return [] if self._shape is None else await self._ask_slow(rotations_of)

    async def page(self, after_id: int) -> list[RawRow]:
        """At most `PAGE` rows by id, after the one named; none at the end. Raises SourceError."""
        shape = self._shape
        if shape is None or not shape.columns:
            return []
        from agent_ledger.engine.posture.rows import page

        query = page(shape.columns, after_id=after_id, limit=PAGE)
        return await self._ask_slow(lambda connection: connection.execute(*query).fetchall())
