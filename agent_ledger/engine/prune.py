"""Caps a ledger: drops the oldest settled rows, in bites so small that no hook of the agent waits for them.

A row that is not settled (PENDING, GHOST_REPORTED) is never dropped, however old it is.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .chain.seal import unpack
from .chain.spans import PRUNED, counts
from .chain.writer import ChainWriter, kept_out
from .turnstile import Turnstile
from .writing import PATIENCE_S, opened

BITE_S = 0.003
"""Time that one bite aims at, the lock of the ledger held."""

PAUSE_S = 0.01
"""Rest between two bites, in which the agent's own writes get their turn."""

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
    if not counts(connection):
        keep = max(keep, 1)  # The newest row alone holds which numbers were given.
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
    clock: Callable[[], float] = time.time,
    mono_clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    tell: Callable[[int], None] = lambda dropped: None,
) -> int:
    """Drops the settled rows with an id up to `through_id`; how many went. `tell` gets how many did so far.

    Each bite is a transaction of its own, in turn with the other writers; when it is interrupted, what is done
    is done and the rest stays. Raises UnsafePathError, ForeignSchemaError, TimeoutError, OSError, sqlite3.Error.
    """
    with opened(path) as connection, contextlib.closing(Turnstile(path.with_name("ledger.lock"))) as turnstile:
        dropped, bite = 0, _FIRST_BITE
        while True:
            if not turnstile.enter(PATIENCE_S):
                raise TimeoutError("other processes write without a break")
            try:
                began = mono_clock()
                ids = _bite(connection, through_id, bite, int(clock() * 1_000_000))
                took = mono_clock() - began
            finally:
                turnstile.leave()
            if not ids:
                return dropped
            dropped += len(ids)
            tell(dropped)
            bite = max(10, min(_LARGEST_BITE, bite * 2 if took < BITE_S / 2 else bite // 2 if took > BITE_S else bite))
            sleep(PAUSE_S)


def _bite(connection: sqlite3.Connection, through: int, most: int, now_us: int) -> list[int]:
    """Always the oldest settled rows: the chain takes none for pruned that older ones outlived."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        ids = [
            row[0]
            for row in connection.execute(
                f"SELECT id FROM ledger WHERE id <= ? AND {_SETTLED} ORDER BY id LIMIT ?",
                (through, most),
            )
        ]
        if ids:
            span = (ids[0], ids[-1])
            chain = ChainWriter(connection)
            chain.head()  # Looked up now: the last record may be one of those that go.
            record = _record(connection, span)
            gone = connection.execute(f"DELETE FROM ledger WHERE id BETWEEN ? AND ? AND {_SETTLED}", span)
            if gone.rowcount != len(ids):
                raise kept_out()
            for beside in ("notice_item", "verdict"):
                connection.execute(
                    f"DELETE FROM {beside} WHERE ledger_id BETWEEN ? AND ?"
                    " AND NOT EXISTS (SELECT 1 FROM ledger WHERE id = ledger_id)",
                    span,
                )
            chain.note(PRUNED, record, now_us=now_us)
        connection.execute("COMMIT")  # Outside WAL mode a reader can refuse it.
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # A full disk makes SQLite roll back by itself.
            connection.execute("ROLLBACK")
        raise
    return ids


def _record(connection: sqlite3.Connection, span: tuple[int, int]) -> dict[str, Any]:
    """What the chain must know about rows that go: their numbers, and on which of their records others may build."""
    inside = f"id BETWEEN ? AND ? AND {_SETTLED}"
    kept = connection.execute(f"SELECT id FROM ledger WHERE id BETWEEN ? AND ? AND NOT ({_SETTLED})", span).fetchall()
    seals = [
        seal
        for pair in connection.execute(f"SELECT issue_seal, settle_seal FROM ledger WHERE {inside}", span)
        for seal in map(unpack, pair)
        if seal is not None
    ]
    links = {seal.link for seal in seals}
    built_on = {seal.previous for seal in seals}
    ours = f"ledger_id IN (SELECT id FROM ledger WHERE {inside}) AND kind <> '{PRUNED}'"
    amended = connection.execute(f"SELECT previous, link FROM amendment WHERE {ours}", span).fetchall()
    for previous, link in amended:
        links.add(link)
        built_on.add(previous)
    if connection.execute(f"DELETE FROM amendment WHERE {ours}", span).rowcount != len(amended):
        raise kept_out()
    gone = sorted(link.hex() for link in links - built_on)
    return {"ids": list(span), "kept": [row[0] for row in kept], "gone": gone, "records": len(links)}
