"""Before a database is opened: may we, without its owner noticing? And what an SQLite error means to a person."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agent_ledger.engine.databases import could_lock_out, hindrance, read_only_uri, readable, real_path
from agent_ledger.engine.inert import inert

__all__ = [
    "FOREIGN_OWNER",
    "MISSING",
    "STALE",
    "UNREADABLE",
    "SourceError",
    "check",
    "connect",
    "explain",
    "read_only_uri",
    "real_path",
]

MISSING = "missing"
STALE = "stale"
UNREADABLE = "unreadable"
FOREIGN_OWNER = "foreign-owner"

_FILES_OPENED = 4
"""By a connection that begins to read: the database, its log, what its readers share, and the folder of them."""


class SourceError(Exception):
    """A database cannot be read: which one, why, and what to do. `str()` is one plain, inert sentence."""

    def __init__(self, path: Path, reason: str, remedy: str, *, state: str = UNREADABLE) -> None:
        self.path = path
        self.reason = inert(reason)
        self.remedy = inert(remedy)
        self.state = state
        """`missing`, `stale` (comes back by itself), `unreadable` or `foreign-owner`."""
        super().__init__(f"{inert(str(path))} {self.reason}: {self.remedy}.")


class _Cursor(sqlite3.Cursor):
    """Goes on where a text is no UTF-8, for which Python refuses the row and with it the whole answer.

    Such a text is met once in a blue moon, and decoding each here is dear: it is begun with the first one. An answer
    is taken row by row or as a whole, not both.
    """

    asked: tuple[Any, ...] = ()

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.OperationalError as error:
            self._decode_here(error)
            super().execute(*self.asked)  # The rows before it are gone.
            return super().fetchall()

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.OperationalError as error:
            self._decode_here(error)
            return super().fetchone()  # The same row again.

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except sqlite3.OperationalError as error:
            self._decode_here(error)
            return super().__next__()

    def _decode_here(self, error: sqlite3.OperationalError) -> None:
        # The error is Python's: SQLite has no code for it.
        if hasattr(error, "sqlite_errorcode") or self.connection.text_factory is not str or "UTF-8" not in str(error):
            raise error
        assert isinstance(self.connection, Connection)
        self.connection.text_factory = self.connection.odd_text


class Connection(sqlite3.Connection):
    """Raises sqlite3.Error also where SQLite's own words quote bytes of a damaged schema that are no text."""

    odd_text: Callable[[bytes], str] = staticmethod(readable)
    """How text is read from the first one on that is no UTF-8."""

    def execute(self, *asked: Any) -> sqlite3.Cursor:
        cursor = self.cursor(_Cursor)
        cursor.asked = asked
        try:
            return cursor.execute(*asked)
        except UnicodeDecodeError as error:
            damaged = sqlite3.DatabaseError("malformed database schema")
            damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damaged from error


def connect(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """A read-only connection that the file's holder does not notice. Raises SourceError.

    SQLite reads the file with the first statement only: that one may still raise sqlite3.Error (see `explain`).
    """
    check(path)
    try:
        connection = sqlite3.connect(
            read_only_uri(path), uri=True, isolation_level=None, timeout=timeout_s, factory=Connection
        )
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error
    try:
        connection.execute("PRAGMA query_only=1")
    except sqlite3.Error as error:
        connection.close()
        raise explain(path, error) from error
    return connection


def check(path: Path) -> os.stat_result:
    """Is there a file that may be opened? Looks with `stat()` only, never into it. Raises SourceError."""
    try:
        info = os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceError(path, "does not exist", "it appears with the first record", state=MISSING) from error
    except OSError as error:
        raise explain(path, error) from error
    if not stat.S_ISREG(info.st_mode):
        raise SourceError(path, "is not a file", "name the database file itself")
    if could_lock_out(path, info.st_uid):
        raise SourceError(
            path,
            "belongs to another user and is not in use right now, and opening it could lock its owner out",
            "read it as its owner, or while its owner has it open",
            state=FOREIGN_OWNER,
        )
    why_not = hindrance(path)
    if why_not:
        raise SourceError(path, why_not, "copy the folder before anything opens it, then move that away")
    return info


def explain(path: Path, error: Exception) -> SourceError:
    """What went wrong, in words."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return SourceError(path, "is locked by another process", "try again in a moment", state=STALE)
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        return SourceError(
            path,
            "was left in the middle of a write by a process that ended",
            "start the program that owns it once, which puts it in order, then try again",
        )
    if primary == sqlite3.SQLITE_NOTADB:
        return SourceError(path, "is no SQLite database", "name another file, or move this one away")
    if primary == sqlite3.SQLITE_CORRUPT:
        return SourceError(path, "is damaged", "move it away with its -wal and -shm, and recover a copy of it")
    if primary == sqlite3.SQLITE_FULL:
        return SourceError(path, "finds no room on its disk", "make some, then try again")
    if primary == sqlite3.SQLITE_CANTOPEN and _no_file_left():
        return SourceError(
            path,
            "cannot be opened, as this program has as many files open as it may",
            "ask for fewer homes at once, or allow it more files (ulimit -n)",
        )
    if primary == sqlite3.SQLITE_CANTOPEN and os.access(path, os.R_OK) and not os.access(path.parent, os.W_OK):
        return SourceError(
            path,
            "can only be read where a file can be made beside it, and its folder takes none",
            "copy it, and a -wal beside it, to a folder of yours, and name that copy",
        )
    if isinstance(error, PermissionError) or primary in (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
    ):
        return SourceError(path, f"cannot be opened ({error})", "check the rights of the file and of its folder")
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return SourceError(
            path, f"does not take the change ({error})", "take the rule out that forbids it, or leave it"
        )
    return SourceError(path, f"cannot be read ({error})", "check the file and the disk")


def _no_file_left() -> bool:
    """Has this program, or the system, as many files open as it may? SQLite does not tell that from other reasons."""
    try:
        with ExitStack() as kept:
            for _ in range(_FILES_OPENED):
                kept.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False
