"""Keeps every event: in the ledger at once if that takes a moment only, else in the spool, merged in order later.

No caller waits longer than `PATIENCE_S` here. Opening the file, merging the spool and emptying SQLite's log are
the work of one background thread per process and home.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .events import (
    Event,
    Issue,
    Key,
    Settlement,
    announced_before,
    from_other_boot,
    from_record,
    parent_id,
    to_record,
    write_issue,
    write_late,
    write_settlement,
    writer_record,
)
from .paths import Paths
from .process import Identity, identity
from .records import utc_text
from .repeats import Repeats
from .settings import SettingsFile
from .spool import Spool, abandoned, files, read, set_aside
from .store import CHECKPOINT_WRITES, BusyError, Store

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE_S = 0.04
"""Longest wait of a hook for the ledger: to be opened, for its threads, for other processes. Then it spools."""

RETRY_S = (0.1, 2.0)
"""First and longest pause between two tries to merge while something is spooled; each is twice the one before."""

MERGE_BATCH = 200
"""Records merged in one transaction: a few milliseconds, so that hooks get their turn in between."""

REMEMBERED = 20_000
"""Pending calls whose row ids are remembered; a forgotten one is found in the ledger."""

_Open = tuple[int, bytes | None, tuple[str, ...]]
"""A pending call: its row, the hash of its arguments, its conversation."""

_Ids = OrderedDict[Key, _Open]

_TROUBLE = (sqlite3.Error, OSError, BusyError)

_UNUSABLE = (
    KeyError, TypeError, ValueError, OverflowError, sqlite3.IntegrityError, sqlite3.ProgrammingError,
    sqlite3.InterfaceError, sqlite3.DataError,
)  # fmt: skip
"""Errors that lie in a record itself; all others lie in the file or the disk and pass."""


class Keeper:
    """The ledger of one home, for one process."""

    def __init__(
        self,
        paths: Paths,
        settings: SettingsFile,
        *,
        clock: Callable[[], float],
        mono: Callable[[], float],
        about: Callable[[], dict[str, str]],
    ) -> None:
        """`about` names versions for the table `writer`; it is asked in the background, since it may be slow."""
        self.paths = paths
        self.who: Identity = identity()
        self._settings = settings
        self._clock, self._mono = clock, mono
        self._about = about
        self._opened_ts = utc_text(clock())
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._writer_id = 0
        self._spool = Spool(paths, writer_record(self.who, self._opened_ts))
        self._ids: _Ids = OrderedDict()
        self._repeats = Repeats()
        self._opened = threading.Event()
        self._wake = threading.Event()
        self._squared = threading.Event()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._starting = threading.Lock()
        self._writes = 0
        self._warned = False
        self.trouble = ""
        """Why the ledger cannot be written right now; empty when it can."""

    # -- hooks call these ------------------------------------------------------------------------------------------

    def keep(self, event: Event) -> int | None:
        """Write or spool an event. The row's id where it was written at once. Never raises, never blocks long."""
        if self._spool.active:
            self._spool_it(event)
            return None
        try:
            return self._directly(lambda store: self._write(store, event))
        except _TROUBLE as error:
            self._note(error)
        except Exception as error:
            # Nothing the host may pass is known to end here; should it, the record is worth more than the reason.
            log.exception("agent-ledger: a record was spooled for an unexpected reason")
            self.trouble = f"{type(error).__name__}: {error}"
        self._spool_it(event)
        return None

    def ask(self, question: Callable[[Store], T]) -> T | None:
        """Run a short transaction on the ledger, or None when it cannot be had at once."""
        if self._spool.active:
            return None
        try:
            return self._directly(question)
        except _TROUBLE as error:
            self._note(error)
            return None

    def square(self, seconds: float) -> None:
        """Have spooled records merged, whoever spooled them; go on after so many seconds at the latest."""
        self._start()
        if self._spool.active or self._foreign_files():
            self._squared.clear()
            self._wake.set()
            self._squared.wait(seconds)

    def is_open(self, key: Key) -> bool:
        """Was this call written by this process and not settled yet?"""
        return key in self._ids

    def writer_id(self) -> int:
        return self._writer_id

    def close(self) -> None:
        """Stop the background thread, merge what can be merged, close the file."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    # -- writing ---------------------------------------------------------------------------------------------------

    def _directly(self, work: Callable[[Store], T]) -> T:
        begun = self._mono()
        store = self._store
        if store is None:
            self._start()
            self._wake.set()
            self._opened.wait(PATIENCE_S)
            store = self._store
            if store is None:
                raise BusyError(self.trouble or "the ledger is not open yet")
        if not self._lock.acquire(timeout=max(0.0, PATIENCE_S + begun - self._mono())):
            raise BusyError("another call is being written")
        try:
            if self._store is not store:
                raise BusyError("the ledger is being opened anew")
            if not store.is_in_place():
                self._wake.set()
                raise BusyError("the ledger was removed or replaced")
            store.enter(max(0.0, PATIENCE_S + begun - self._mono()))
            try:
                result = work(store)
            finally:
                store.abandon()
                store.leave()
        finally:
            self._lock.release()
        self._writes += 1
        if self._writes >= CHECKPOINT_WRITES:
            self._wake.set()
        return result

    def _write(self, store: Store, event: Event) -> int | None:
        if isinstance(event, Issue):
            return self._write_issue(store, event, self._writer_id, self._ids)
        return self._write_settlement(store, event, self._writer_id, self._ids)

    def _write_issue(self, store: Store, issue: Issue, writer_id: int, known: _Ids) -> int | None:
        if issue.late:
            write_late(store, issue)
            return None
        if issue.key in known and (found := announced_before(store, issue)) is not None:
            return found
        parent = known.get(issue.parent) if issue.parent else None
        nested_in = parent[0] if parent else parent_id(store, issue.parent)
        call_id = write_issue(store, issue, writer_id, nested_in, self._repeats)
        if issue.tool_call_id:
            known[issue.key] = (call_id, issue.args_hash, issue.conversation)
            if len(known) > REMEMBERED:
                known.popitem(last=False)
        return call_id

    def _write_settlement(self, store: Store, done: Settlement, writer_id: int, known: _Ids) -> int | None:
        pending = known.pop(done.key, None)
        call_id = write_settlement(store, done, writer_id, pending[0] if pending else None)
        if pending is not None and done.outcome.effect == "none":
            self._repeats.never_ran(pending[2], pending[1], pending[0])
        return call_id

    def _spool_it(self, event: Event) -> None:
        self._spool.append(to_record(event, self.trouble))
        self._start()
        self._wake.set()

    def _note(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        if text != self.trouble and not isinstance(error, BusyError):
            log.warning("agent-ledger: %s cannot be written (%s); calls are spooled", self.paths.ledger, error)
        self.trouble = text

    # -- the background thread -------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is not None:
            return
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                thread = threading.Thread(target=self._work, name="agent-ledger", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # No thread to be had, or the interpreter is ending.
                    self.trouble = str(error)
                    return
                self._thread = thread

    def _work(self) -> None:
        pause = RETRY_S[0]
        while not self._stop.is_set():
            if self._try_round() and not self._spool.active:
                pause = RETRY_S[0]
                self._wake.wait()
            else:
                self._stop.wait(pause)
                pause = min(2 * pause, RETRY_S[1])
            self._wake.clear()

    def _try_round(self) -> bool:
        try:
            self._round()
        except _TROUBLE as error:
            self._note(error)
            return False
        except Exception:
            log.exception("agent-ledger: unexpected trouble with %s; calls are spooled", self.paths.ledger)
            return False
        self._squared.set()
        return True

    def _round(self) -> None:
        self._reopen_if_replaced()
        if self._store is None:
            self._open()
        assert self._store is not None
        if self._spool.active:
            self._merge_own()
        for path in self._foreign_files():
            with abandoned(path) as descriptor:
                if descriptor is not None:
                    self._merge_file(path, descriptor)
        if self._writes >= CHECKPOINT_WRITES:
            self._checkpoint()
        self.trouble = ""

    def _open(self) -> None:
        about = self._about()
        store = Store(self.paths, durability=self._settings.get(self._mono()).durability)
        try:
            with store.turn(0.5):
                self._writer_id = store.add_writer(self.who, about, self._opened_ts)
            store.settle_in()
        except BaseException:
            store.close()
            raise
        if store.journal_mode != "wal" and not self._warned:
            self._warned = True
            why = f"it lies on {store.mount}" if store.mount else "SQLite refuses one here"
            log.warning("agent-ledger: %s is written without a write-ahead log: %s", self.paths.ledger, why)
        with self._lock:
            self._store = store
            self._ids.clear()
            self._repeats.clear()
        self._opened.set()

    def _reopen_if_replaced(self) -> None:
        """Let go of a file that is not at its path any more: removed, or replaced by a restored one."""
        store = self._store
        if store is None or store.is_in_place():
            return
        with self._lock:
            self._store = None
            self._opened.clear()
        try:
            with store.turn(0.5):
                store.rescue()
        finally:
            store.close()
            store.leave_no_log()

    def _checkpoint(self) -> None:
        store = self._store
        assert store is not None
        self._writes = 0
        with self._lock, store.turn(0.1):
            store.checkpoint()

    # -- merging ---------------------------------------------------------------------------------------------------

    def _foreign_files(self) -> list[Path]:
        own = self._spool.own_files()
        return [path for path in files(self.paths) if path not in own]

    def _merge_file(self, path: Path, descriptor: int) -> None:
        """Merge a spool whose writer is gone, and remove it."""
        known: _Ids = OrderedDict()
        while self._merge_some(path.name, lambda start: read(descriptor, start, MERGE_BATCH), known):
            pass
        os.unlink(path)
        self._forget(path.name)

    def _merge_own(self) -> None:
        while not self._stop.is_set():
            paths = self._spool.own_files()
            for path in paths:
                while self._merge_some(path.name, partial(self._spool.read_own, path, limit=MERGE_BATCH), self._ids):
                    pass
            batch = self._spool.take_memory(MERGE_BATCH)
            if batch:
                self._merge(batch)
                self._spool.drop_memory(len(batch))
            if self._finish(paths):
                return

    def _finish(self, paths: list[Path]) -> bool:
        with self._lock:
            if not self._spool.finish({path: self._merged(path.name) for path in paths}):
                return False
        for path in paths:
            self._forget(path.name)
        return True

    def _merge_some(self, name: str, read_from: Callable[[int], tuple[list[dict[str, Any]], int]], known: _Ids) -> bool:
        """Merge the next records of a file; how far that is gets written with them. False when none are left.

        `known` holds the calls of this file that are pending, so that nothing has to be searched for.
        """
        store = self._store
        assert store is not None
        with self._lock, store.turn(0.5), store.transaction():
            start = store.merged_size(name)
            records, after = read_from(start)
            writer = store.spool_writer(name) or (self._writer_id, self.who.boot_id)
            for record in records:
                writer = self._merge_record(store, record, writer, known)
            if after > start:
                store.remember_merged(name, after, writer[0], utc_text(self._clock()))
        return after > start

    def _merge(self, records: list[dict[str, Any]]) -> None:
        store = self._store
        assert store is not None
        with self._lock, store.turn(0.5), store.transaction():
            for record in records:
                self._merge_record(store, record, (self._writer_id, self.who.boot_id), self._ids)

    def _merge_record(
        self, store: Store, record: dict[str, Any], writer: tuple[int, str], known: _Ids
    ) -> tuple[int, str]:
        """Write one record in the name of its writer (row id, boot id); the writer of the records behind it.

        A record that no ledger can take is set aside, so that it does not keep the others out.
        """
        try:
            with store.part():
                if record.get("kind") == "writer":
                    who = Identity(*(record[n] for n in ("pid", "started", "boot_id", "pid_namespace", "machine")))
                    return store.add_writer(who, {}, str(record.get("opened_ts", ""))), who.boot_id
                self._merge_event(store, record, *writer, known)
        except _UNUSABLE as error:
            log.warning("agent-ledger: a spooled record cannot be merged (%s) and was set aside", error)
            set_aside(self.paths, record)
        return writer

    def _merge_event(self, store: Store, record: dict[str, Any], writer_id: int, boot: str, known: _Ids) -> None:
        event = from_record(record)
        if boot != self.who.boot_id:
            event = from_other_boot(event)
        if isinstance(event, Settlement):
            self._write_settlement(store, event, writer_id, known)
        else:
            self._write_issue(store, event, writer_id, known)

    def _merged(self, name: str) -> int:
        store = self._store
        assert store is not None
        return store.merged_size(name)

    def _forget(self, name: str) -> None:
        store = self._store
        assert store is not None
        with self._lock, store.turn(0.5):
            store.forget_merged(name)
