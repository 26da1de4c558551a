"""Checks of the ledger itself: readable, whole, of a known shape, and on ground where SQLite is safe."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, suppress

from agent_ledger.engine import process, schema
from agent_ledger.engine.mounts import network_mount
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.turnstile import has_wal_reset_bug
from ledger_tui.commands.checks import FAIL, OK, UNKNOWN, WARN, Check
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
    if not place.ledger_exists():
        text = f"Nothing is recorded yet: {place.ledger} is made with the first call."
        return [Check("ledger", OK, text), *_ground(place, None)], {}, None
    checks: list[Check] = []
    try:
        with snapshot.reading_ledger(place.ledger) as reading:
            checks.append(_whole(reading))
            checks.append(_schema(reading))
            checks += _ground(place, reading)
            checks.append(_dead_writers(reading))
            merged = snapshot.read_merged(reading)
        return [Check("ledger", OK, f"{place.ledger} can be read."), *checks], merged, None
    except SourceError as error:
        # What was found out before that stays said.
        ground = [] if len(checks) > 2 else _ground(place, None)
        check = Check("ledger", FAIL, f"{error.path} {error.reason}.", _capital(error.remedy))
        return [check, *checks, *ground], {}, error


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
    obstacle = _obstacle(reading.connection) if missing else ""
    if obstacle:
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
            f"The ledger was made by other software: {len(missing)} columns are missing, and show as unknown.",
            "Nothing to do: the plugin adds them when it first writes, and changes no row.",
        )
    if missing:
        return Check(
            "schema",
            WARN,
            f"The ledger is of an older version: {len(missing)} columns are missing.",
            "Nothing to do: the plugin adds them when it first writes.",
        )
    return Check("schema", OK, f"The ledger is of version {shape.version}.")


def _obstacle(connection: sqlite3.Connection) -> str:
    """Why the plugin could not add its columns; empty where it can. Tried on a copy of the empty tables in memory."""
    made = connection.execute("SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        for (sql,) in made.fetchall():
            with suppress(sqlite3.Error):  # SQLite's own tables, and what needs an extension.
                copy.execute(sql)
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
    return Check(
        "sqlite",
        WARN,
        f"SQLite {', '.join(flawed)} can damage a WAL file when two connections write and tidy up at once;"
        " the plugin's writers therefore take turns by a lock of their own.",
        "Nothing to do for the ledger as long as only the plugin writes to it; SQLite 3.51.3 is free of it.",
    )


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
