"""A throw-away ledger that is filled from elsewhere, so that whoever reads ledgers can read what stands there."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

from agent_ledger.engine import schema
from agent_ledger.engine.chain.spans import PRUNED
from agent_ledger.engine.paths import Paths

from .raw_rows import KEYS, RawLedger, Row, kinds

_DELETED_AT_ONCE = 500


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
            schema.prepare(connection)
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

    def drop_pruned(self) -> None:
        """Takes out what `prune` took out of the ledger that this is a copy of: its chain says that they are gone."""
        for one in RawLedger(self._connection, {"amendment": []}).prunings():
            spared = ", ".join(map(str, one.kept))
            for table, key, more in (
                ("ledger", "id", ""),
                ("verdict", "ledger_id", ""),
                ("amendment", "ledger_id", f" AND kind <> '{PRUNED}'"),
            ):
                where = f"{key} BETWEEN ? AND ? AND {key} NOT IN ({spared}){more}"
                self._connection.execute(f"DELETE FROM {table} WHERE {where}", (one.first, one.last))

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
