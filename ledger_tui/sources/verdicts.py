"""Did calls land after all? Looked for in a thread of its own; the engine keeps the answers, where it may."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent_ledger.engine.evidence import Recorded, Verdict, opened, recorded, verify_many
from agent_ledger.engine.evidence.verdict import VERDICTS
from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths, UnsafePathError
from agent_ledger.engine.queries import COLUMNS_QUERY
from agent_ledger.engine.schema import ForeignSchemaError

from . import snapshot

BITE = 100
"""Calls that are looked at and kept in one go."""

FRESH_S = 5.0
"""How long one set of facts is used: what has been read of the ledger serves many calls, but it grows old."""

_IDS = 500
_UNCONFIRMED = "WHERE status IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED'"
"""Spelled as the index over unconfirmed rows asks for."""

PARTING_S = 1.0
"""How long the app waits for that when it is left."""

BREATH_S = 0.0005
"""Pause after each call, so that whoever draws meanwhile gets its turn at once."""

Found = Sequence[tuple[Recorded, Verdict]]


class Search:
    """How far one search for evidence is. One thread counts, another reads and may stop it."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.counts = dict.fromkeys(VERDICTS, 0)
        self._stop = threading.Event()

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def stop(self) -> None:
        """No further call is looked at; what was found is kept."""
        self._stop.set()

    def note(self, _: Recorded, verdict: Verdict) -> None:
        self.counts[verdict.verdict] += 1
        time.sleep(BREATH_S)


@dataclass(slots=True)
class Outcome:
    """What a search found, in the order of the ids, and why it is not kept (empty: it is)."""

    asked: int
    """How many calls were to be looked at: more than were found where it was stopped."""
    found: list[tuple[Recorded, Verdict]] = field(default_factory=list)
    not_kept: str = ""


class VerdictSource:
    """Verdicts on the calls of one ledger. `unkept` holds those that could not be stored: they last as long as this."""

    def __init__(
        self, paths: Paths, *, clock: Callable[[], float], ledger: Path | None = None, state: Path | None = None
    ) -> None:
        self._paths, self._clock = paths, clock
        self._ledger, self._state = ledger or paths.ledger, state or paths.state
        self._unkept: dict[int, Verdict] = {}
        self._thread: threading.Thread | None = None

    @property
    def unkept(self) -> Mapping[int, Verdict]:
        return MappingProxyType(self._unkept)

    def forget(self) -> None:
        """The ledger is another one now: what was found belongs to other calls."""
        self._unkept.clear()

    async def verify(self, ids: Sequence[int], search: Search) -> Outcome:
        """Look for evidence on these calls. Ids that the ledger does not hold are left out. Raises SourceError."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()

        def tell(set_done: Callable[[Any], None], told: Any) -> None:
            with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
                loop.call_soon_threadsafe(lambda: None if done.done() else set_done(told))

        def run() -> None:
            try:
                tell(done.set_result, self.verify_blocking(ids, search))
            except Exception as error:
                tell(done.set_exception, error)

        # Not one that Python waits for at its end: a dead network mount may hold it for ever.
        self._thread = threading.Thread(target=run, name="verdicts", daemon=True)
        self._thread.start()
        try:
            outcome = await done
        finally:
            search.stop()  # Whoever waited may have been cancelled: the thread is to end, too.
        for call, verdict in outcome.found:
            if outcome.not_kept:
                self._unkept[call.id] = verdict
            else:
                self._unkept.pop(call.id, None)
        return outcome

    async def end(self) -> None:
        """Give a search that was stopped the time to keep what it found."""
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, PARTING_S)

    def verify_blocking(self, ids: Sequence[int], search: Search) -> Outcome:
        """The same in the thread that calls it. Raises SourceError."""
        outcome = Outcome(len(ids))
        bites = [ids[start : start + BITE] for start in range(0, len(ids), BITE)]
        while bites and not search.stopped:
            end = time.monotonic() + FRESH_S
            with opened(self._paths, now=self._clock(), ledger=self._ledger, state=self._state) as facts:
                while bites and not search.stopped and time.monotonic() < end:
                    calls = read(self._ledger, bites.pop(0))
                    found = verify_many(calls, facts, tell=search.note, stopped=lambda: search.stopped)
                    outcome.found += found
                    # A ledger that once could not be written is not tried again: each try may wait for seconds.
                    outcome.not_kept = outcome.not_kept or keep(self._ledger, found)
        return outcome


def read(ledger: Path, ids: Sequence[int] | None = None) -> list[Recorded]:
    """These calls as the verifiers take them, by id; without ids, all that are unconfirmed. Raises SourceError."""
    with snapshot.reading_ledger(ledger) as reading:
        if not reading.shape.columns:
            return []
        columns = [row[0] for row in reading.connection.execute(*COLUMNS_QUERY)]
        if ids is None:
            rows = reading.connection.execute(*recorded.query(columns, f"{_UNCONFIRMED} ORDER BY id")).fetchall()
            return [recorded.from_row(row) for row in rows]
        rows = []
        for start in range(0, len(ids), _IDS):
            part = ids[start : start + _IDS]
            where = f"WHERE id IN ({','.join('?' * len(part))}) ORDER BY id"
            rows += reading.connection.execute(*recorded.query(columns, where, part)).fetchall()
        return [recorded.from_row(row) for row in rows]


def keep(ledger: Path, found: Found) -> str:
    """Store the verdicts beside the calls; one inert sentence where that cannot be done, or is not ours to do."""
    from agent_ledger.engine.evidence.verdicts import save

    try:
        save(ledger, [(call.id, verdict) for call, verdict in found])
    except (UnsafePathError, ForeignSchemaError) as error:
        return inert(f"The verdicts were not stored: {error}.")
    except (OSError, TimeoutError, sqlite3.Error) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        return inert(f"The verdicts were not stored: {ledger} cannot be written ({why}).")
    return ""
