"""Checks of the ledger itself: readable, whole, of a known shape, and on ground where SQLite is safe."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from agent_ledger.engine import process, schema
from agent_ledger.engine.mounts import network_mount
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.turnstile import has_wal_reset_bug
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check, foreign, record
from ledger_tui.commands.checks.private import hash_key
from ledger_tui.commands.output import amount
from ledger_tui.commands.place import Place
from ledger_tui.sources import guard, snapshot
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.reading import SLICE_S, SliceTimeoutError, slice_of_time
from ledger_tui.sources.snapshot import Reading

_CHECK_S = 5.0
_PENDING = Filter(states=frozenset({"pending", "overdue"}))
_MOST = 100_000


def ledger(place: Place) -> tuple[list[Check], dict[str, int], SourceError | None]:
    """(checks, bytes of each spool file that are merged, what kept us from reading)."""
    lost = _log_without_ledger(place)
    if lost is not None:
        return [lost, *_ground(place, None), hash_key(place, None)], {}, None
    closed = _closed(place.ledger)
    if closed is not None:
        return [closed, *_ground(place, None)], {}, None
    if not place.ledger_exists():
        text = f"Nothing is recorded yet: {place.ledger} is made with the first call."
        return [Check("ledger", OK, text), *_ground(place, None), hash_key(place, None)], {}, None
    checks: list[Check] = []
    try:
        with snapshot.reading_ledger(place.ledger) as reading:
            merged = snapshot.read_merged(reading)
            for look in _LOOKS:
                checks += look(place, reading)
        return [Check("ledger", OK, f"{place.ledger} can be read."), *checks], merged, None
    except SourceError as error:
        # What was found out before that stays said.
        told = {check.check for check in checks}
        rest = [check for check in (*_ground(place, None), hash_key(place, None)) if check.check not in told]
        check = Check("ledger", FAIL, f"{error.path} {error.reason}.", _capital(error.remedy))
        return [check, *checks, *rest], {}, error


def _closed(path: Path) -> Check | None:
    """Nobody who may not look into its folder knows whether a ledger is there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        remedy = "Look as the user as whom the host runs, or check the rights of its folder."
        return Check("ledger", FAIL, f"{path} cannot be looked at ({error.strerror}).", remedy)
    return None


def _log_without_ledger(place: Place) -> Check | None:
    """SQLite removes the log beside a missing or empty file when that is opened next, even to be read."""
    gone = not os.path.lexists(place.ledger)
    if not gone and _size(place.ledger):
        return None
    left = next((name for end in ("-wal", "-journal") if _size(Path(name := f"{place.ledger}{end}")) > 0), None)
    if left is None or (not gone and not left.endswith("-wal")):
        return None  # A new ledger has its first page written by way of a journal.
    return Check(
        "ledger",
        FAIL,
        f"{place.ledger} is {'gone' if gone else 'empty'}, while {left} still holds what was written to it last.",
        f"Stop Hermes at once and copy {place.data}: whoever opens the ledger next removes that log; then put both back"
        " from a backup, or see 'The ledger is damaged' in docs/trouble.md.",
    )


def _size(path: Path) -> int:
    """Bytes of a plain file; -1 for what is none."""
    try:
        info = os.stat(path)
    except OSError:
        return -1
    return info.st_size if stat.S_ISREG(info.st_mode) else -1


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _whole(reading: Reading) -> Check:
    """SQLite's own quick check, only as long as no writer has to wait for it."""
    allowed = _CHECK_S if reading.shape.wal else SLICE_S
    try:
        with slice_of_time(reading.connection, allowed):
            rows = reading.connection.execute("PRAGMA quick_check(3)").fetchall()
    except SliceTimeoutError:
        return Check(
            "integrity",
            UNKNOWN,
            "The ledger is too large to be checked in passing.",
            f"While no host runs: sqlite3 '{reading.path}' 'PRAGMA quick_check'",
        )
    except sqlite3.DatabaseError as error:
        rows = [(str(guard.explain(reading.path, error).reason),)]
    if rows == [("ok",)]:
        return Check("integrity", OK, "SQLite finds the ledger whole.")
    return Check(
        "integrity",
        FAIL,
        f"SQLite finds the ledger damaged: {'; '.join(str(row[0]) for row in rows)}.",
        "Stop the host, copy ledger.db with its -wal and -shm, and follow 'The ledger is damaged' in docs/trouble.md.",
    )


