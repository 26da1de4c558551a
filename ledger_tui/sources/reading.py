"""A ledger over a blocking read-only connection: its kind, and the questions that are short at any size."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from agent_ledger.engine import queries, schema
from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert, Writer

SLICE_S = 0.08
"""Longest time a statement may run in WAL mode, where it is in nobody's way but keeps others waiting for their turn."""

SHARED_SLICE_S = 0.01
"""The same in other modes, where a running read keeps the holder from committing: well below what it waits for."""


class SliceTimeoutError(Exception):
    """A statement was stopped because it ran longer than a slice."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What this file is: its columns, whether it may be ours to write, and how it keeps its journal."""

    columns: frozenset[str]
    """Of table `ledger`; empty when the file holds no tables yet."""
    version: int
    tables: frozenset[str]
    wal: bool
    status_may_be_null: bool = False
    """Never so in a file that the plugin made."""

    @property
    def slice_s(self) -> float:
        """Longest time a statement may run, in seconds."""
        return SLICE_S if self.wal else SHARED_SLICE_S

    @property
    def foreign(self) -> bool:
        """By other software, or by a newer plugin: shown, never written."""
        return bool(self.columns) and (self.version > schema.VERSION or not schema.COLUMNS.keys() <= self.columns)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of rows. `pending` is every PENDING row, overdue or not: the clock tells those apart, not the file."""

    rows: int = 0
    pending: int = 0
    ghost: int = 0
    error: int = 0
    revived: int = 0
    confirmed: int = 0


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """Counts of one session's rows; `session_id` is empty for rows without one."""

    session_id: Inert
    pending: int = 0
    ghost: int = 0
    error: int = 0
    revived: int = 0
    confirmed: int = 0
    changed: int = 0
    """Newest change in microseconds since 1970; 0 where the file does not tell."""

    @property
    def rows(self) -> int:
        return self.pending + self.ghost + self.error + self.revived + self.confirmed


@dataclass(frozen=True, slots=True)
class Marks:
    """How far the file has come: highest change counter, lowest and highest id (None when it is empty)."""

    changed: int = 0
    lowest: int | None = None
    highest: int | None = None


@contextmanager
def slice_of_time(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Stops a statement that runs longer than `seconds`, by SliceTimeoutError."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, 2000)
    try:
        yield
    except sqlite3.OperationalError as error:
        stopped = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
        if stopped and time.monotonic() > end:
            raise SliceTimeoutError from error
        raise
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def one_snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read inside agrees with itself: one short transaction, always ended."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def read_shape(connection: sqlite3.Connection) -> Shape:
    """Raises sqlite3.Error, and ValueError with a sentence where the file is a database but no ledger."""
    ((mode,),) = connection.execute("PRAGMA journal_mode").fetchall()
    with one_snapshot(connection):
        tables = frozenset(row[0] for row in connection.execute("SELECT name FROM sqlite_master").fetchall())
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        columns = frozenset(row[0] for row in connection.execute(*queries.COLUMNS_QUERY).fetchall())
        loose = connection.execute(
            "SELECT 1 FROM pragma_table_info('ledger') WHERE name = 'status' AND NOT \"notnull\""
        ).fetchall()
    if tables and not columns:
        raise ValueError("is a database without a ledger in it")
    if columns and not {"id", "ts", "tool_name", "status"} <= columns:
        raise ValueError("holds a table named ledger that is not a ledger of tool calls")
    return Shape(columns, version, tables, str(mode).lower() == "wal", bool(loose))


def read_marks(connection: sqlite3.Connection, shape: Shape) -> Marks:
    if not shape.columns:
        return Marks()
    changed_column = "max(changed)" if "changed" in shape.columns else "0"
    # Each by itself: asked for in one SELECT, the lowest and the highest id cost a walk over all rows.
    ((changed, lowest, highest),) = connection.execute(
        f"SELECT (SELECT {changed_column} FROM ledger), (SELECT min(id) FROM ledger), (SELECT max(id) FROM ledger)"
    ).fetchall()
    return Marks(int(changed or 0), lowest, highest)


def read_writers(connection: sqlite3.Connection, shape: Shape, ids: Sequence[int] | None = None) -> dict[int, Writer]:
    """The processes that wrote to the ledger, by id; `ids` names those of interest (at most some thousands)."""
    if "writer" not in shape.tables:
        return {}
    sql, params = queries.WRITERS_QUERY
    if ids is not None:
        sql, params = f"{sql} WHERE id IN ({','.join('?' * len(ids))})", tuple(ids)
    writers = (queries.writer_from_row(row) for row in connection.execute(sql, params).fetchall())
    return {writer.id: writer for writer in writers}


def read_merged(connection: sqlite3.Connection, shape: Shape) -> dict[str, int]:
    """How many bytes of each spool file are in the ledger already."""
    if "spool_merged" not in shape.tables:
        return {}
    return {str(name): int(size) for name, size in connection.execute("SELECT name, size FROM spool_merged").fetchall()}


def read_tool_names(connection: sqlite3.Connection, shape: Shape) -> list[str]:
    """Names of recorded tools, from the newest 5,000 rows: what a person may want to filter by."""
    if not shape.columns:
        return []
    rows = connection.execute(
        "SELECT DISTINCT tool_name FROM (SELECT tool_name FROM ledger ORDER BY id DESC LIMIT 5000)"
    ).fetchall()
    return sorted(inert(str(row[0])) for row in rows)


def read_repeats(connection: sqlite3.Connection, shape: Shape, call_id: int) -> list[int]:
    """Ids of the other calls that were issued with the same arguments, in order; at most 1,000.

    Every repeat names the first of its kind.
    """
    if "repeat_of" not in shape.columns:
        return []
    rows = connection.execute(
        "SELECT l.id FROM ledger c JOIN ledger l"
        " ON l.id = coalesce(c.repeat_of, c.id) OR l.repeat_of = coalesce(c.repeat_of, c.id)"
        " WHERE c.id = ? AND l.id <> c.id ORDER BY l.id DESC LIMIT 1000",
        (call_id,),
    ).fetchall()
    return sorted(int(row[0]) for row in rows)
