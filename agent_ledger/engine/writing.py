"""Opens a ledger for the few commands that write to it; the plugin has a door of its own (`store.py`)."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from .paths import DATA_FOLDER, UnsafePathError, is_own_folder
from .schema import COLUMNS, VERSION, ForeignSchemaError, columns_of

PATIENCE_S = 5.0
"""How long a write waits for others to finish before it gives up."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a ledger that is ours. Raises UnsafePathError, ForeignSchemaError, OSError, sqlite3.Error."""
    if path.parent.parts[-2:] == DATA_FOLDER.parts and not is_own_folder(path.parent):
        raise UnsafePathError(f"{path.parent} is a link, or a folder of another user")
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode):
        raise UnsafePathError(f"{path} is a link or no file")
    if hasattr(os, "geteuid") and info.st_uid != os.geteuid():
        raise UnsafePathError(f"{path} belongs to another user")
    connection = sqlite3.connect(
        path.absolute().as_uri() + "?mode=rw", uri=True, timeout=PATIENCE_S, isolation_level=None
    )
    try:
        # Emptying the log is the plugin's business; here it would only keep the agent waiting for the disk.
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("PRAGMA synchronous=NORMAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION or not columns_of(connection) >= COLUMNS.keys():
            raise ForeignSchemaError("the ledger is by other software or by a newer plugin")
        yield connection
    finally:
        connection.close()
