"""Which other processes hold a database or a file beside it? From Linux' list of open files, elsewhere unknown.

A process that cannot be looked into counts only where the file's mode would let its user open the file at all.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.inert import clip, inert
from agent_ledger.engine.records import Inert
from ledger_tui.sources.guard import real_path

BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside a database; the first is the file itself."""

_GONE = " (deleted)"


@dataclass(frozen=True, slots=True)
class Holders:
    """What could be seen. `hidden`: processes that could hold the file and cannot be looked into."""

    visible: bool
    """False where the system keeps no such list."""
    holding: tuple[Inert, ...] = ()
    hidden: tuple[Inert, ...] = ()


def holders(store: Path, *, processes: Path = Path("/proc")) -> Holders:
    """Every other process with an open descriptor of the store's files, unlinked ones too. Opens none of them."""
    wanted = _Wanted(store, processes)
    try:
        numbers = [int(name) for name in os.listdir(processes) if name.isdigit()]
    except OSError:
        return Holders(False)
    if os.getpid() not in numbers:
        return Holders(False)  # Not the list of this system, or of another namespace.
    holding, hidden = [], []
    for number in sorted(numbers):
        if number == os.getpid():
            continue
        folder = processes / str(number)
        try:
            if wanted.held_by(folder):
                holding.append(_name(folder))
        except FileNotFoundError:
            continue  # It ended meanwhile.
        except OSError:
            if wanted.open_to(folder):
                hidden.append(_name(folder))
    if 1 not in numbers and wanted.open_to_others:
        hidden.append(Inert("processes of other users, which this system hides"))
    return Holders(True, tuple(holding), tuple(hidden))


class _Wanted:
    """The files, by number and by name, and who may open them."""

    def __init__(self, store: Path, processes: Path) -> None:
        real = real_path(store)
        self._names = {f"{real}{end}" for end in BESIDE}
        self._numbers = set()
        for name in self._names:
            try:
                info = os.stat(name)
            except OSError:
                continue
            self._numbers.add((info.st_dev, info.st_ino))
        self._info = os.stat(real)
        self._mounts = _link(processes / str(os.getpid()) / "ns" / "mnt")

    @property
    def open_to_others(self) -> bool:
        return bool(stat.S_IMODE(self._info.st_mode) & 0o077)

    def held_by(self, folder: Path) -> bool:
        """Raises OSError where the process cannot be looked into, FileNotFoundError where it is gone."""
        for name in os.listdir(folder / "fd"):
            place = folder / "fd" / name
            try:
                info = os.stat(place)
                if (info.st_dev, info.st_ino) in self._numbers or (info.st_nlink == 0 and self._unlinked(place)):
                    return True
            except FileNotFoundError:
                continue
        return False

    def _unlinked(self, place: Path) -> bool:
        """Is it a former file of this name, still held? Names only mean the same in the same file tree."""
        name = _link(place)
        return (
            name.endswith(_GONE)
            and name.removesuffix(_GONE) in self._names
            and _link(place.parent.parent / "ns" / "mnt") == self._mounts
        )

    def open_to(self, folder: Path) -> bool:
        """Would the file's mode let this process' user open it?"""
        user, groups = _who(folder)
        if user is None:
            return folder.exists()
        mode = stat.S_IMODE(self._info.st_mode)
        if user == self._info.st_uid:
            return bool(mode & 0o600)
        if self._info.st_gid in groups:
            return bool(mode & 0o060)
        return bool(mode & 0o006)


def _who(folder: Path) -> tuple[int | None, set[int]]:
    """User and groups that a process acts as; (None, …) where the system does not say."""
    user: int | None = None
    groups: set[int] = set()
    try:
        lines = (folder / "status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None, groups
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "Uid":
            user = int(rest.split()[1])
        elif name == "Gid":
            groups.add(int(rest.split()[1]))
        elif name == "Groups":
            groups.update(map(int, rest.split()))
    return user, groups


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _name(folder: Path) -> Inert:
    """`process 123 (hermes gateway run)`."""
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    text = b" ".join(words).decode("utf-8", "replace").strip()
    return inert(f"process {folder.name}" + (f" ({clip(text, 60)})" if text else ""))
