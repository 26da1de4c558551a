"""Checks of the disk: can the ledger be written, is there room, and is the folder for temporary files in order?"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from agent_ledger.engine.paths import Paths
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place

_LITTLE_ROOM = 20_000_000
"""Bytes of free disk below which a full disk is near."""

_NO_ROOM = 1_000_000
"""Bytes below which the next records may find none."""

BRING_BACK = "Bring back what was there (is a disk not mounted?), or move it away: a new folder is made then."

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


def writable(place: Place) -> Check:
    """Can the ledger be written at all: rights, a disk that takes writes, and room on it?"""
    folder = _nearest(place.data)
    if blocked := in_its_place(place.data.parent):
        text = f"{place.data.parent} is {blocked}, so nothing can be written below it; records are spooled elsewhere."
        return Check("writable", FAIL, text, BRING_BACK)
    if _is_read_only(folder):
        return Check(
            "writable",
            FAIL,
            f"The disk of {folder} takes no writes (it is mounted read-only); records are spooled elsewhere meanwhile.",
            "Mount it for writing again, or find out in the system's log why it no longer is.",
        )
    for path, wanted in ((folder, os.W_OK | os.X_OK), (place.ledger, os.W_OK)):
        if os.path.exists(path) and not os.access(path, wanted):
            return Check(
                "writable",
                FAIL,
                f"{path} cannot be written by you; what the host records as you is spooled elsewhere meanwhile.",
                "Give it back to the user as whom the host runs, writable.",
            )
    return _room(folder)


def in_its_place(folder: Path) -> str:
    """What stands where a folder is, or would be made; empty where nothing is in the way."""
    if os.path.isdir(folder) or not os.path.lexists(folder):
        return ""
    return "a link that leads to no folder" if os.path.islink(folder) else "no folder"


def _room(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    if free < _NO_ROOM or _no_more_files(folder):
        what = "no more files" if free >= _NO_ROOM else f"only {free // 1000} kB more"
        return Check(
            "writable",
            FAIL,
            f"The disk of {folder} is full: it takes {what}.",
            "Make room; records wait in the spool or in memory until then, and those in memory end with their process.",
        )
    if free < _LITTLE_ROOM:
        return Check(
            "writable",
            WARN,
            f"Only {free // 1_000_000} MB are free where the ledger lies.",
            "Make room; ledger-tui prune lets the ledger use its own room again.",
        )
    return Check("writable", OK, "The ledger's folder can be written.")


def _nearest(folder: Path) -> Path:
    """The folder itself, or the one in which it would be made."""
    return next((one for one in (folder, *folder.parents) if os.path.isdir(one)), Path(folder.anchor))


def _status(folder: Path) -> os.statvfs_result | None:
    try:
        return os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return None


def _is_read_only(folder: Path) -> bool:
    status = _status(folder)
    return status is not None and bool(status.f_flag & os.ST_RDONLY)


def _no_more_files(folder: Path) -> bool:
    """Has the disk used up its numbers for files? Some know no such limit and say 0 of 0."""
    status = _status(folder)
    return status is not None and status.f_files > 0 and status.f_favail == 0


def temporary(place: Place) -> list[Check]:
    """Where records wait when the home cannot be written; and records that wait where nobody looks any more."""
    around = place.ledger_paths
    if around is None:
        return []
    return [_temporary(place, around.spool_elsewhere.parent), _stranded(place, around)]


def _temporary(place: Place, folder: Path) -> Check:
    for name in _TEMPORARY:
        named = place.environ.get(name)
        if named and not _usable(Path(named)):
            return Check(
                "temporary",
                WARN,
                f"{name} names {named}, which is no folder that you can write; {folder} is used instead.",
                f"Make that folder, or take {name} out of the environment, of Hermes too.",
            )
    if not _usable(folder):
        text = f"There is no folder for temporary files that can be written (tried {folder})."
        remedy = "Set TMPDIR to one, for Hermes too: records wait there when the home cannot be written."
        return Check("temporary", WARN, text, remedy)
    return _shared(folder)


def _shared(folder: Path) -> Check:
    info = os.stat(folder)
    owner = os.geteuid() if hasattr(os, "geteuid") else info.st_uid
    if info.st_uid not in (owner, 0) or (info.st_mode & stat.S_IWOTH and not info.st_mode & stat.S_ISVTX):
        return Check(
            "temporary",
            WARN,
            f"Other users may rename or remove what lies in {folder}, where records wait if the home is not writable.",
            f"As its owner, run: chmod +t '{folder}'; or set TMPDIR to a folder of your own, for Hermes too.",
        )
    return Check("temporary", OK, f"Records can wait below {folder} when the home cannot be written.")


def _usable(folder: Path) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _stranded(place: Place, around: Paths) -> Check:
    """Spooled by a process that had another TMPDIR: no process with ours will find it."""
    for folder in _other_folders(place, around):
        try:
            waiting = sum(name.endswith(".jsonl") for name in os.listdir(folder))
        except OSError:
            continue
        if waiting:
            files = amount(waiting, "file of records waits", "files of records wait")
            return Check(
                "spool-elsewhere",
                WARN,
                f"{files} in {folder}, but who starts with this TMPDIR looks in {around.spool_elsewhere} only.",
                f"Start Hermes once with TMPDIR={folder.parent}, which merges them.",
            )
    return Check("spool-elsewhere", OK, "No record waits in a temporary folder that nobody looks into.")


def _other_folders(place: Place, around: Paths) -> Iterator[Path]:
    mine = around.spool_elsewhere
    for top in (*filter(None, map(place.environ.get, _TEMPORARY)), "/tmp", "/var/tmp"):
        folder = Path(top).absolute() / mine.name
        if folder != mine and os.path.isdir(folder) and not os.path.islink(folder) and not _is_same(folder, mine):
            yield folder


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
