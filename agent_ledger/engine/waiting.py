"""Rows beside the calls, such as what policies decided: written at once, else kept in memory for the next one."""

from __future__ import annotations

import logging
from collections import deque

from .keeper import Keeper
from .store import Store

log = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Rows that wait while the ledger cannot be written; of more, the oldest are let go."""


class Waiting:
    """Rows of one table on their way."""

    def __init__(self, keeper: Keeper, insert: str) -> None:
        self._keeper, self._insert = keeper, insert
        self._rows: deque[tuple[object, ...]] = deque(maxlen=MOST_WAITING)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: tuple[object, ...]) -> None:
        """Write a row, and those that had to wait. Never raises, never waits longer than any hook may."""
        self._rows.append(row)
        self.write()

    def write(self) -> None:
        """Try to write what waits. Never raises: what was decided holds all the same."""
        rows = [self._rows.popleft() for _ in range(len(self._rows))]

        def work(store: Store) -> bool:
            with store.transaction():
                store.connection.executemany(self._insert, rows)
            return True

        written = not rows
        try:
            written = written or bool(self._keeper.ask(work))
        except Exception as error:
            log.warning("agent-ledger: what a policy decided was not recorded (%s)", type(error).__name__)
        finally:
            if not written:
                self._rows.extendleft(reversed(rows))
