"""The turnstile: our writers take turns, one process at a time, so that no two write and checkpoint together.

SQLite 3.7.0 to 3.51.2 (but for 3.50.7 and 3.44.6) can damage a WAL file when one connection resets the log in
the very moment another writes. Taking turns avoids it, and is fairer than SQLite's own busy handler.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from pathlib import Path

from .paths import private_file

try:
    import fcntl
except ImportError:  # Windows: writers rely on SQLite's own locks there.
    fcntl = None  # type: ignore[assignment]


_TAKEN = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EINTR})


def has_wal_reset_bug(version: tuple[int, int, int] = sqlite3.sqlite_version_info[:3]) -> bool:
    """Does this build of SQLite have the WAL-reset bug? (sqlite.org/wal.html, "the WAL-reset bug")"""
    return (3, 7, 0) <= version < (3, 51, 3) and version not in {(3, 50, 7), (3, 44, 6)}


class Turnstile:
    """An advisory lock on one file. Not for threads among themselves: the caller holds a thread lock."""

    def __init__(self, path: Path) -> None:
        """Opens the lock file, made with mode 0600. Raises OSError."""
        self._descriptor = private_file(path, os.O_RDWR | os.O_CREAT)

    def enter(self, seconds: float) -> bool:
        """Wait at most `seconds` for our turn; False when it did not come."""
        if fcntl is None:
            return True
        deadline = 0.0
        pause = 0.0001
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError as error:
                if error.errno not in _TAKEN:
                    return True  # This file system knows no such lock: SQLite's own must do.
                now = time.monotonic()
                deadline = deadline or now + seconds
                if now >= deadline:
                    return False
                time.sleep(min(pause, deadline - now))
                pause = min(pause * 1.5, 0.002)

    def leave(self) -> None:
        if fcntl is not None:
            # What was written in our turn is written; a lock that cannot be given back must not make it look undone.
            try:  # noqa: SIM105 - `suppress` costs more than the unlocking itself
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            except OSError:
                pass

    def close(self) -> None:
        os.close(self._descriptor)
