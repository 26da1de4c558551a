"""Is the record whole? The engine's check of the hash chain, in a thread of its own, so that the app goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ledger.engine.schema import VERSION

from . import snapshot
from .guard import STALE, SourceError

if TYPE_CHECKING:
    from agent_ledger.engine.chain.report import Checked, Head

BREATH_S = 0.002
"""Pause after each word of progress, so that whoever draws meanwhile gets its turn."""

_AGAIN = "it is under way, or was broken off; check again once one is through"


class StoppedError(Exception):
    """Nobody waits for the answer any more."""


class RecordSource:
    """Checks one ledger, once for each time it is asked. The check is loaded by then only: the app starts without."""

    def __init__(self, ledger: Path, *, copied: bool = False) -> None:
        """`copied`: is it a `CopiedLedger`?"""
        self._ledger, self._copied = ledger, copied

    async def check(self, watch: Watch) -> Checked:
        """The whole chain. Raises SourceError, StoppedError."""
        try:
            return await asyncio.to_thread(self._check, watch)
        finally:
            watch.stop()  # Whoever waited may have been cancelled: the thread is to end, too.

    def _check(self, watch: Watch) -> Checked:
        try:
            return check_ledger(self._ledger, watch.note, copied=self._copied)
        except SourceError as error:
            if error.state == "missing":
                from agent_ledger.engine.chain.report import Checked

                return Checked()
            raise


def check_ledger(
    path: Path, tell: Callable[[int, int], None], expected: Head | None = None, *, copied: bool = False
) -> Checked:
    """Check the chain of a ledger; `tell` gets the calls seen so far and all there are. Raises SourceError.

    `copied`: it is a `CopiedLedger`, which tells itself what became of it on the way.
    """
    from agent_ledger.engine.chain.check import check_chain
    from agent_ledger.engine.chain.report import Checked

    from .copied import altered_calls

    with snapshot.reading_ledger(path) as ledger:
        if not ledger.shape.columns:
            return Checked()
        (version,) = ledger.connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION and "issue_seal" in ledger.shape.columns:
            raise SourceError(path, "is by a newer plugin", "update ledger-tui to check it")
        (total,) = ledger.connection.execute("SELECT count(*) FROM ledger").fetchone()
        ledger.connection.execute("BEGIN")
        altered = altered_calls(ledger.connection) if copied else None
        if copied and altered is None:
            raise SourceError(path, "holds a round of ship in part", _AGAIN, state=STALE)
        return check_chain(ledger.connection, lambda rows: tell(rows, total), expected, altered)


class Watch:
    """How far a check is. One thread counts, another reads and may stop it."""

    def __init__(self) -> None:
        self.rows = self.total = 0
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def note(self, rows: int, total: int) -> None:
        """Called by the check. Raises StoppedError once it is to end."""
        self.rows, self.total = rows, total
        if self._stop.is_set():
            raise StoppedError
        time.sleep(BREATH_S)
