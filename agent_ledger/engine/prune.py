"""Caps a ledger: drops the oldest settled rows, in bites so small that no hook of the agent waits for them.

A row that is not settled (PENDING, GHOST_REPORTED) is never dropped, however old it is.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .paths import UnsafePathError
from .schema import COLUMNS, VERSION, ForeignSchemaError, columns_of
from .turnstile import Turnstile

BITE_S = 0.003
"""Time that one bite aims at, the lock of the ledger held."""

PAUSE_S = 0.01
"""Rest between two bites, in which the agent's own writes get their turn."""

PATIENCE_S = 5.0
"""How long a bite waits for others to finish writing before pruning gives up."""

_FIRST_BITE, _LARGEST_BITE = 100, 5_000
_SETTLED = "status NOT IN ('PENDING', 'GHOST_REPORTED')"


@dataclass(frozen=True, slots=True)
class Plan:
    """What keeping the newest `keep` rows means for a ledger. Times are the column `ts` as it stands."""

    rows: int
    drop: int
    spared: int
    """Rows older than the newest `keep` that stay because they are not settled."""
    through_id: int | None
    """Settled rows up to here go; None when none is old enough."""
    oldest: str | None = None
    newest: str | None = None


def plan(connection: sqlite3.Connection, keep: int) -> Plan:
    """Looks only; any connection will do. Raises sqlite3.Error."""
    (rows,) = connection.execute("SELECT count(*) FROM ledger").fetchone()
    cut = connection.execute("SELECT id FROM ledger ORDER BY id DESC LIMIT 1 OFFSET ?", (keep,)).fetchone()
    if cut is None:
        return Plan(rows, 0, 0, None)
    (old,) = connection.execute("SELECT count(*) FROM ledger WHERE id <= ?", cut).fetchone()
    (drop,) = connection.execute(f"SELECT count(*) FROM ledger WHERE id <= ? AND {_SETTLED}", cut).fetchone()
    ends = [
        connection.execute(
            f"SELECT ts FROM ledger WHERE id <= ? AND {_SETTLED} ORDER BY id {order} LIMIT 1", cut
        ).fetchone()
        for order in ("ASC", "DESC")
    ]
    oldest, newest = (None if end is None else str(end[0]) for end in ends)
    return Plan(rows, drop, old - drop, cut[0], oldest, newest)


def prune(
    path: Path,
    through_id: int,
    *,
    mono_clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Drops the settled rows with an id up to `through_id`; how many went.

    Each bite is a transaction of its own, in turn with the other writers; when it is interrupted, what is done
    is done and the rest stays. Raises UnsafePathError, ForeignSchemaError, TimeoutError, OSError, sqlite3.Error.
    """
    with _opened(path) as connection, contextlib.closing(Turnstile(path.with_name("ledger.lock"))) as turnstile:
        dropped, bite, after = 0, _FIRST_BITE, -(2**63)
        while True:
            if not turnstile.enter(PATIENCE_S):
                raise TimeoutError("other processes write without a break")
            try:
                began = mono_clock()
                ids = _bite(connection, after, through_id, bite)
                took = mono_clock() - began
            finally:
                turnstile.leave()
            if not ids:
                return dropped
            dropped += len(ids)
            after = ids[-1]
            bite = max(10, min(_LARGEST_BITE, bite * 2 if took < BITE_S / 2 else bite // 2 if took > BITE_S else bite))
            sleep(PAUSE_S)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode):
        raise UnsafePathError(f"{path} is a link or no file")
    if hasattr(os, "geteuid") and info.st_uid != os.geteuid():
        raise UnsafePathError(f"{path} belongs to another user")
    connection = sqlite3.connect(
        path.absolute().as_uri() + "?mode=rw", uri=True, timeout=PATIENCE_S, isolation_level=None
    )
    try:
        # Emptying the log is the plugin's business; here it would only keep the agent waiting for the disk.
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("PRAGMA synchronous=NORMAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION or not columns_of(connection) >= COLUMNS.keys():
            raise ForeignSchemaError("the ledger is by other software or by a newer plugin")
        yield connection
    finally:
        connection.close()


def _bite(connection: sqlite3.Connection, after: int, through: int, most: int) -> list[int]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        ids = [
            row[0]
            for row in connection.execute(
                f"SELECT id FROM ledger WHERE id > ? AND id <= ? AND {_SETTLED} ORDER BY id LIMIT ?",
                (after, through, most),
            )
        ]
        if ids:
            span = (ids[0], ids[-1])
            connection.execute(f"DELETE FROM ledger WHERE id BETWEEN ? AND ? AND {_SETTLED}", span)
            connection.execute(
                "DELETE FROM notice_item WHERE ledger_id BETWEEN ? AND ?"
                " AND NOT EXISTS (SELECT 1 FROM ledger WHERE id = ledger_id)",
                span,
            )
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return ids
