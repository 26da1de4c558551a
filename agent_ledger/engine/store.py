"""The one writing connection of a process and home: opened, its transactions, its turns among other writers.

Each change is one statement or one short transaction. Nothing here waits longer than its caller allows.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from . import schema
from .call_rows import CallRows
from .chain.writer import kept_out
from .databases import readable
from .mounts import network_mount
from .paths import Paths, private_folder
from .place import Place, private_ledger
from .process import Identity
from .turnstile import Turnstile

BUSY_MS = 5
"""How long SQLite itself may wait for a lock. Our own writers take turns before; only strangers are waited for."""

PAGE_BYTES = 2048

CHECKPOINT_WRITES = 1000
"""Own writes (some 4 pages each) after which the log is emptied; off the hook, since it waits for the disk."""

_STEP, MOST_STEPS = 1_000_000, 20
"""Operations of SQLite's machine between two looks at whether it comes to an end, and how many looks it gets for one
event: some tenths of a second, of which all that the plugin asks takes a small part, with 100,000 open calls too. A
trigger of other software may take for ever, and would the hook with it."""


class BusyError(Exception):
    """Another writer has its turn and did not finish in the time we had."""


class Store:
    """An open `ledger.db`. The caller lets one thread in at a time."""

    def __init__(self, paths: Paths, *, durability: str) -> None:
        """Opens or makes the ledger. Raises OSError, sqlite3.Error, BusyError, schema.ForeignSchemaError."""
        private_folder(paths.data)
        self._turnstile = Turnstile(paths.turnstile)
        try:
            with self.turn(0.5):
                private_ledger(paths.ledger)
            self._connect(paths)
        except BaseException:
            self._turnstile.close()
            raise
        try:
            # Before the file has its first page only; half the usual size halves what a commit must copy.
            self.connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            self.journal_mode, self.mount = self._choose_journal(paths.ledger)
            self._durability = ""
            self.use(durability)
            self.connection.execute("PRAGMA wal_autocheckpoint=0")
            with self.turn(0.5):
                schema.prepare(self.connection)
            self._steps = 0  # Counted from here on only: a long ledger may get its indexes first.
            self.connection.set_progress_handler(self._takes_too_long, _STEP)
        except BaseException:
            self.close()
            raise

    def _connect(self, paths: Paths) -> None:
        self._place = Place(paths.ledger)
        # The file is there, private; were it taken away meanwhile, SQLite would make it anew as it makes files (0644).
        uri = f"{paths.ledger.absolute().as_uri()}?mode=rw"
        self.connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        self.connection.text_factory = readable  # One cell that is no UTF-8 would stop every question it stands in.
        self.rows = CallRows(self.connection)
        """The rows of `ledger`, read and written."""

    def _choose_journal(self, ledger: Path) -> tuple[str, str | None]:
        """WAL wherever it can work; on a network mount, or where SQLite refuses it, the plain rollback journal."""
        mount = network_mount(ledger)
        wanted = "DELETE" if mount else "WAL"
        with self.turn(0.5):
            try:
                (mode,) = self.connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()
            except sqlite3.OperationalError as error:
                if wanted == "DELETE" or "locking protocol" not in str(error):
                    raise
                (mode,) = self.connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        return str(mode).lower(), mount

    def use(self, durability: str) -> None:
        """Wait for the disk at every commit (`full`), or leave that to the system (`normal`)."""
        if durability != self._durability:
            self.connection.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
            self._durability = durability

    def enter(self, seconds: float) -> None:
        """Take our turn among the writer processes. Raises BusyError when it does not come in time."""
        if not self._turnstile.enter(seconds):
            raise BusyError("another process is writing")
        self._steps = 0

    def _takes_too_long(self) -> bool:
        self._steps += 1
        return self._steps > MOST_STEPS

    def leave(self) -> None:
        self._turnstile.leave()

    @contextlib.contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """`enter` and `leave` around a block."""
        self.enter(seconds)
        try:
            yield
        finally:
            self.leave()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A block that is written as a whole or not at all."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")  # Outside WAL mode a reader can refuse it.
        except BaseException:
            self.abandon()
            raise

    @contextlib.contextmanager
    def part(self) -> Iterator[None]:
        """A part of a transaction that may fail alone, and take as long as any."""
        self._steps = 0
        self.connection.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            self.rows.taken_back()
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK TO part")
                self.connection.execute("RELEASE part")
            raise
        self.connection.execute("RELEASE part")

    def abandon(self) -> None:
        """Leave no transaction open. A full disk makes SQLite roll back by itself; then there is nothing to do."""
        self.rows.taken_back()
        if self.connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()
        self._turnstile.close()

    # -- the writer ------------------------------------------------------------------------------------------------

    def add_writer(self, who: Identity, about: dict[str, str], opened_ts: str) -> int:
        """The row of this process in `writer`; one row however often it is asked for."""
        found = self.connection.execute(
            "SELECT id FROM writer WHERE pid=? AND started=? AND boot_id=? AND machine=? AND pid_namespace=?"
            " ORDER BY id DESC LIMIT 1",
            (who.pid, who.started, who.boot_id, who.machine, who.pid_namespace),
        ).fetchone()
        if found and who.started:
            return int(found[0])
        cursor = self.connection.execute(
            "INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts, plugin_version, host_version,"
            " python_version, sqlite_version, journal_mode) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
            (
                who.pid, who.started, who.boot_id, who.pid_namespace, who.machine, opened_ts, about.get("plugin", ""),
                about.get("host", ""), about.get("python", ""), sqlite3.sqlite_version, self.journal_mode,
            ),
        )  # fmt: skip
        if not cursor.rowcount:
            raise kept_out()
        return int(cursor.lastrowid or 0)

    # -- the spool's book-keeping ----------------------------------------------------------------------------------

    def merged_size(self, name: str) -> int:
        """Bytes of a spool file that are in the ledger already."""
        found = self.connection.execute("SELECT size FROM spool_merged WHERE name=?", (name,)).fetchone()
        return int(found[0]) if found else 0

    def spool_writer(self, name: str) -> tuple[int, str] | None:
        """(writer id, boot id) of a spool file of which a part is merged."""
        found = self.connection.execute(
            "SELECT w.id, w.boot_id FROM spool_merged s JOIN writer w ON w.id = s.writer_id WHERE s.name=?", (name,)
        ).fetchone()
        return (int(found[0]), str(found[1])) if found else None

    def remember_merged(self, name: str, size: int, writer_id: int, ts: str) -> None:
        cursor = self.connection.execute(
            "INSERT INTO spool_merged(name, size, writer_id, merged_ts) VALUES(?,?,?,?)"
            " ON CONFLICT(name) DO UPDATE SET size=excluded.size, merged_ts=excluded.merged_ts",
            (name, size, writer_id, ts),
        )
        if not cursor.rowcount:
            raise kept_out()  # Else the same records would be merged again, and again.

    def forget_merged(self, name: str) -> None:
        self.connection.execute("DELETE FROM spool_merged WHERE name=?", (name,))

    def settle_in(self) -> None:
        """Take the files as they are now for ours: the log is there from the first write on."""
        self._place.learn()

    def is_in_place(self) -> bool:
        """Are the open file and its log still those at the path?"""
        return self._place.unchanged()

    def keeps_rows(self) -> bool:
        """Is the open file still the ledger? What stands in a removed log comes into it by `rescue`."""
        return self._place.unchanged() or self._place.only_log_is_gone()

    def rescue(self) -> None:
        """Bring what stands in a removed log into the file, as far as that goes, before it is closed.

        Raises sqlite3.Error where a file that is still the ledger does not take it, and BusyError while somebody reads
        or writes one: its rows must wait for that.
        """
        try:
            (busy, *_) = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            if self._place.only_log_is_gone():
                raise  # Half a log in the file would be worse than a while in the spool.
            return
        if busy and self._place.only_log_is_gone():
            raise BusyError("somebody uses the ledger, and its log was removed")

    def let_go(self) -> None:
        """Close the connection to a ledger that was removed or replaced; in our turn, and before `close`.

        A log that belongs to the file we had must not be read into the one that took its place.
        """
        self._place.remove_own_log()
        with self._place.sparing_logs_of_others():
            self.connection.close()

    def checkpoint(self) -> None:
        """Empty the log into the file as far as readers allow. Waits for the disk: never call it from a hook."""
        self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
