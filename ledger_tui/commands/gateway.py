"""Does the host's messaging gateway run in a home? By its own lock and pid file, read only, and why we say so."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine.process import start_mark
from ledger_tui.sources.small_files import read_text

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FILE_LIMIT = 65_536


@dataclass(frozen=True, slots=True)
class Gateway:
    """`running` is None where it cannot be told; `started` is in seconds since 1970 where the system tells."""

    running: bool | None
    evidence: str
    pid: int | None = None
    started: float | None = None


def probe(home: Path) -> Gateway:
    """The gateway of `home`. The lock counts most: the system itself frees it when its holder dies.

    The question is asked with a shared lock that is given back at once; nothing is written.
    """
    pid, alive = _process(home / "gateway.pid")
    held = _lock_held(home / "gateway.lock")
    named = f" (process {pid})" if pid is not None else ""
    if held is True:
        return Gateway(True, f"gateway.lock is held by a running gateway{named}.", pid, _started(pid))
    if held is None:
        return Gateway(None, f"gateway.lock in {home} cannot be asked, so whether a gateway runs is not known.", pid)
    if alive:
        return Gateway(
            None,
            f"gateway.lock is free, yet gateway.pid names process {pid}, which lives; whether it serves is not known.",
            pid,
            _started(pid),
        )
    if pid is not None:
        return Gateway(False, f"gateway.lock is free and process {pid} of gateway.pid is gone.", pid)
    return Gateway(False, "No gateway holds gateway.lock in this home.")


def _lock_held(path: Path) -> bool | None:
    """Is the lock held? False also where the file does not exist; None where it cannot be asked."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        if fcntl is None:
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


def _process(path: Path) -> tuple[int | None, bool]:
    """(pid that the file names, is it the very process that wrote the file)."""
    record = read_json_object(path)
    pid = record.get("pid")
    if isinstance(pid, bool) or not isinstance(pid, int) or pid <= 0:
        return None, False
    mark, recorded = start_mark(pid), record.get("start_time")
    if mark:
        return pid, recorded is None or str(recorded) == mark
    return pid, False


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a small file; empty for anything else."""
    with contextlib.suppress(OSError, ValueError):
        data = json.loads(read_text(path, _FILE_LIMIT))
        if isinstance(data, dict):
            return data
    return {}


def _started(pid: int | None) -> float | None:
    """When a living process started, in seconds since 1970, from the kernel's tick counter."""
    mark = start_mark(pid) if pid is not None else ""
    if not mark:
        return None
    try:
        with open("/proc/stat", encoding="ascii", errors="replace") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith("btime "))
        return boot + int(mark) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, StopIteration):
        return None
