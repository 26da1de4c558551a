"""What a gateway leaves in its home while it runs: a lock that the system frees with it, and records of its process."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.process import start_mark
from ledger_tui.sources.small_files import read_text

try:
    import fcntl
except ImportError:  # Windows: whether the gateway holds its lock cannot be told there.
    fcntl = None  # type: ignore[assignment]

LOCK = "gateway.lock"
RECORDS = ("gateway.pid", "gateway_state.json")

_LIMIT = 65_536
_DRIFT_TICKS = 200
"""The host itself takes two readings of one process' start for equal within two seconds (hermes-agent #117505)."""

_AT_REST = frozenset({"stopped", "stopping", "startup_failed", "exited", "failed"})


@dataclass(frozen=True, slots=True)
class Trace:
    """What one file says. `live` is None where it cannot be told."""

    path: Path
    live: bool | None
    pid: int | None = None


def lock(path: Path) -> Trace:
    """Is the lock held? Asked with a shared lock on a reading handle, given back at once; nothing is written."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return Trace(path, False)
    except OSError:
        return Trace(path, None)
    try:
        if fcntl is None:
            return Trace(path, None)
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Trace(path, True, _named(path))
    except OSError:
        return Trace(path, None)
    finally:
        os.close(descriptor)
    return Trace(path, False)


def record(path: Path) -> Trace:
    """Does the very process live that wrote this file? A number that went to another process since is not it.

    What is there and cannot be read or understood counts as live: somebody wrote it.
    """
    try:
        found = _object(path)
    except FileNotFoundError:
        return Trace(path, False)
    except (OSError, ValueError):
        return Trace(path, True)
    pid = _pid(found)
    if found.get("gateway_state") in _AT_REST or (pid is None and "gateway_state" in found):
        return Trace(path, False, pid)
    if pid is None:
        return Trace(path, True)
    return Trace(path, alive(pid) and not _another(pid, found.get("start_time")), pid)


def alive(pid: int) -> bool:
    """Does a process of this number exist? Where nobody can tell: yes."""
    if os.name == "nt":
        return True  # There, asking with signal 0 would interrupt the process instead.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _another(pid: int, recorded: object) -> bool:
    """Did the number go to another process since? Only where both starts are known."""
    mark = start_mark(pid)
    if not mark or isinstance(recorded, bool) or not isinstance(recorded, (int, float, str)):
        return False
    with contextlib.suppress(ValueError, OverflowError):
        return abs(int(float(recorded)) - int(mark)) > _DRIFT_TICKS
    return False


def _object(path: Path) -> dict[str, object]:
    """The JSON object in a small file; a bare number is a process. Raises OSError, ValueError."""
    try:
        found = json.loads(read_text(path, _LIMIT))
    except RecursionError as error:
        raise ValueError("JSON of too many levels") from error
    if isinstance(found, int) and not isinstance(found, bool):
        return {"pid": found}
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


def _pid(found: dict[str, object]) -> int | None:
    pid = found.get("pid")
    return pid if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0 else None


def _named(path: Path) -> int | None:
    """The process that a file names, for a person to read."""
    try:
        return _pid(_object(path))
    except (OSError, ValueError):
        return None
