"""A database file at its path: made private, and watched for being removed or replaced while it is open."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from .paths import UnsafePathError, is_own_file, private_file


def private_ledger(ledger: Path) -> None:
    """Make the file with mode 0600, or see that it is ours and that nobody else may read it. Raises OSError.

    To be called in our turn among the writers.
    """
    if not _is_there(ledger):
        # The memory that its users share stays when a ledger alone is removed, and as long as any of them has it open
        # SQLite would use it for the new one too: each of the two would forget the log of the other.
        with contextlib.suppress(OSError):
            os.unlink(f"{ledger}-shm")
        # Only while nobody can have it open: closing a descriptor of a database drops its locks in this process.
        with contextlib.suppress(FileExistsError):
            os.close(private_file(ledger, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    if not is_own_file(ledger):
        raise UnsafePathError(f"{ledger} is not a plain file of this user")
    info = os.lstat(ledger)
    if hasattr(os, "geteuid") and info.st_uid == os.geteuid() and info.st_mode & 0o077:
        os.chmod(ledger, 0o600)


def _is_there(path: Path) -> bool:
    """Raises OSError where it cannot be told: a file server may lose sight of a file for a moment."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


_Inode = tuple[int, int] | None


def _inode(path: str) -> _Inode:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _is_open_here(inode: _Inode) -> bool:
    """Has this process that file open? Slow, and False where a system does not list what is open."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/dev/fd"):
            with contextlib.suppress(OSError):
                info = os.fstat(int(name))
                if (info.st_dev, info.st_ino) == inode:
                    return True
    return False


class Place:
    """Tells whether a database and its log are still the files that were opened, for the price of one `stat`.

    A file that is removed or replaced changes the times of its folder: the one that a restore may set back, and the
    one that nobody can set. They are coarse, so a folder that changed a moment ago is looked at closely.
    """

    _COARSE_NS = 50_000_000
    _COARSEST_NS = 2_100_000_000
    """Where a time has no part of a second it may be kept in whole ones, or in every other one."""

    def __init__(self, ledger: Path) -> None:
        """To be made before the database is opened. Until `learn` nothing counts as unchanged that has a log."""
        self._ledger, self._log, self._folder = str(ledger), f"{ledger}-wal", str(ledger.parent)
        self._shared = f"{ledger}-shm"
        self._inodes: tuple[_Inode, _Inode] = (_inode(self._ledger), None)
        self._quiet_ns = -1

    def learn(self) -> None:
        """Take the log as it is now for ours; not the ledger: the one at the path may be another by now. The log beside
        that one is ours only if SQLite made it for us by its name meanwhile.
        """
        ledger, log = self._inodes[0], _inode(self._log)
        if _inode(self._ledger) != ledger and not _is_open_here(log):
            log = None
        self._inodes = (ledger, log)
        self._quiet_ns = -1

    def unchanged(self) -> bool:
        try:
            folder = os.stat(self._folder)
        except OSError:
            return False
        changed_ns = max(folder.st_mtime_ns, folder.st_ctime_ns)
        if changed_ns == self._quiet_ns:
            return True
        if (_inode(self._ledger), _inode(self._log)) != self._inodes:
            return False
        if time.time_ns() - changed_ns > (self._COARSE_NS if changed_ns % 1_000_000_000 else self._COARSEST_NS):
            self._quiet_ns = changed_ns
        return True

    def only_log_is_gone(self) -> bool:
        """Is the ledger still the one that was opened, and its log not?"""
        ledger, log = self._inodes
        return _inode(self._ledger) == ledger and _inode(self._log) != log

    @contextlib.contextmanager
    def sparing_logs_of_others(self) -> Iterator[None]:
        """Around closing: SQLite removes a log by its name, also where that of another ledger lies there by now."""
        kept: list[tuple[str, str]] = []
        if _inode(self._log) not in (None, self._inodes[1]):
            for path in (self._log, self._shared):
                with contextlib.suppress(OSError):
                    spare = f"{path}.{secrets.token_hex(6)}"  # A name that no crashed process can have left.
                    os.link(path, spare)
                    kept.append((path, spare))
        try:
            yield
        finally:
            for path, spare in kept:
                with contextlib.suppress(FileExistsError):
                    os.link(spare, path)
                with contextlib.suppress(OSError):
                    os.unlink(spare)

    def remove_own_log(self) -> None:
        """Of a ledger that is not at its path any more. Only while it is open: of a closed log the number is free,
        and the next file made may get it, such as the log of the ledger that took its place.
        """
        ledger, log = self._inodes
        if log is None or _inode(self._log) != log or _inode(self._ledger) == ledger:
            return
        taken = f"{self._log}.{os.getpid()}"
        with contextlib.suppress(OSError):
            os.rename(self._log, taken)
            if _inode(taken) == log:
                for path in (taken, self._shared):
                    os.unlink(path)
            else:  # Another process was faster, and this is the log of its new ledger already.
                with contextlib.suppress(FileExistsError):
                    os.link(taken, self._log)
                os.unlink(taken)
