"""Opening somebody's database to read it, without its owner noticing."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def real_path(path: Path) -> Path:
    """Links followed, as SQLite does. Links that lead round stay as they are, for `stat()` to say so."""
    return Path(os.path.realpath(path))


def read_only_uri(path: Path) -> str:
    """Names the file for SQLite: a link followed (its `-wal` lies beside the target), `?`, `#`, `%` escaped."""
    return real_path(path).as_uri() + "?mode=ro"


def readable(data: bytes) -> str:
    """For `Connection.text_factory`: a text that is no UTF-8, by other software or a flipped byte, with marks for what
    cannot be read. As it is, Python refuses the whole answer for one such cell."""
    return data.decode("utf-8", "replace")


def hindrance(path: Path) -> str:
    """Why not even a look into this database may be had, in words behind its name; empty where it may.

    SQLite waits without end for a pipe under the name of a log, and removes the log of an empty file even to read it.
    Looks with `stat()` only.
    """
    real = str(real_path(path))
    for end in ("-wal", "-shm", "-journal"):
        try:
            info = os.stat(real + end)
        except OSError:
            continue
        if not stat.S_ISREG(info.st_mode):
            return f"has something beside it that is no file ({real}{end})"
        if end == "-wal" and info.st_size and not _size(real):
            return f"is empty, while {real}{end} still holds what was written to it last"
    return ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def could_lock_out(path: Path, owner: int) -> bool:
    """Could opening a database of the user `owner` keep its owner from writing? Looks with `stat()` only.

    A reader of a WAL store whose `-wal` or `-shm` is missing creates them under its own user, and the owner
    can then no longer write. Whether a store is in WAL mode cannot be seen from outside, so any file of
    another user without both is to be left alone. Root is safe: SQLite gives the files to the store's owner.
    """
    if not hasattr(os, "geteuid") or os.geteuid() in (0, owner):
        return False
    return not all(os.path.exists(f"{real_path(path)}{end}") for end in ("-wal", "-shm"))
