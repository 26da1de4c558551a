"""Ledger rows as the commands show them: read once, judged by the clock and by which writers still live."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from agent_ledger.engine import process, queries
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import STATES, Call, Writer
from ledger_tui.commands.place import Place
from ledger_tui.sources import guard, snapshot
from ledger_tui.sources.guard import SourceError
from ledger_tui.sources.reading import one_snapshot
from ledger_tui.sources.snapshot import Reading

_PAGE = 2000
_DEEP = 200
_PENDING_ONLY = Filter(states=frozenset({"pending", "overdue"}))


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells the state of a call now: by the clock, and by whether its writer can still settle it."""

    now: float
    mono_now: float
    writers: Mapping[int, Writer]
    _dead: dict[int, bool | None] = field(default_factory=dict)

    def _writer(self, call: Call) -> Writer | None:
        return self.writers.get(call.writer_id) if call.writer_id is not None else None

    def writer_dead(self, call: Call) -> bool | None:
        """Is the process that wrote this row proven gone? None where that cannot be told."""
        writer = self._writer(call)
        if writer is None:
            return None
        if writer.id not in self._dead:
            self._dead[writer.id] = process.is_dead(writer)
        return self._dead[writer.id]

    def row(self, call: Call) -> Mapping[str, Any]:
        """The shape of `calls --json`."""
        writer = self._writer(call)
        mono = self.mono_now if writer is not None and process.same_boot(writer) else None
        return call_row(call, now=self.now, mono_now=mono, writer_dead=self.writer_dead(call))


def call_row(call: Call, *, now: float, mono_now: float | None, writer_dead: bool | None) -> Mapping[str, Any]:
    """`queries.call_json`, for any arguments: what is nested deeper than a JSON reader dares to go stays text."""
    try:
        row = queries.call_json(call, now=now, mono_now=mono_now, writer_dead=writer_dead)
        if not _deeper(row["args"], _DEEP):
            return row
    except RecursionError:
        pass
    flat = queries.call_json(replace(call, args_cut=True), now=now, mono_now=mono_now, writer_dead=writer_dead)
    return {**flat, "args_truncated": call.args_cut}


def _deeper(value: Any, limit: int) -> bool:
    """Is a JSON value nested deeper than `limit`?"""
    level = [value]
    for _ in range(limit):
        level = [
            part
            for holder in level
            if isinstance(holder, (dict, list))
            for part in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return False
    return True


def judge(ledger: Reading, place: Place) -> Judge:
    """Judges by the clocks of `place` as they stand now."""
    return Judge(place.clock(), place.mono_clock(), snapshot.read_writers(ledger))


def newest_first(
    ledger: Reading, place: Place, wanted: Filter | None = None, *, limit: int | None = None
) -> Iterator[Mapping[str, Any]]:
    """Matching calls, read in pages, at most `limit` of them."""
    judging = judge(ledger, place)
    states = wanted.states if wanted is not None else None
    before: int | None = None
    left = limit
    while left is None or left > 0:
        size = _PAGE if left is None or states is not None else min(_PAGE, left)
        page = snapshot.read_calls(ledger, wanted, size, before_id=before)
        rows = _of_states(map(judging.row, page), states)
        for row in islice(rows, left):
            yield row
            left = None if left is None else left - 1
        if len(page) < size:
            return
        before = page[-1].id


def _of_states(rows: Iterable[Mapping[str, Any]], states: frozenset[str] | None) -> Iterator[Mapping[str, Any]]:
    """Pending and overdue are one status in the file: the clock has the last word."""
    return (row for row in rows if states is None or row["state"] in states)


def oldest_first(
    place: Place, wanted: Filter | None = None, *, limit: int | None = None
) -> Generator[Mapping[str, Any], None, None]:
    """Matching calls, or the newest `limit` of them, oldest first; without a limit a page at a time is in memory.

    Empty where the default ledger is not there yet. Raises CommandError and SourceError where it cannot be read.
    """
    if not place.ledger_exists():
        return
    with snapshot.reading_ledger(place.ledger) as ledger:
        if limit is not None:
            yield from reversed(list(newest_first(ledger, place, wanted, limit=limit)))
            return
        judging = judge(ledger, place)
        states = wanted.states if wanted is not None else None
        after = -(2**62)
        while page := snapshot.read_calls(ledger, wanted, _PAGE, after_id=after):
            yield from _of_states(map(judging.row, page), states)
            after = page[-1].id


def count_states(ledger: Reading, place: Place) -> dict[str, int]:
    """`rows` and the six states, which add up to it; pending and overdue told apart by the clock.

    In WAL mode this is one moment of the file. Elsewhere a reader that stays would keep the writer waiting.
    """
    with one_snapshot(ledger.connection) if ledger.shape.wal else nullcontext():
        totals = snapshot.read_totals(ledger)
        overdue = 0
        if totals.pending:
            judging = judge(ledger, place)
            calls = snapshot.read_calls(ledger, _PENDING_ONLY, totals.pending)
            overdue = sum(judging.row(call)["state"] == "overdue" for call in calls)
    counted = {
        "pending": totals.pending - overdue,
        "overdue": overdue,
        "ghost": totals.ghost,
        "confirmed": totals.confirmed,
        "error": totals.error,
        "revived": totals.revived,
    }
    return {"rows": sum(counted.values()), **{name: counted[name] for name in STATES}}


def count_rows(ledger: Reading) -> int:
    """Calls in the ledger, whatever their state; 0 for a file without one."""
    return int(ledger.connection.execute("SELECT count(*) FROM ledger").fetchone()[0]) if ledger.shape.columns else 0


def newest_host_version(ledger: Reading) -> str | None:
    """The host's version as the newest process that wrote to the ledger named it."""
    if "writer" not in ledger.shape.tables:
        return None
    try:
        row = ledger.connection.execute(
            "SELECT host_version FROM writer WHERE host_version <> '' ORDER BY id DESC LIMIT 1"
        ).fetchone()
    except sqlite3.OperationalError:  # A table of that name by other software.
        return None
    return str(row[0]) if row else None


def count_sessions(path: Path) -> int:
    """Sessions in the host's store. Raises SourceError."""
    with closing(guard.connect(path, timeout_s=1.0)) as connection:
        try:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "sessions" in tables:
                return int(connection.execute("SELECT count(*) FROM sessions").fetchone()[0])
        except sqlite3.Error as error:
            raise guard.explain(path, error) from error
    if tables:
        raise SourceError(path, "is a database without sessions in it", "name the host's state.db")
    return 0
