"""Keeps every event: in the ledger at once if that takes a moment only, else in the spool, merged in order later.

No caller waits longer than `PATIENCE_S` here. Opening the file, merging the spool and emptying SQLite's log are
the work of one background thread per process and home.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .events import Event, Key, to_record, writer_record
from .merge import Merger
from .open_calls import OpenCalls
from .paths import Paths
from .process import Identity, identity
from .records import utc_text
from .settings import SettingsFile
from .spool import Spool, abandoned, files
from .store import CHECKPOINT_WRITES, BusyError, Store

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE_S = 0.04
"""Longest wait of a hook for the ledger: to be opened, for its threads, for other processes. Then it spools."""

RETRY_S = (0.1, 2.0)
"""First and longest pause between two tries to merge while something is spooled; each is twice the one before."""

_TROUBLE = (sqlite3.Error, OSError, BusyError, UnicodeDecodeError)
"""What passes, or lies in the file. SQLite's own words may quote a damaged schema in bytes that are no text."""


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
        self._calls = OpenCalls()
        self._opened = threading.Event()
        self._wake = threading.Event()
        self._squared = threading.Event()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._starting = threading.Lock()
        self._writes = self._newest = self._emptied_at = 0
        self._warned = self._puzzled = False
        self.trouble = ""
        """Why the ledger cannot be written right now; empty when it can."""

    # -- hooks call these ------------------------------------------------------------------------------------------

    def keep(self, event: Event) -> int | None:
        """Write or spool an event. The row's id where it was written at once. Never raises, never blocks long."""
        if self._spool.active:
            self._spool_it(event)
            return None
        try:
            # A settlement whose row was written to this very file belongs there, wherever the file is by now.
            row = self._directly(
                lambda store: self._calls.write(store, event, self._writer_id),
                ours=self._calls.is_settlement_of_ours(event),
            )
            if row is not None and row > self._newest:
                # What stood there before us is not counted.
                self._emptied_at, self._newest = self._emptied_at or row, row
                if self._log_is_long():
                    self._wake.set()
            return row
        except _TROUBLE as error:
            self._note(error)
        except Exception as error:
            # Nothing the host may pass is known to end here; should it, the record is worth more than the reason.
            if not self._puzzled:
                self._puzzled = True
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
        return key in self._calls.open

    def writer_id(self) -> int:
        return self._writer_id

    def close(self) -> None:
        """Stop the background thread and close the file. What is spooled stays there for the next process."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    # -- writing ---------------------------------------------------------------------------------------------------

    def _directly(self, work: Callable[[Store], T], *, ours: bool = False) -> T:
        left = PATIENCE_S  # Clocks are read only where there is something to wait for.
        store = self._store
        if store is None:
            begun = self._mono()
            self._start()
            self._wake.set()
            self._opened.wait(left)
            store = self._store
            if store is None:
                raise BusyError(self.trouble or "the ledger is not open yet")
            left = max(0.0, left + begun - self._mono())
        if not self._lock.acquire(blocking=False):
            begun = self._mono()
            if not self._lock.acquire(timeout=left):
                raise BusyError("another call is being written")
            left = max(0.0, left + begun - self._mono())
        try:
            if self._store is not store:
                raise BusyError("the ledger is being opened anew")
            if not ours and not store.is_in_place():
                self._wake.set()
                raise BusyError("the ledger was removed or replaced")
            store.enter(left)
            try:
                result = work(store)
            except BaseException:
                store.abandon()
                raise
            finally:
                store.leave()
        finally:
            self._lock.release()
        self._writes += 1
        if self._log_is_long():
            self._wake.set()
        return result

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
        owner = (self._writer_id, self.who.boot_id)
        merger = Merger(self._store, self._lock, self._calls, owner=owner, paths=self.paths, clock=self._clock)
        if self._spool.active:
            merger.merge_own(self._spool, self._stop)
            if self._spool.lost:
                log.warning("agent-ledger: %d records were lost while nothing could be written", self._spool.lost)
                self._spool.lost = 0
        trouble = self._merge_foreign(merger)
        if self._log_is_long():
            self._checkpoint()
        if trouble is not None:
            raise trouble
        self.trouble = ""

    def _merge_foreign(self, merger: Merger) -> Exception | None:
        """Merge what processes that are gone left behind. The last trouble: that of one file keeps no other out."""
        trouble: Exception | None = None
        for path in self._foreign_files():
            try:
                with abandoned(path) as descriptor:
                    if descriptor is not None:
                        merger.merge_file(path, descriptor)
            except (sqlite3.Error, OSError) as error:
                trouble = error
        return trouble

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
            self._newest = self._emptied_at = 0
            self._calls.forget()
        self._opened.set()

    def _reopen_if_replaced(self) -> None:
        """Let go of a file that is not at its path any more: removed, or replaced by a restored one."""
        store = self._store
        if store is None or store.is_in_place():
            return
        with self._lock:
            with store.turn(0.1):
                store.rescue()
                self._store = None
                self._opened.clear()
                store.let_go()
            store.close()

    def _log_is_long(self) -> bool:
        """Calls by any process count: the log is everybody's, and whoever empties a long one keeps all others waiting.

        Each call is two writes.
        """
        return self._writes >= CHECKPOINT_WRITES or 2 * (self._newest - self._emptied_at) >= CHECKPOINT_WRITES

    def _checkpoint(self) -> None:
        store = self._store
        assert store is not None
        with self._lock, store.turn(0.1):
            store.checkpoint()
            self._writes, self._emptied_at = 0, self._newest

    def _foreign_files(self) -> list[Path]:
        own = self._spool.own_files()
        return [path for path in files(self.paths) if path not in own]
