"""Checks of records that are not in the ledger: those that wait in the spool, and those that were set aside."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine import spool
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.process import is_dead
from agent_ledger.engine.records import Writer
from ledger_tui.commands.checks import OK, UNKNOWN, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.sources import set_aside as apart
from ledger_tui.sources.small_files import opened

_PIECE = 1_000


@dataclass(slots=True)
class _Waiting:
    """What all spool files of a home hold that is not merged yet."""

    records: int = 0
    oldest: str | None = None
    reason: str = ""
    dead: int = 0
    """Files whose writer is proven gone."""
    files: int = 0
    garbled: int = 0
    """Lines that are no record."""
    locked_up: str = ""
    """A file that cannot be read."""


def spooled(place: Place, merged: Mapping[str, int]) -> Check:
    """Records that wait beside the ledger or under the temporary folder, why, and who will merge them."""
    around = place.ledger_paths
    if around is None:
        return Check("spool", OK, "This ledger lies in no Hermes home, so nothing waits beside it.")
    found = _look(around, merged)
    if found.locked_up:
        text = f"{found.locked_up} cannot be read, so how many records wait in it is not known."
        return Check("spool", UNKNOWN, text, "Look as the user as whom the host runs, or at what stands there.")
    if not found.records and not found.garbled:
        return Check("spool", OK, "No record waits to be written.")
    return Check("spool", WARN, _told(around, found), _remedy(found))


def _told(around: Paths, found: _Waiting) -> str:
    elsewhere = any(path.parent == around.spool_elsewhere for path in spool.files(around))
    where = f"{around.spool} and {around.spool_elsewhere}" if elsewhere else str(around.spool)
    why = f" ({found.reason})" if found.reason else ""
    garbled = amount(found.garbled, "line among them is", "lines among them are")
    odd = f"; {garbled} no record and will be set aside" if found.garbled else ""
    return (
        f"{amount(found.records, 'record waits', 'records wait')} in {where},"
        f" the oldest since {found.oldest or 'an unknown time'}{why}{odd}."
    )


def _remedy(found: _Waiting) -> str:
    if found.dead == found.files:
        gone = "The process that wrote them is gone" if found.dead == 1 else "The processes that wrote them are gone"
        return f"{gone}: start Hermes and let the agent begin a turn, which merges them."
    return "Remove what keeps the ledger from being written (full disk, rights, a lock); the host merges them then."


def _look(around: Paths, merged: Mapping[str, int]) -> _Waiting:
    found = _Waiting()
    for folder in (around.spool, around.spool_elsewhere):
        if _is_closed(folder):
            found.locked_up = str(folder)
    for path in spool.files(around):
        try:
            _count(path, merged.get(path.name, 0), found)
        except FileNotFoundError:
            continue  # Merged meanwhile.
        except OSError:
            found.locked_up = found.locked_up or str(path)
    return found


def _is_closed(folder: Path) -> bool:
    """Is there a folder into which we cannot look?"""
    try:
        os.listdir(folder)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _count(path: Path, start: int, found: _Waiting) -> None:
    """Adds one file, as `spool.waiting` does; but nothing is touched here, the file's mode neither. Raises OSError."""
    before = found.records + found.garbled
    with opened(path) as file:
        writer, _ = spool.read(file.fileno(), 0, 1)
        while True:
            records, after = spool.read(file.fileno(), start, _PIECE)
            for record in records:
                _add(record, found)
            if not records or after <= start:
                break
            start = after
    if found.records + found.garbled > before:
        found.files += 1
        found.dead += _is_gone(writer[0] if writer else {})


def _add(record: spool.Record, found: _Waiting) -> None:
    if record.get("kind") == "writer":
        return
    if record.get("kind") == "unreadable":
        found.garbled += 1
        return
    found.records += 1
    at = record.get("at")
    if isinstance(at, str) and (found.oldest is None or at < found.oldest):
        found.oldest = at
    found.reason = str(record.get("why") or found.reason)


def _is_gone(record: spool.Record) -> bool:
    """Is the process that a spool file names in its first line proven gone?"""
    pid, started = record.get("pid"), record.get("started")
    if record.get("kind") != "writer" or not isinstance(pid, int) or pid <= 0:
        return False
    names = (str(record.get(name, "")) for name in ("boot_id", "pid_namespace", "machine"))
    return is_dead(Writer(0, pid, str(started or ""), *names)) is True


def set_aside(place: Place) -> Check:
    """Records that the plugin could not understand when it merged them, and therefore kept apart."""
    around = place.ledger_paths
    aside = apart.set_aside(around)
    if around is None or aside == 0:
        return Check("set-aside", OK, "No record was set aside as not understood.")
    path = apart.set_aside_path(around)
    if aside is None:
        return Check(
            "set-aside",
            UNKNOWN,
            f"{path} cannot be read, so what was set aside in it is not known.",
            "Look at its rights.",
        )
    are = amount(aside, "record that was not understood is", "records that were not understood are")
    return Check(
        "set-aside",
        WARN,
        f"{are} in {path} and not in the ledger; nothing merges them any more.",
        "Look into that file for calls that the ledger lacks, then move it away; please report how it came about.",
    )
