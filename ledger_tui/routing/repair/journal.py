"""What a repair did, cell by cell, kept so that it can be told and put back: one private JSON file per repair.

It is on the disk before the store is touched, and names both states of every row: after a crash at any point a look at
the rows says which of the two holds.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import Paths, UnsafePathError, is_own_file, private_file, private_folder
from ledger_tui.sources.small_files import opened

from ..rows import Session
from .cells import Cell
from .plan import Plan
from .refused import RefusedError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREPARED, APPLIED, NOT_APPLIED, UNDOING, UNDONE = "prepared", "applied", "not applied", "undoing", "undone"

_STATES = (PREPARED, APPLIED, NOT_APPLIED, UNDOING, UNDONE)

FORMAT = 1

PART = ".part"
"""End of a copy's name until it is whole and checked."""

_UNFINISHED = re.compile(
    r"\d{8}T\d{6}Z-[0-9a-f]{4}\.part(?:-journal|-wal|-shm)?$|\.\d{8}T\d{6}Z-[0-9a-f]{4}\.json\.[0-9a-f]{8}\.part$"
)
"""What a repair that was cut short leaves of a copy or a journal that never came to be."""


@dataclass(frozen=True, slots=True)
class CellChange:
    column: str
    before: Cell
    after: Cell


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row of `sessions`: its number in the table, its raw id, and the cells that change."""

    number: int
    session_id: str
    cells: tuple[CellChange, ...]


@dataclass(frozen=True, slots=True)
class Journal:
    repair_id: str
    state: str
    store: Path
    at: float
    """When it was prepared, in seconds since 1970."""
    rows: tuple[RowChange, ...]
    backup: str
    """Name of the copy, in the folder of the journal."""
    adoptions: tuple[Mapping[str, Any], ...] = ()
    """For people: orphan, donor, evidence, who chose, and notes."""
    stopped_by: str | None = None
    """Who said that everything is stopped, where that could not be seen."""
    chosen_by: str | None = None
    """Who chose a donor, and why."""
    checks: tuple[Mapping[str, str], ...] = ()
    endings: tuple[str, ...] = ()
    """Sessions that a person ended."""


def folder(home: Path) -> Path:
    """Where journals and backups of a home lie."""
    return Paths(home).data / "repairs"


def open_folder(home: Path) -> Path:
    """The same, made with mode 0700. Raises RefusedError where it cannot be made or is not ours."""
    place = folder(home)
    try:
        private_folder(place.parent)
        private_folder(place)
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied", str(place))
    except OSError as error:
        why = str(error) if isinstance(error, UnsafePathError) else error.strerror
        raise RefusedError(
            f"The folder {place} for backup and journal cannot be used ({why})", "put it right"
        ) from error
    return place


@contextlib.contextmanager
def alone(home: Path) -> Iterator[Path]:
    """The folder, with nobody else repairing out of it. Raises RefusedError."""
    place = open_folder(home)
    try:
        lock = private_file(place / "lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise RefusedError(f"The folder {place} cannot be used ({error.strerror or error})", "put it right") from error
    try:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RefusedError("Another repair of this home is under way", "wait until it is done") from error
        _sweep(place)
        yield place
    finally:
        os.close(lock)


def _sweep(place: Path) -> None:
    """Takes away unfinished copies of repairs that were killed over them: those changed nothing."""
    for name in os.listdir(place):
        if _UNFINISHED.match(name):
            with contextlib.suppress(OSError):
                os.unlink(place / name)


def new_id(now: float) -> str:
    """`20260102T120000Z-3fa2`."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now)) + "-" + secrets.token_hex(2)


def rows_of(plan: Plan, sessions: Mapping[str, Session]) -> tuple[RowChange, ...]:
    """The plan by rows. A row in the middle of a chain is changed twice; the first before and the last after count."""
    found: dict[str, dict[str, CellChange]] = {}
    for change in plan.changes:
        cells = found.setdefault(change.session_id, {})
        first = cells.get(change.column)
        before = change.before if first is None else first.before
        cells[change.column] = CellChange(change.column, before, change.after)
    return tuple(RowChange(sessions[key].row, key, tuple(cells.values())) for key, cells in found.items())


