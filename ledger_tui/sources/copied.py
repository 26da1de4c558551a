"""A throw-away ledger that is filled from elsewhere, so that whoever reads ledgers can read what stands there."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths

from .raw_rows import KEYS, Row, kinds

_DELETED_AT_ONCE = 500

_AS_IT_COMES = "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, {})".format(
    ", ".join(name for name in schema.COLUMNS if name != "id")
)
"""Without kinds: by them SQLite would make 5 of a '5' that stands, and was sealed, so in a ledger of other software."""

_ABOUT = (
    "CREATE TABLE copied_moment(whole INTEGER NOT NULL)",
    "INSERT INTO copied_moment VALUES(0)",
    "CREATE TABLE copied_altered(ledger_id INTEGER PRIMARY KEY)",
)
"""What is known of the copying stands in the copy itself, so that it is of one moment with the rows."""


def altered_calls(connection: sqlite3.Connection) -> frozenset[int] | None:
    """The calls of a copy of which cells were changed on the way; None where the copy is no whole moment of its ledger.

    Only for a file that a `CopiedLedger` made: anybody can write such tables into another one. Raises sqlite3.Error.
    """
    ((whole,),) = connection.execute("SELECT whole FROM copied_moment").fetchall()
    found = connection.execute("SELECT ledger_id FROM copied_altered").fetchall()
    return frozenset(number for (number,) in found) if whole else None


class CopiedLedger:
    """The ledger of a home that holds nothing else. One thread at a time; readers are in nobody's way."""

    def __init__(self, home: Path) -> None:
        """Makes it in an empty private folder. Raises OSError, sqlite3.Error."""
        self.path = Paths(home).ledger
        for folder in (home, self.path.parent.parent, self.path.parent):
            folder.mkdir(mode=0o700, exist_ok=folder == home)
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(self._open()) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_AS_IT_COMES)
            schema.prepare(connection)
            for statement in _ABOUT:
                connection.execute(statement)
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous=OFF")  # It does not outlive the process.
        return connection

    def __enter__(self) -> CopiedLedger:
        """One change of the file, which readers see as a whole."""
        self._connection.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:  # Also where the disk was too full for the COMMIT.
                self._connection.execute("ROLLBACK")

    def put(self, table: str, rows: Sequence[Row]) -> None:
        """Rows that are new, or become what they are now."""
        names = list(kinds()[table])
        if table == "amendment":  # `prune` may have given its id to another one.
            rows = [{**row, "id": row["number"]} for row in rows]
        self._connection.executemany(
            f"INSERT OR REPLACE INTO {table}({', '.join(names)}) VALUES({', '.join('?' * len(names))})",
            [[_stored(row[name]) for name in names] for row in rows],
        )

    def count(self, table: str) -> int:
        (found,) = self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(found)

    def keep_only(self, table: str, keys: Collection[int]) -> None:
        """Takes out every row but these."""
        key = KEYS[table]
        gone = [found for (found,) in self._connection.execute(f"SELECT {key} FROM {table}") if found not in keys]
        for start in range(0, len(gone), _DELETED_AT_ONCE):
            part = gone[start : start + _DELETED_AT_ONCE]
            self._connection.execute(f"DELETE FROM {table} WHERE {key} IN ({','.join('?' * len(part))})", part)

    def is_moment(self, whole: bool) -> None:
        """Is what stands here by now one whole moment of the ledger?"""
        self._connection.execute("UPDATE copied_moment SET whole=?", (whole,))

    def altered(self, calls: Iterable[int]) -> None:
        """Of these calls cells were changed on the way."""
        self._connection.executemany("INSERT OR IGNORE INTO copied_altered VALUES(?)", [(one,) for one in calls])

    def close(self) -> None:
        self._connection.close()


def _stored(value: object) -> object:
    """Text with lone surrogates as the bytes that it was read from."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogateescape")
    return value
