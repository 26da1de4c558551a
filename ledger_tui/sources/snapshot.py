"""A ledger read once, for a command: standard library and engine only, so that `status` starts fast."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.process import is_dead, same_boot
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call, Writer

from . import parts, reading
from .guard import SourceError, connect, explain
from .reading import SessionTotals, Shape, Totals

__all__ = [
    "Filter",
    "Reading",
    "SessionTotals",
    "SourceError",
    "Totals",
    "open_ledger",
    "read_calls",
    "read_merged",
    "read_session_totals",
    "read_totals",
    "read_writers",
    "reading_ledger",
]


@dataclass(frozen=True, slots=True)
class Reading:
    """An open ledger and what kind of file it is."""

    path: Path
    connection: sqlite3.Connection
    shape: Shape


def open_ledger(path: Path, *, timeout_s: float = 1.0) -> sqlite3.Connection:
    """Read-only connection that its holder does not notice. Raises SourceError, whose `state` may be `missing`."""
    reading_ = _open(path, timeout_s)
    return reading_.connection


@contextmanager
def reading_ledger(path: Path, *, timeout_s: float = 1.0) -> Iterator[Reading]:
    """An open ledger for the length of a `with`. Every SQLite error inside becomes a SourceError."""
    opened = _open(path, timeout_s)
    try:
        yield opened
    except sqlite3.Error as error:
        raise explain(path, error) from error
    finally:
        opened.connection.close()


def _open(path: Path, timeout_s: float) -> Reading:
    connection = connect(path, timeout_s=timeout_s)
    try:
        return Reading(path, connection, reading.read_shape(connection))
    except ValueError as error:
        connection.close()
        raise SourceError(path, str(error), "name the ledger itself") from error
    except sqlite3.Error as error:
        connection.close()
        raise explain(path, error) from error


def _shape(source: Reading | sqlite3.Connection) -> tuple[sqlite3.Connection, Shape]:
    if isinstance(source, Reading):
        return source.connection, source.shape
    return source, reading.read_shape(source)


def read_totals(source: Reading | sqlite3.Connection) -> Totals:
    """Exact counts; index-only, some tens of milliseconds for a million rows."""
    return parts.read_totals(*_shape(source))


def read_calls(
    source: Reading | sqlite3.Connection,
    wanted: Filter | None = None,
    limit: int = 200,
    *,
    before_id: int | None = None,
    after_id: int | None = None,
) -> list[Call]:
    """At most `limit` calls, newest first (oldest first with `after_id` alone)."""
    return parts.read_calls(*_shape(source), wanted, before_id=before_id, after_id=after_id, limit=limit)


def read_session_totals(source: Reading | sqlite3.Connection) -> list[SessionTotals]:
    """Counts per session, last changed first. Reads every row once."""
    return parts.read_session_totals(*_shape(source))


def read_writers(source: Reading | sqlite3.Connection) -> dict[int, Writer]:
    """The processes that wrote to this ledger, by id."""
    return reading.read_writers(*_shape(source))


def dead_writers(source: Reading | sqlite3.Connection) -> frozenset[int]:
    """Writers that are proven gone: their PENDING rows can no longer be settled."""
    return frozenset(key for key, writer in read_writers(source).items() if is_dead(writer))


def same_boot_writers(source: Reading | sqlite3.Connection) -> frozenset[int]:
    """Writers whose monotonic clock is the one of this machine now: pass `mono_now` for their rows only."""
    return frozenset(key for key, writer in read_writers(source).items() if same_boot(writer))


def read_merged(source: Reading | sqlite3.Connection) -> dict[str, int]:
    """Bytes of each spool file that are in the ledger already, for `spool.waiting`."""
    return reading.read_merged(*_shape(source))
