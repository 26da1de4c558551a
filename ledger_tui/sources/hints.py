"""Something near this database may have changed: directory events where they work, a short beat where they do not.

A hint proves nothing. Whoever gets one asks the file itself (inode and `PRAGMA data_version`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

from watchfiles import awatch

from agent_ledger.engine.mounts import network_mount
from ledger_tui.sources.guard import real_path

TICK_MS = 1000
"""A hint comes at least this often: the net under lost events."""

POLL_S = 0.2
"""Beat where the directory cannot be watched."""

MOST_WATCHED = 32
"""Databases that are watched at once. Each keeps one of the 40 threads that watching has, so that with more of them all
would wait for their turn; and of 128 watches that a system gives a person, other programs need some. The others are
looked at with every tick."""

_SETTING_UP_S = 0.1

_watched: set[object] = set()
"""What is being watched, each by an object of its own."""


async def hints(path: Path, *, tick_ms: int = TICK_MS, poll_s: float = POLL_S) -> AsyncGenerator[None, None]:
    """Yields at once, then soon after each commit to the database at `path`, which need not exist yet. Never ends.

    Watches the folder: the file alone stays silent when a commit goes to the `-wal`, and after a rename.
    Not its `-shm`, which readers touch themselves, and not what lies below: that may be a whole tree.
    """
    this = object()
    while True:
        yield
        real = _target(path)
        if len(_watched) >= MOST_WATCHED:
            await asyncio.sleep(tick_ms / 1000)
            continue
        if network_mount(real) is None:
            _watched.add(this)
            try:
                async with aclosing(_watch(path, real, tick_ms)) as events:
                    async for _ in events:
                        yield
            except (OSError, RuntimeError, UnicodeError):
                pass  # The folder went away, the system has no watch left to give, or the path is no UTF-8.
            finally:
                _watched.discard(this)
        await asyncio.sleep(poll_s)


async def _watch(path: Path, real: Path, tick_ms: int) -> AsyncGenerator[None, None]:
    """Ends when `path` means another folder than the one being watched."""
    names = {real.name, real.name + "-wal"}
    folder = os.stat(real.parent)
    async with aclosing(
        awatch(
            real.parent,
            recursive=False,
            watch_filter=lambda _change, name: os.path.basename(name) in names,
            step=10,
            debounce=100,
            rust_timeout=tick_ms,
            yield_on_timeout=True,
            # Its polling compares whole seconds and would lose commits.
            force_polling=False,
        )
    ) as events:
        first = asyncio.ensure_future(anext(events))
        try:
            # By then the watch stands: what was committed while it was being set up is found by this hint.
            await asyncio.wait({first}, timeout=_SETTING_UP_S)
            yield
            await first
        finally:
            first.cancel()
            with suppress(asyncio.CancelledError, OSError, RuntimeError, UnicodeError):
                await first
        yield
        while _same_folder(real.parent, folder) and _target(path) == real:
            await anext(events)
            yield


def _target(path: Path) -> Path:
    """SQLite follows links and writes the `-wal` beside the target."""
    return real_path(path)


def _same_folder(folder: Path, known: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(folder), known)
    except OSError:
        return False
