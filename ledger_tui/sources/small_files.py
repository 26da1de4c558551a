"""Reads files that others wrote; a pipe or device under such a name is an error at once, never a wait."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_AT_ONCE = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


def opened(path: Path) -> BinaryIO:
    """A plain file, open for reading. Raises OSError, also for what is no plain file."""
    file = os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no plain file", str(path))


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """The whole file, or at most `limit` bytes of it. Raises OSError."""
    with opened(path) as file:
        return file.read(limit)


def read_text(path: Path, limit: int, *, errors: str = "replace") -> str:
    """The same as UTF-8 text, its line ends as they are. Raises UnicodeDecodeError where `errors` is `strict`."""
    return read_bytes(path, limit).decode("utf-8", errors)


def read_tail(path: Path, limit: int) -> bytes:
    """The last `limit` bytes. Raises OSError."""
    with opened(path) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - limit))
        return file.read(limit)
