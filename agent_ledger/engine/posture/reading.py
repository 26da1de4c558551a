"""A ledger read into a posture: read-only, in short statements, whatever its size."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from ..databases import hindrance, read_only_uri, readable
from ..queries import COLUMNS_QUERY, Query
from ..records import utc_seconds
from .joined import rotations_of
from .rows import RawRow, page
from .score import Posture

PAGE = 2000
"""Rows a statement: some milliseconds, in which a ledger without a write-ahead log keeps its writer waiting."""

_BEFORE_ALL = -(2**62)
_NEEDED = frozenset({"id", "ts", "tool_name", "status"})


class LedgerError(Exception):
    """A ledger cannot be read; the text is one plain sentence."""


def rows(
    connection: sqlite3.Connection,
    columns: Collection[str],
    *,
    since: float | None = None,
    after_id: int = _BEFORE_ALL,
    tell: Callable[[int], None] = lambda rows: None,
) -> Iterator[RawRow]:
    """Every row by id, or those issued at or after `since` (seconds since 1970). Raises sqlite3.Error.

    `tell` gets how many were read so far, whether they are among them or not.
    """
    seen = 0
    while True:
        found = _answer(connection, page(columns, after_id=after_id, limit=PAGE))
        yield from found if since is None else _issued_since(found, since)
        seen += len(found)
        tell(seen)
        if len(found) < PAGE:
            return
        after_id = found[-1][0]


def _answer(connection: sqlite3.Connection, asked: Query) -> list[RawRow]:
    """Every row of one answer. Only where a text is no UTF-8 each is decoded here, which takes half as long again."""
    try:
        return connection.execute(*asked).fetchall()
    except sqlite3.OperationalError as error:
        if "UTF-8" not in str(error) or connection.text_factory is not str:
            raise
        connection.text_factory = readable
        return connection.execute(*asked).fetchall()


def _issued_since(found: Iterable[RawRow], since: float) -> Iterator[RawRow]:
    for raw in found:
        at = utc_seconds(raw[1])
        if at is not None and at >= since:
            yield raw


def scored(
    connection: sqlite3.Connection,
    columns: Collection[str],
    *,
    since: float | None = None,
    tell: Callable[[int], None] = lambda rows: None,
) -> Posture:
    """The posture of the rows as they stand; `tell` gets how many were read so far. Raises sqlite3.Error."""
    posture = Posture()
    if columns:
        posture.join(rotations_of(connection))
        posture.feed_rows(rows(connection, columns, since=since, tell=tell))
    return posture


def scored_file(path: Path, *, since: float | None = None) -> Posture:
    """The same for a file that nobody has opened yet. Raises LedgerError, whose text names the file."""
    if not path.is_file():
        raise LedgerError(f"{path} does not exist or is not a file; name the ledger.db to score.")
    why_not = hindrance(path)
    if why_not:
        raise LedgerError(f"{path} {why_not}; copy the folder before anything opens it, then move that away.")
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=5.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA query_only=1")
            columns = frozenset(row[0] for row in connection.execute(*COLUMNS_QUERY))
            if not columns >= _NEEDED:
                tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if tables:
                    raise LedgerError(f"{path} is a database without a ledger of tool calls in it; name a ledger.db.")
                columns = frozenset()
            return scored(connection, columns, since=since)
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # Words of SQLite may quote a damaged schema.
        raise LedgerError(f"{path} cannot be read ({error}); check the file and its rights.") from error
