"""The demonstration's home: made where nothing is, made anew where a demo made it, refused everywhere else."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import DATA_FOLDER, private_folder
from ledger_tui.demo.errors import RefusedError
from ledger_tui.demo.world import FOLDER

try:
    import fcntl
except ImportError:  # Windows: a home in use is not recognised as such there.
    fcntl = None  # type: ignore[assignment]

MARKER = "SIMULATION.md"

_HEAD = "# A simulation made by `ledger-tui demo`"

_TEXT = f"""{_HEAD}

No agent ran here. Every chat, person, host and tool call in this folder is invented; only the plugin that recorded
them is the real one. Scenario {{scenario}}, seed {{seed}}.

The next `ledger-tui demo --home` with this folder makes it anew. It can be deleted at any time.
"""

_MADE = (
    "state.db", "state.db-wal", "state.db-shm", "gateway.lock", "gateway.pid", "cron", FOLDER, str(DATA_FOLDER),
)  # fmt: skip
"""What a demonstration puts into its home, and takes away before it starts again. Nothing else is touched."""


@contextlib.contextmanager
def made(home: Path, *, scenario: str, seed: int) -> Iterator[None]:
    """An empty home with its marker, kept from other demonstrations while it is in use.

    Raises RefusedError for a folder with anything in it that no demo made, or in which one runs now; OSError.
    """
    marker = home / MARKER
    for folder in (home, home / DATA_FOLDER.parent):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise RefusedError(
                f"{inert(str(folder))} is no folder of its own, so no demo is made there; name another --home."
            )
    if home.is_dir() and any(home.iterdir()) and not _is_ours(marker):
        raise RefusedError(
            f"{inert(str(home))} is not empty and no demo made it, so nothing is written there;"
            " name an empty or a new folder with --home."
        )
    private_folder(home)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(marker, flags, 0o600), "r+", encoding="utf-8") as file:
        if not _locked(file.fileno()):
            raise RefusedError(f"Another demo runs in {inert(str(home))}; quit it first, or name another --home.")
        _clear(home)
        file.truncate()
        file.write(_TEXT.format(scenario=scenario, seed=seed))
        file.flush()
        yield


def _is_ours(marker: Path) -> bool:
    try:
        if marker.is_symlink():
            return False
        with open(marker, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") == _HEAD
    except OSError:
        return False


def _locked(descriptor: int) -> bool:
    """Taken until the file is closed, also by the end of this process."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _clear(home: Path) -> None:
    for name in _MADE:
        path = home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
