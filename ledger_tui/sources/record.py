"""Is the record whole? The engine's check of the hash chain, in a thread of its own, so that the app goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import Checked, Head
from agent_ledger.engine.schema import VERSION

from . import snapshot
from .guard import SourceError

BREATH_S = 0.002
"""Pause after each word of progress, so that whoever draws meanwhile gets its turn."""


class StoppedError(Exception):
    """Nobody waits for the answer any more."""


class RecordSource:
    """Checks one ledger, once for each time it is asked."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    async def check(self, watch: Watch) -> Checked:
        """The whole chain. Raises SourceError, StoppedError."""
        try:
            return await asyncio.to_thread(self._check, watch)
        finally:
            watch.stop()  # Whoever waited may have been cancelled: the thread is to end, too.

    def _check(self, watch: Watch) -> Checked:
        try:
            return check_ledger(self._ledger, watch.note)
        except SourceError as error:
            if error.state == "missing":
                return Checked()
            raise


def check_ledger(path: Path, tell: Callable[[int, int], None], expected: Head | None = None) -> Checked:
    """Check the chain of a ledger; `tell` gets the calls seen so far and all there are. Raises SourceError."""
    with snapshot.reading_ledger(path) as ledger:
        if not ledger.shape.columns:
            return Checked()
        (version,) = ledger.connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION and "issue_seal" in ledger.shape.columns:
            raise SourceError(path, "is by a newer plugin", "update ledger-tui to check it")
        (total,) = ledger.connection.execute("SELECT count(*) FROM ledger").fetchone()
        return check_chain(ledger.connection, lambda rows: tell(rows, total), expected)


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
