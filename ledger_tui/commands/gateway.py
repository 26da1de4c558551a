"""Does the host's messaging gateway run in a home? By its own lock and pid file, read only, and why we say so."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.process import start_mark
from ledger_tui.routing.repair import gateway_files


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
    held = gateway_files.lock(home / gateway_files.LOCK).live
    record = gateway_files.record(home / "gateway.pid")
    pid, alive = record.pid, record.live and record.pid is not None
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
