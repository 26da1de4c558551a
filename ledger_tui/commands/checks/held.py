"""Checks of who holds the ledger right now: a lock that is not given back, and a file that is not the one at its path.

Both are read from the system's own lists. No file is opened for it and no lock is asked for; where a system keeps no
such lists, nothing is claimed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ledger_tui.commands.checks import OK, WARN, Check
from ledger_tui.commands.place import Place

_PROCESSES = Path("/proc")

_LOOKS, _PAUSE_S = 10, 0.1
"""A lock is held for long when the same process has it in every look. A writer needs it for some milliseconds."""

_WRITE_BYTE = 120
"""Where SQLite locks `-shm` while it writes in WAL mode (walLockOffset, sqlite.org/walformat.html)."""

_PENDING_BYTE = 0x40000000
"""The first byte that SQLite locks of the file itself (sqlite.org/fileformat2.html)."""

_GONE = " (deleted)"

_Held = tuple[str, int]
"""What is locked, and the process; 0 where the system does not name it."""


def lock(place: Place, *, processes: Path = _PROCESSES, pause: Callable[[float], None] = time.sleep) -> Check:
    """Is the writers' lock, or SQLite's own, held by one process for a whole second?"""
    held = set(_held(place, processes))
    for _ in range(_LOOKS):
        if not held:
            return Check("lock", OK, "No process keeps the others from writing.")
        pause(_PAUSE_S)
        held &= set(_held(place, processes))
    if not held:
        return Check("lock", OK, "No process keeps the others from writing.")
    what, pid = min(held)
    return Check(
        "lock",
        WARN,
        f"{_named(pid, processes)} has held the lock of {what} for a second and more, and nobody else can write.",
        "End what it does there (a transaction in a shell, a backup, a stopped process); records wait in the spool.",
    )


def _held(place: Place, processes: Path) -> Iterator[_Held]:
    """Locks that keep writers out, by the system's list: `1: POSIX ADVISORY WRITE 4711 08:01:131 120 120`."""
    wanted = list(_wanted(place))
    try:
        lines = (processes / "locks").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) != 8 or words[3] != "WRITE":  # Others wait for a lock, or share it.
            continue
        for what, info, kind, first in wanted:
            if kind == words[1] and words[5].rpartition(":")[2] == str(info.st_ino) and _covers(words[6:], first):
                pid = int(words[4]) if words[4].isdigit() else 0
                if _is_it(words[5], info) or _has_open(pid, info, processes):
                    yield what, pid


def _wanted(place: Place) -> Iterator[tuple[str, os.stat_result, str, int]]:
    """(what, file, kind of lock, byte) of each lock that a writer needs."""
    around = place.ledger_paths
    names = [(str(place.ledger), "POSIX", _PENDING_BYTE), (f"{place.ledger}-shm", "POSIX", _WRITE_BYTE)]
    if around is not None:
        names.append((str(around.turnstile), "FLOCK", 0))
    for name, kind, first in names:
        try:
            yield name.removesuffix("-shm"), os.stat(name), kind, first
        except OSError:
            continue


def _covers(span: list[str], first: int) -> bool:
    """Is the byte among those that are locked, or one behind it where SQLite locks several?"""
    start, end = span
    if not start.isdigit():
        return False
    last = int(end) if end.isdigit() else 2**63
    return int(start) <= first <= last or (first == _PENDING_BYTE and first <= int(start) < first + 512)


def _is_it(device: str, info: os.stat_result) -> bool:
    major, minor, _ = device.split(":")
    return (int(major, 16), int(minor, 16)) == (os.major(info.st_dev), os.minor(info.st_dev))


def _has_open(pid: int, info: os.stat_result, processes: Path) -> bool:
    """Some file systems name another device in that list than to us: then the process must have the file open."""
    return any((one.st_dev, one.st_ino) == (info.st_dev, info.st_ino) for _, one in _open_files(pid, processes))


def _open_files(pid: int, processes: Path) -> Iterator[tuple[str, os.stat_result]]:
    """(name, file) of what a process has open; nothing of one that cannot be looked into."""
    folder = processes / str(pid) / "fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return
    for number in numbers:
        try:
            yield os.readlink(folder / number), os.stat(folder / number)
        except OSError:
            continue


def _named(pid: int, processes: Path) -> str:
    if pid == 0:
        return "A process that this system does not name"
    try:
        words = (processes / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    program = " ".join(word.decode("utf-8", "replace") for word in words if word)[:60]
    return f"Process {pid} ({program})" if program else f"Process {pid}"


def replaced(place: Place, *, processes: Path = _PROCESSES, pause: Callable[[float], None] = time.sleep) -> Check:
    """Does a running process hold a ledger, or a lock, that is no longer the file at its path?"""
    names = _Names(place)
    for pid in _others(processes):
        if not _same_tree(pid, processes):
            continue
        former = names.former(_open_files(pid, processes))
        if former:
            pause(_PAUSE_S)  # It may be about to open or to close: what counts is what stays.
            former = names.former(_open_files(pid, processes))
        if former:
            return Check(
                "replaced",
                WARN,
                f"{_named(pid, processes)} still holds a file that was {former} and was removed or replaced since.",
                "Let the agent begin a turn there, or restart it, so that it takes the file of that name; what the"
                " former one held is where you moved it, or gone.",
            )
    return Check("replaced", OK, "No process is seen to write to a ledger that was removed or replaced.")


def _others(processes: Path) -> list[int]:
    try:
        numbers = {int(name) for name in os.listdir(processes) if name.isdigit()}
    except OSError:
        return []
    return sorted(numbers - {os.getpid()})


def _same_tree(pid: int, processes: Path) -> bool:
    """Do names mean the same to that process and to us?"""
    try:
        return os.readlink(processes / str(pid) / "ns" / "mnt") == os.readlink(
            processes / str(os.getpid()) / "ns" / "mnt"
        )
    except OSError:
        return False


class _Names:
    """The ledger, its log and its lock: under which names, and which files they are now."""

    def __init__(self, place: Place) -> None:
        around = place.ledger_paths
        self._ledger = os.path.realpath(place.ledger)
        self._lock = "" if around is None else os.path.realpath(around.turnstile)
        self._gone = {f"{name}{_GONE}" for name in (self._ledger, f"{self._ledger}-wal", self._lock) if name}

    def former(self, files: Iterator[tuple[str, os.stat_result]]) -> str:
        """Which of them this process holds in a former state; empty for none.

        Who takes turns by our lock writes to a ledger: to this one, or to one that was moved away under it.
        """
        takes_turns = holds_ledger = False
        for name, info in files:
            if info.st_nlink == 0 and name in self._gone:
                return name.removesuffix(_GONE)
            takes_turns |= name == self._lock
            holds_ledger |= name == self._ledger
        return self._ledger if takes_turns and not holds_ledger else ""