def _schema(reading: Reading) -> Check:
    shape = reading.shape
    if not shape.columns:
        return Check("schema", OK, "The ledger is empty as yet.")
    if shape.version > schema.VERSION:
        return Check(
            "schema",
            WARN,
            f"The ledger is of version {shape.version}, newer than this program's {schema.VERSION}.",
            "Update ledger-tui; until then the ledger is shown as far as it is understood.",
        )
    missing = schema.COLUMNS.keys() - shape.columns
    if obstacle := _obstacle(reading.connection):
        return Check(
            "schema",
            FAIL,
            f"The plugin cannot write to this ledger, for {obstacle}; what it records waits in the spool.",
            f"Stop the host and move {reading.path} away with its -wal and -shm: a new ledger then takes the spool in.",
        )
    if missing and shape.version == 0:
        return Check(
            "schema",
            WARN,
            f"The ledger was made by other software: it lacks {amount(len(missing), 'column')}, shown as unknown.",
            "Nothing to do: the plugin adds them when it first writes, and changes no row.",
        )
    if missing:
        return Check(
            "schema",
            WARN,
            f"The ledger is of an older version: it lacks {amount(len(missing), 'column')}.",
            "Nothing to do: the plugin adds them when it first writes.",
        )
    return Check("schema", OK, f"The ledger is of version {shape.version}.")


def _obstacle(connection: sqlite3.Connection) -> str:
    """Why the plugin could not add its columns; empty where it can. Tried on a copy of the empty tables in memory."""
    with foreign.copy_of(foreign.tables_of(connection)) as copy:
        try:
            schema.prepare(copy)
        except schema.ForeignSchemaError as error:
            return str(error)
        except sqlite3.Error:
            pass  # The copy lacks something: then it is not known, and nothing is claimed.
    return ""


def _ground(place: Place, reading: Reading | None) -> list[Check]:
    return [_journal(place, reading), _build(reading)]


def _journal(place: Place, reading: Reading | None) -> Check:
    mount = network_mount(place.data)
    if mount is None:
        mode = "" if reading is None else f" Its journal mode is {'WAL' if reading.shape.wal else 'not WAL'}."
        return Check("journal", OK, f"The ledger lies on a local disk, as far as can be told.{mode}")
    if reading is not None and reading.shape.wal:
        return Check(
            "journal",
            FAIL,
            f"The ledger is in WAL mode on {mount}, where that mode can damage it.",
            "Move the home to a local disk, or stop the host and run: PRAGMA journal_mode=DELETE",
        )
    return Check(
        "journal",
        WARN,
        f"The ledger lies on {mount}; the plugin avoids WAL there, and readers and writers wait for each other.",
        "Move the home to a local disk if you can.",
    )


def _build(reading: Reading | None) -> Check:
    """SQLite builds of this program and of the processes that wrote lately."""
    versions = {sqlite3.sqlite_version}
    if reading is not None and "writer" in reading.shape.tables:
        try:
            rows = reading.connection.execute(
                "SELECT sqlite_version FROM writer WHERE sqlite_version <> '' ORDER BY id DESC LIMIT 20"
            ).fetchall()
            versions |= {str(row[0]) for row in rows}
        except sqlite3.OperationalError:
            pass  # A table of that name by other software.
    flawed = sorted(version for version in versions if _flawed(version))
    if not flawed:
        return Check("sqlite", OK, f"SQLite {', '.join(sorted(versions))} is free of the WAL-reset bug.")
    text = f"SQLite {', '.join(flawed)} can damage a WAL file when two connections write and tidy up at once"
    if takes_turns():
        taking = "the plugin's writers therefore take turns by a lock of their own, and only they should write here"
        return Check("sqlite", OK, f"{text}; {taking}.")
    return Check(
        "sqlite",
        WARN,
        f"{text}, and this system has no lock by which the plugin's writers could take turns.",
        "Let one process at a time write here, or use a Python with SQLite 3.51.3 or newer, which is free of it.",
    )


def takes_turns() -> bool:
    """Can our writers keep out of each other's way on this system?"""
    return os.name != "nt"


def _flawed(version: str) -> bool:
    parts = version.split(".")
    numbers = [int(part) for part in parts[:3] if part.isdigit()]
    return len(numbers) == 3 and has_wal_reset_bug((numbers[0], numbers[1], numbers[2]))


def _dead_writers(reading: Reading) -> Check:
    """Calls whose process ended before they were settled."""
    writers = snapshot.read_writers(reading)
    waiting = Counter(call.writer_id for call in snapshot.read_calls(reading, _PENDING, _MOST))
    dead = {number for number in waiting if number in writers and process.is_dead(writers[number])}
    calls = sum(waiting[number] for number in dead)
    if not calls:
        return Check("writers", OK, "No call waits for a process that is gone.")
    return Check(
        "writers",
        WARN,
        f"{amount(calls, 'pending call')} issued by {amount(len(dead), 'process', 'processes')} that ended:"
        " no confirmation can come but one that waits in the spool.",
        "See them with: ledger-tui calls --state overdue",
    )


_LOOKS: tuple[Callable[[Place, Reading], list[Check]], ...] = (
    lambda _, reading: [_whole(reading)],
    lambda _, reading: [_schema(reading)],
    lambda _, reading: [foreign.things(reading)],
    _ground,
    lambda place, reading: [hash_key(place, reading)],
    lambda _, reading: [_dead_writers(reading)],
    lambda place, reading: [record.versions(reading, place)],
    lambda place, reading: [record.times(reading, place)],
    lambda _, reading: [record.chain(reading)],
)
"""In this order: what a later one cannot read keeps nobody from hearing of the earlier ones."""
