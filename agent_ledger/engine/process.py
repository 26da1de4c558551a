"""Who writes: a process named so that another process can later tell whether it still lives."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .records import Writer

_WINDOWS = os.name == "nt"


@dataclass(frozen=True, slots=True)
class Identity:
    """This process: number, start mark (kernel ticks), boot, process namespace and machine."""

    pid: int
    started: str
    boot_id: str
    pid_namespace: str
    machine: str


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def start_mark(pid: int) -> str:
    """Start time of a process in kernel ticks since boot; empty where the system does not tell or it is gone."""
    stat = _read(f"/proc/{pid}/stat")
    # The name in parentheses may hold anything; field 22 counts from behind the last one.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _dead_state(pid: int) -> bool:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(fields) and fields[0] in {"Z", "X"}


@lru_cache(maxsize=1)
def boot_id() -> str:
    return _read("/proc/sys/kernel/random/boot_id")


def _pid_namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


@lru_cache(maxsize=1)
def _machine() -> str:
    return _read("/etc/machine-id") or platform.node()


def identity() -> Identity:
    """The running process."""
    pid = os.getpid()
    return Identity(pid, start_mark(pid), boot_id(), _pid_namespace(pid), _machine())


def same_boot(writer: Writer) -> bool:
    """Did `writer` run on this machine since it was last started? Only then its monotonic clock is ours."""
    return bool(writer.boot_id) and writer.boot_id == boot_id() and writer.machine == _machine()


def is_dead(writer: Writer) -> bool | None:
    """True: proven gone. False: it lives. None: cannot be told from here (other machine, other process namespace)."""
    here = identity()
    if writer.machine != here.machine:
        return None
    if writer.boot_id and here.boot_id and writer.boot_id != here.boot_id:
        return True
    if writer.pid_namespace != here.pid_namespace:
        return None
    if _WINDOWS:
        return None  # There, asking with signal 0 would interrupt the process instead.
    try:
        os.kill(writer.pid, 0)
    except (ProcessLookupError, OverflowError):
        return True  # No process has such a number.
    except OSError:
        pass  # It exists and belongs to somebody else, or the number cannot be asked about.
    mark = start_mark(writer.pid)
    if mark and writer.started:
        return mark != writer.started or _dead_state(writer.pid)
    return False if mark or not here.started else None
