"""A copy of the store before it is mended: made by SQLite itself, private, and checked before anything is written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.paths import UnsafePathError, private_file
from ledger_tui.sources.guard import read_only_uri
from ledger_tui.sources.interrupts import ended_by_ctrl_c

from .refused import RefusedError

_PAGES = 4_096
_SPARE = 16 * 1024 * 1024
"""Room that must be left beside the copy, for the journal and for what the change itself takes."""

_COUNTED = ("sessions", "messages")

Counts = dict[str, int]
Copied = Callable[[int, int], None]
"""Pages copied, and pages in all."""


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    bytes: int
    rows: Counts
    """Rows of `sessions` and `messages`, the same in the copy as in the store."""


def need_room(connection: sqlite3.Connection, folder: Path, *, free: Callable[[Path], int] | None = None) -> None:
    """Raises RefusedError where the copy would not fit, sqlite3.Error where the store does not tell its size."""
    needed = size(connection) + _SPARE
    there = free(folder) if free is not None else shutil.disk_usage(folder).free
    if there < needed:
        raise RefusedError(
            f"A backup needs {_megabytes(needed)} in {folder}, and {_megabytes(there)} are free",
            "make room there, then try again",
        )


def make_backup(connection: sqlite3.Connection, target: Path, *, copied: Copied | None = None) -> Backup:
    """Copies the store behind a read-only connection to the new file `target`, mode 0600, and checks the copy.

    Raises RefusedError; then no file is left.
    """
    try:
        os.close(private_file(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except (OSError, UnsafePathError) as error:
        raise RefusedError(f"The backup {target} cannot be made ({_why(error)})", "check its folder") from error
    try:
        rows = count_rows(connection)
        _copy(connection, target, copied)
        _check(target, rows)
        _settle(target)
        return Backup(target, target.stat().st_size, rows)
    except (sqlite3.Error, OSError) as error:
        remove(target)
        raise RefusedError(
            f"The backup {target} cannot be written ({_why(error)})", "check the disk and the folder, then try again"
        ) from error
    except BaseException:
        remove(target)
        raise


def _copy(connection: sqlite3.Connection, target: Path, copied: Copied | None) -> None:
    # The file is there, private; were it taken away, SQLite would make it anew as it makes files.
    uri = f"{target.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as copy:
        connection.backup(
            copy, pages=_PAGES, progress=lambda _, left, total: copied(total - left, total) if copied else None
        )
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # One file, whole by itself.


def _check(target: Path, rows: Counts) -> None:
    """Raises RefusedError where the copy is not whole."""
    with closing(sqlite3.connect(read_only_uri(target), uri=True, isolation_level=None)) as copy:
        damage = integrity(copy)
        found = count_rows(copy)
    if damage:
        raise RefusedError(
            f"The store is damaged ({damage}), and so is every copy of it", "let Hermes repair it first, then try again"
        )
    if found != rows:
        raise RefusedError("The store was written to while it was copied", "stop what writes to it, then try again")


def integrity(connection: sqlite3.Connection) -> str:
    """The first thing that SQLite finds wrong with the file; empty where it is whole. Raises sqlite3.Error."""
    with ended_by_ctrl_c(connection):
        lines = connection.execute("PRAGMA integrity_check(10)").fetchall()
    for (line,) in lines:
        if line != "ok" and "tokenizer" not in str(line):  # A search index whose tokenizer only the host can load.
            return str(line)
    return ""


def broken_links(connection: sqlite3.Connection) -> int:
    """Links of sessions to rows that do not exist. Raises sqlite3.Error."""
    return len(connection.execute("PRAGMA foreign_key_check(sessions)").fetchall())


def count_rows(connection: sqlite3.Connection) -> Counts:
    """Rows of the tables that matter. Raises sqlite3.Error."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {
        name: int(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
        for name in _COUNTED
        if name in tables
    }


def size(connection: sqlite3.Connection) -> int:
    """Bytes of the database. Raises sqlite3.Error."""
    ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    ((page,),) = connection.execute("PRAGMA page_size").fetchall()
    return int(pages) * int(page)


def _settle(target: Path) -> None:
    """The copy and its name are on the disk."""
    for path, flags in ((target, os.O_RDONLY), (target.parent, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))):
        with contextlib.suppress(PermissionError):  # Windows opens no folder.
            descriptor = os.open(path, flags)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def remove(target: Path) -> None:
    """Takes a copy away with whatever SQLite put beside it."""
    for end in ("", "-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            os.unlink(f"{target}{end}")


def _megabytes(amount: int) -> str:
    return f"{amount / 1_000_000:,.0f} MB"


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