def write(home: Path, journal: Journal) -> Path:
    """Puts the journal on the disk, whole or not at all. Raises OSError."""
    place = folder(home) / f"{journal.repair_id}.json"
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    descriptor = private_file(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(_document(journal), file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
    _settle(place.parent)
    return place


def _settle(place: Path) -> None:
    """The new name is on the disk, where the system can say so."""
    with contextlib.suppress(OSError):
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def moved(home: Path, journal: Journal, state: str) -> Journal:
    """Writes the journal again with another state. Raises OSError."""
    changed = replace(journal, state=state)
    write(home, changed)
    return changed


def remove(home: Path, repair_id: str) -> None:
    """Of a repair that changed nothing, nothing stays."""
    with contextlib.suppress(OSError):
        os.unlink(folder(home) / f"{repair_id}.json")


def read_all(home: Path) -> tuple[Journal, ...]:
    """Every journal that can be read, oldest first; see `unreadable` for the others. Raises nothing."""
    return _survey(home)[0]


def unreadable(home: Path) -> tuple[Path, ...]:
    """Files that should be journals and cannot be understood: the repairs they stand for cannot be undone by us.

    The folder itself, where it cannot be looked into.
    """
    return _survey(home)[1]


def _survey(home: Path) -> tuple[tuple[Journal, ...], tuple[Path, ...]]:
    found, odd = [], []
    try:
        names = sorted(os.listdir(folder(home)))
    except (FileNotFoundError, NotADirectoryError):
        names = []
    except OSError:  # A repair by another user, such as the administrator: nobody knows what lies there.
        return (), (folder(home),)
    for name in names:
        if not name.endswith(".json") or name.startswith("."):
            continue
        try:
            found.append(read(folder(home) / name))
        except (OSError, ValueError):
            odd.append(folder(home) / name)
    return tuple(sorted(found, key=lambda one: (one.at, one.repair_id))), tuple(odd)


def read(path: Path) -> Journal:
    """Raises OSError, and ValueError for what is no journal of ours, such as one that a person edited.

    Its mode stays as it is: whoever only looks, changes nothing.
    """
    if not is_own_file(path):
        raise UnsafePathError(f"{path} is not a file of this user")
    with opened(path) as file:
        try:
            found = _journal(json.loads(file.read().decode("ascii")))
        except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError("a journal of another shape") from error
    if found.repair_id != path.stem:  # It is written back by its id, and must not land elsewhere.
        raise ValueError("a journal of another repair")
    return found


def _journal(found: dict[str, Any]) -> Journal:
    """Raises ValueError and whatever else comes of a document of another shape."""
    rows = tuple(
        RowChange(_whole(row["number"]), _cell(row["id"], str), tuple(_change(*one) for one in row["cells"]))
        for row in found["rows"]
    )
    store = Path(os.fsdecode(bytes.fromhex(found["store_bytes"])))
    adoptions = tuple({**one, "orphan": _text(one["orphan"])} for one in found["adoptions"])
    endings = tuple(_text(one) for one in found["endings"])
    known = found["format"] == FORMAT and found["state"] in _STATES and math.isfinite(found["at"])
    if not known or not rows or not all(row.cells for row in rows) or "\0" in str(store):
        raise ValueError("a journal of another format")
    return Journal(
        _text(found["repair_id"]), found["state"], store, float(found["at"]), rows, Path(found["backup"]).name,
        adoptions, found["stopped_by"], found["chosen_by"], tuple(found["checks"]), endings,
    )  # fmt: skip


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    value.encode("utf-8")  # Half a character has no place in a journal.
    return value


def _whole(value: object) -> int:
    """A number that SQLite can hold."""
    if not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ValueError("no whole number of 64 bits")
    return value


def _document(journal: Journal) -> dict[str, Any]:
    rows = [
        {
            "number": row.number,
            "id": _typed(row.session_id),
            "cells": [[one.column, _typed(one.before), _typed(one.after)] for one in row.cells],
        }
        for row in journal.rows
    ]
    plain = {key: value for key, value in asdict(journal).items() if key not in ("rows", "store")}
    store = {"store": str(journal.store), "store_bytes": os.fsencode(journal.store).hex()}
    return {"format": FORMAT, **plain, **store, "rows": rows}


def _typed(cell: Cell) -> list[str] | None:
    """A cell with its storage class, exact to the byte."""
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return ["blob", cell.hex()]
    if isinstance(cell, str):
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError:
            return ["text-bytes", cell.encode("utf-8", "surrogateescape").hex()]
        return ["text", cell]
    return ["real", cell.hex()] if isinstance(cell, float) else ["integer", str(cell)]


def _change(column: str, before: list[str] | None, after: list[str] | None) -> CellChange:
    return CellChange(str(column), _untyped(before), _untyped(after))


def _untyped(value: list[str] | None) -> Cell:
    if value is None:
        return None
    kind, content = value
    if kind == "blob":
        return bytes.fromhex(content)
    if kind == "text-bytes":
        return bytes.fromhex(content).decode("utf-8", "surrogateescape")
    if kind == "real":
        return float.fromhex(content)
    if kind == "integer":
        return _whole(int(content))
    if kind == "text":
        return _text(content)
    raise ValueError(f"no storage class: {kind}")


def _cell(value: list[str] | None, kind: type[str]) -> str:
    found = _untyped(value)
    if not isinstance(found, kind):
        raise ValueError("a session without an id")
    return found


def people(plan: Plan) -> Iterable[dict[str, Any]]:
    """The plan's adoptions as a person would read them."""
    for one in plan.adoptions:
        yield {
            "orphan": readable(one.orphan_id), "donor": readable(one.donor_id), "evidence": one.evidence,
            "chosen": one.chosen, "notes": list(one.notes),
        }  # fmt: skip


def readable(raw: str) -> str:
    """An id as a person can read it in a file."""
    return raw.encode("utf-8", "backslashreplace").decode("utf-8")
