"""Merging what was spooled: in order, each record once, a few at a time so that hooks get their turn in between."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from . import schema
from .events import from_other_boot, from_record
from .open_calls import OpenCalls
from .paths import Paths
from .process import Identity
from .records import utc_text
from .spool import Spool, read, set_aside
from .store import BusyError, Store

log = logging.getLogger(__name__)

BATCH = 200
"""Records merged in one transaction: a few milliseconds."""

_TURN_S = 0.5

_UNUSABLE = (
    LookupError, AttributeError, TypeError, ValueError, OverflowError, sqlite3.IntegrityError, sqlite3.ProgrammingError,
    sqlite3.InterfaceError, sqlite3.DataError,
)  # fmt: skip
"""Errors that lie in a record itself; all others lie in the file or the disk and pass."""

Owner = tuple[int, str]
"""In whose name a record is written: row in `writer`, boot id."""


class Merger:
    """Merges into one open ledger. Every method may raise sqlite3.Error, OSError or BusyError, and be called again."""

    def __init__(
        self,
        store: Store,
        lock: threading.Lock,
        calls: OpenCalls,
        *,
        owner: Owner,
        paths: Paths,
        clock: Callable[[], float],
    ) -> None:
        """`lock` lets one thread at a time into `store` and `calls`; `owner` is this process."""
        self._store, self._lock, self._calls = store, lock, calls
        self._owner, self._paths, self._clock = owner, paths, clock

    def merge_own(self, spool: Spool, stop: threading.Event) -> None:
        """Merge this process's spool until nothing is left in it."""
        while not stop.is_set():
            # Looked at first: once something is in memory, nothing is added to the files before it.
            batch = spool.take_memory(BATCH)
            paths = spool.own_files()
            for path in paths:
                while self._some(path.name, partial(spool.read_own, path, limit=BATCH), self._calls):
                    pass
            if batch:
                with self._lock, self._store.turn(_TURN_S), self._remembering(self._calls), self._store.transaction():
                    for record in batch:
                        self._record(record, self._owner, self._calls)
                self._still_in_place(uncounted=True)
                spool.drop_memory(len(batch))
            if self._finish(spool, paths):
                return

    def merge_file(self, path: Path, descriptor: int) -> None:
        """Merge a spool file whose writer is gone, and remove it."""
        calls = self._calls.of_another()
        while self._some(path.name, partial(read, descriptor, limit=BATCH), calls):
            pass
        self._still_in_place()
        os.unlink(path)
        self._forget(path.name)

    def _still_in_place(self, *, uncounted: bool = False) -> None:
        """Asked before a spooled record is let go: what went into a file that was removed meanwhile is merged again.

        How many were merged from memory stands nowhere (`uncounted`): where the log alone is gone, which is brought
        into the ledger later, they would be there twice.
        """
        if not (self._store.keeps_rows() if uncounted else self._store.is_in_place()):
            raise BusyError("the ledger was removed or replaced")

    def _finish(self, spool: Spool, paths: list[Path]) -> bool:
        self._still_in_place()
        with self._lock:
            if not spool.finish({path: self._store.merged_size(path.name) for path in paths}):
                return False
        for path in paths:
            self._forget(path.name)
        return True

    def _forget(self, name: str) -> None:
        with self._lock, self._store.turn(_TURN_S):
            self._store.forget_merged(name)

    def _some(self, name: str, read_from: Callable[..., tuple[list[dict[str, Any]], int]], calls: OpenCalls) -> bool:
        """Merge the next records of a file; how far that is gets written with them. False when none are left."""
        store = self._store
        with self._lock, store.turn(_TURN_S), self._remembering(calls), store.transaction():
            start = store.merged_size(name)
            records, after = read_from(start=start)
            owner = store.spool_writer(name) or self._owner
            for record in records:
                owner = self._record(record, owner, calls)
            if after > start:
                store.remember_merged(name, after, owner[0], utc_text(self._clock()))
        return after > start

    @staticmethod
    @contextlib.contextmanager
    def _remembering(calls: OpenCalls) -> Iterator[None]:
        """Rows that are taken back must not be remembered: their ids go to others."""
        try:
            yield
        except BaseException:
            calls.forget()
            raise

    def _record(self, record: dict[str, Any], owner: Owner, calls: OpenCalls) -> Owner:
        """Write one record in the name of its owner; the owner of the records behind it.

        A record that no ledger can take is set aside, so that it does not keep the others out.
        """
        try:
            with self._store.part():
                if record.get("kind") == "writer":
                    who = Identity(*(record[n] for n in ("pid", "started", "boot_id", "pid_namespace", "machine")))
                    return self._store.add_writer(who, {}, str(record.get("opened_ts", ""))), who.boot_id
                event = from_record(record)
                if owner[1] != self._owner[1]:
                    event = from_other_boot(event)
                calls.write(self._store, event, owner[0])
        except _UNUSABLE as error:
            if schema.is_of_others(error) or not self._store.connection.in_transaction:
                raise
            log.warning("agent-ledger: a spooled record cannot be merged (%s) and was set aside", error)
            set_aside(self._paths, record)
        return owner
