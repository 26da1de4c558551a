"""The one writing connection of a process and home: every statement that changes `ledger.db`.

Each change is one statement or one short transaction. Nothing here waits longer than its caller allows.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import schema
from .mounts import network_mount
from .outcome import Outcome
from .paths import Paths, private_folder
from .place import Place, private_ledger
from .process import Identity
from .records import CONFIRMED, GHOST_REPORTED, PENDING
from .turnstile import Turnstile

BUSY_MS = 5
"""How long SQLite itself may wait for a lock. Our own writers take turns before; only strangers are waited for."""

PAGE_BYTES = 2048

LATE_ROWS = 20_000
"""How many rows back a settlement may still contradict one that stands."""

CHECKPOINT_WRITES = 1000
"""Own writes (some 4 pages each) after which the log is emptied; off the hook, since it waits for the disk."""

ISSUE_COLUMNS = (
    "ts", "session_id", "turn_id", "tool_call_id", "task_id", "request_id", "tool_name", "args_json", "args_cut",
    "args_redacted", "args_hash", "value_hashes", "status", "grace_s", "mono", "writer_id", "nested_in", "repeat_of",
    "workplace",
)  # fmt: skip

_NEXT = "max(?, (SELECT coalesce(max(changed), 0) + 1 FROM ledger))"
"""The change counter: the clock in microseconds, but always above every value in the file."""

_INSERT = (
    f"INSERT INTO ledger({', '.join(ISSUE_COLUMNS)}, changed) VALUES({','.join('?' * len(ISSUE_COLUMNS))}, {_NEXT})"
)

_SETTLE = (
    "UPDATE ledger SET status=?, effect=?, result_digest=?, settled_ts=?, duration_ms=?, exit_code=?, closed_by=?,"
    f" changed={_NEXT} WHERE id=? AND tool_call_id=? AND status IN ('PENDING', 'GHOST_REPORTED')"
)

_UNSETTLED = "status IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED'"


def raise_change(connection: sqlite3.Connection, call_id: int, *, now_us: int) -> None:
    """Count a row as changed though none of its own cells is."""
    connection.execute(f"UPDATE ledger SET changed={_NEXT} WHERE id=?", (now_us, call_id))


class BusyError(Exception):
    """Another writer has its turn and did not finish in the time we had."""


class Store:
    """An open `ledger.db`. The caller lets one thread in at a time."""

    def __init__(self, paths: Paths, *, durability: str) -> None:
        """Opens or makes the ledger. Raises OSError, sqlite3.Error, BusyError, schema.ForeignSchemaError."""
        private_folder(paths.data)
        private_ledger(paths.ledger)
        self._place = Place(paths.ledger)
        self._turnstile = Turnstile(paths.turnstile)
        self.connection = sqlite3.connect(
            paths.ledger, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        self._cursor = self.connection.cursor()
        try:
            # Before the file has its first page only; half the usual size halves what a commit must copy.
            self.connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            self.journal_mode, self.mount = self._choose_journal(paths.ledger)
            self._durability = ""
            self.use(durability)
            self.connection.execute("PRAGMA wal_autocheckpoint=0")
            with self.turn(0.5):
                schema.prepare(self.connection)
        except BaseException:
            self.close()
            raise

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
        """A part of a transaction that may fail alone."""
        self.connection.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK TO part")
                self.connection.execute("RELEASE part")
            raise
        self.connection.execute("RELEASE part")

    def abandon(self) -> None:
        """Leave no transaction open. A full disk makes SQLite roll back by itself; then there is nothing to do."""
        if self.connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()
        self._turnstile.close()

    # -- writing one call ------------------------------------------------------------------------------------------

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
        return int(cursor.lastrowid or 0)

    def insert(self, row: Sequence[Any], *, now_us: int) -> int:
        """Add a call (values in the order of ISSUE_COLUMNS); its id."""
        return self._cursor.execute(_INSERT, (*row, now_us)).lastrowid or 0

    def hashes_of(self, sessions: Sequence[str], limit: int) -> list[tuple[Any, ...]]:
        """The newest calls of a conversation that may have run: argument hash, first of its kind, time."""
        marks = ",".join("?" * len(sessions))
        return self.connection.execute(
            "SELECT args_hash, coalesce(repeat_of, id), ts FROM ledger"
            f" WHERE session_id IN ({marks}) AND args_hash IS NOT NULL AND effect IS NOT 'none'"
            " ORDER BY id DESC LIMIT ?",
            (*sessions, limit),
        ).fetchall()

    def insert_settled(self, values: dict[str, Any], *, now_us: int) -> int:
        """Add a row that is settled already (values by column)."""
        names = ", ".join(values)
        sql = f"INSERT INTO ledger({names}, changed) VALUES({','.join('?' * len(values))}, {_NEXT})"
        return int(self.connection.execute(sql, (*values.values(), now_us)).lastrowid or 0)

    def seen_again(self, call_id: int, *, now_us: int) -> bool:
        """Count one more announcement of a pending call; False when it is not pending any more."""
        cursor = self.connection.execute(
            f"UPDATE ledger SET seen=coalesce(seen,1)+1, changed={_NEXT} WHERE id=? AND status='{PENDING}'",
            (now_us, call_id),
        )
        return bool(cursor.rowcount)

    def pending_since(self, key: tuple[str, str, str], args_hash: bytes | None, since: str) -> int | None:
        """A pending call with these ids and arguments, announced since a moment."""
        found = self.connection.execute(
            f"SELECT id FROM ledger WHERE {_UNSETTLED} AND session_id=? AND turn_id=? AND tool_call_id=?"
            " AND args_hash IS ? AND ts >= ?",
            (*key, args_hash, since),
        ).fetchone()
        return int(found[0]) if found else None

    def settle(self, call_id: int, tool_call_id: str, outcome: Outcome, *, by: str, ts: str, now_us: int) -> bool:
        """Settle one unsettled row. False when there is none with that id and call id."""
        cursor = self._cursor.execute(
            _SETTLE,
            (
                outcome.status, outcome.effect, outcome.digest, ts, outcome.duration_ms, outcome.exit_code, by, now_us,
                call_id, tool_call_id,
            ),
        )  # fmt: skip
        return bool(cursor.rowcount)

    def fill_session(self, call_id: int, session_id: str, turn_id: str) -> None:
        """Name the conversation of a call that was announced without one (hermes-agent #28961)."""
        self.connection.execute(
            "UPDATE ledger SET session_id=?, turn_id=coalesce(nullif(turn_id,''),?) WHERE id=? AND session_id=''",
            (session_id, turn_id, call_id),
        )

    def contradict(self, call_id: int, outcome: Outcome, *, ts: str, now_us: int) -> bool:
        """Record a settlement that differs from the one that stands. The effect is done once either says so."""
        cursor = self.connection.execute(
            "UPDATE ledger SET later_status=?, later_ts=?, later_digest=?,"
            f" effect=CASE WHEN ?='done' THEN 'done' ELSE effect END, changed={_NEXT}"
            f" WHERE id=? AND status<>? AND NOT ({_UNSETTLED})",
            (outcome.status, ts, outcome.digest, outcome.effect, now_us, call_id, outcome.status),
        )
        return bool(cursor.rowcount)

    def announce_late(self, key: tuple[str, str, str], values: dict[str, Any], *, now_us: int) -> None:
        """Give the row of a call that was given up before it was announced its arguments (values by column)."""
        names = "".join(f"{name}=?, " for name in values)
        self.connection.execute(
            f"UPDATE ledger SET {names}closed_by='post', effect='unknown', changed={_NEXT}"
            " WHERE session_id=? AND turn_id=? AND tool_call_id=? AND closed_by='no-pre'"
            f" AND id > (SELECT max(id) FROM ledger) - {LATE_ROWS}",
            (*values.values(), now_us, *key),
        )

    # -- finding the row of a settlement ---------------------------------------------------------------------------

    def find(
        self, *, session_id: str, turn_id: str, tool_call_id: str, task_id: str, request_id: str, tool_name: str,
        args_hash: bytes | None,
    ) -> tuple[int, str, bool] | None:  # fmt: skip
        """(id, call id, unsettled) of the row that a settlement speaks of; None when no row is left for it."""
        if tool_call_id:
            return self._find_by_id(session_id, turn_id, tool_call_id, request_id, tool_name)
        return self._find_by_tool(session_id, task_id, tool_name, args_hash)

    def _find_by_id(
        self, session_id: str, turn_id: str, tool_call_id: str, request_id: str, tool_name: str
    ) -> tuple[int, str, bool] | None:
        # Ids come from the model's provider and are not unique: the same turn, else a row that names none.
        same = "tool_call_id = ? AND tool_name = ? AND (turn_id = ? OR coalesce(turn_id,'') = '' OR ? = '')"
        values = (tool_call_id, tool_name, turn_id, turn_id)
        found = self.connection.execute(
            f"SELECT id FROM ledger WHERE {_UNSETTLED} AND {same} AND (session_id IN (?, '') OR ? = '')"
            " ORDER BY (request_id = ?) DESC, (session_id = ?) DESC, id LIMIT 1",
            (*values, session_id, session_id, request_id, session_id),
        ).fetchone()
        if found:
            return int(found[0]), tool_call_id, True
        found = self.connection.execute(
            f"SELECT id FROM ledger WHERE session_id = ? AND id > (SELECT max(id) FROM ledger) - {LATE_ROWS} AND {same}"
            " ORDER BY (request_id = ?) DESC, id DESC LIMIT 1",
            (session_id, *values, request_id),
        ).fetchone()
        return (int(found[0]), tool_call_id, False) if found else None

    def _find_by_tool(
        self, session_id: str, task_id: str, tool_name: str, args_hash: bytes | None
    ) -> tuple[int, str, bool] | None:
        scope, value = ("session_id", session_id) if session_id else ("task_id", task_id)
        found = self.connection.execute(
            f"SELECT id, tool_call_id FROM ledger WHERE {_UNSETTLED} AND tool_name = ? AND {scope} = ?"
            " ORDER BY (args_hash IS ?) DESC, (coalesce(tool_call_id,'') = '') DESC, id LIMIT 1",
            (tool_name, value, args_hash),
        ).fetchone()
        if found is None and session_id and task_id:
            # Announced without a session and settled with one.
            found = self.connection.execute(
                f"SELECT id, tool_call_id FROM ledger WHERE {_UNSETTLED} AND tool_name = ? AND session_id = ''"
                " AND task_id = ? ORDER BY (args_hash IS ?) DESC, id LIMIT 1",
                (tool_name, task_id, args_hash),
            ).fetchone()
        return (int(found[0]), str(found[1] or ""), True) if found else None

    def newest_nested(self, tool_name: str, task_id: str, args_hash: bytes | None) -> int | None:
        """The newest settled call without an id of this tool, task and arguments."""
        found = self.connection.execute(
            "SELECT id FROM ledger WHERE id > (SELECT max(id) FROM ledger) - 200 AND tool_call_id = ''"
            f" AND tool_name = ? AND task_id = ? AND args_hash IS ? AND NOT ({_UNSETTLED}) ORDER BY id DESC LIMIT 1",
            (tool_name, task_id, args_hash),
        ).fetchone()
        return int(found[0]) if found else None

    # -- reconciling -----------------------------------------------------------------------------------------------

    def pending_of(self, sessions: Sequence[str], task_id: str) -> list[tuple[Any, ...]]:
        """Pending rows of a conversation whose silence means something: id, ts, tool, args, grace, mono, writer, call
        id. A nested call without a session belongs to the conversation of its task."""
        marks = ",".join("?" * len(sessions))
        return self.connection.execute(
            "SELECT id, ts, tool_name, args_json, grace_s, mono, writer_id, tool_call_id FROM ledger"
            f" WHERE status = '{PENDING}' AND status <> 'CONFIRMED' AND no_signal IS NOT 1"
            f" AND (session_id IN ({marks}) OR (session_id = '' AND ? <> '' AND task_id = ?)) ORDER BY id",
            (*sessions, task_id, task_id),
        ).fetchall()

    def report(self, ids: Sequence[int], *, ts: str, now_us: int) -> list[int]:
        """PENDING to GHOST_REPORTED; the ids that were still pending."""
        done = []
        for call_id in ids:
            cursor = self.connection.execute(
                f"UPDATE ledger SET status='{GHOST_REPORTED}', reported_ts=coalesce(reported_ts, ?),"
                f" effect='unknown', changed={_NEXT} WHERE id=? AND status='{PENDING}'",
                (ts, now_us, call_id),
            )
            if cursor.rowcount:
                done.append(call_id)
        return done

    def mark_no_signal(self, tool_name: str, ids: Sequence[int], *, ts: str, now_us: int) -> None:
        self.connection.execute("INSERT OR IGNORE INTO no_signal VALUES(?,?)", (tool_name, ts))
        for call_id in ids:
            self.connection.execute(
                f"UPDATE ledger SET no_signal=1, changed={_NEXT} WHERE id=? AND no_signal IS NOT 1", (now_us, call_id)
            )

    def confirmed_before(self, sessions: Sequence[str], before_ts: str, limit: int) -> list[tuple[Any, ...]]:
        """The newest confirmed calls of a conversation issued before a moment: id, ts, tool, args."""
        marks = ",".join("?" * len(sessions))
        return self.connection.execute(
            f"SELECT id, ts, tool_name, args_json FROM ledger WHERE session_id IN ({marks}) AND status='{CONFIRMED}'"
            " AND ts < ? ORDER BY id DESC LIMIT ?",
            (*sessions, before_ts, limit),
        ).fetchall()

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
        self.connection.execute(
            "INSERT INTO spool_merged(name, size, writer_id, merged_ts) VALUES(?,?,?,?)"
            " ON CONFLICT(name) DO UPDATE SET size=excluded.size, merged_ts=excluded.merged_ts",
            (name, size, writer_id, ts),
        )

    def forget_merged(self, name: str) -> None:
        self.connection.execute("DELETE FROM spool_merged WHERE name=?", (name,))

    def settle_in(self) -> None:
        """Take the files as they are now for ours: the log is there from the first write on."""
        self._place.learn()

    def is_in_place(self) -> bool:
        """Are the open file and its log still those at the path?"""
        return self._place.unchanged()

    def rescue(self) -> None:
        """Bring what stands in a removed log into the file, as far as that goes, before it is closed."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def leave_no_log(self) -> None:
        """After closing: a log that belongs to the file we had must not be read into the one that took its place."""
        self._place.remove_own_log()

    def checkpoint(self) -> None:
        """Empty the log into the file as far as readers allow. Waits for the disk: never call it from a hook."""
        self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
