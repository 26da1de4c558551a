"""One look at a ledger from inside the host: read-only, in short statements, a whole home or one conversation of it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import process, queries
from .databases import could_lock_out, hindrance, read_only_uri, readable
from .fingerprint import bounded
from .inert import inert
from .posture import Posture
from .queries import COLUMNS_QUERY, WRITERS_QUERY, Filter
from .records import STATES, Call, Writer, storable
from .schema import VERSION, columns_of

SCORED_AT_ONCE = 20_000
"""Calls of one conversation that are looked at, the newest: more would keep a chat waiting for seconds."""

_NEEDED = frozenset({"id", "ts", "tool_name", "status"})
_WAIT_S = 1.0
_PENDING = frozenset({"pending", "overdue"})
LOST = frozenset({"overdue", "ghost"})

Row = Mapping[str, Any]


class GlanceError(Exception):
    """A ledger cannot be read; the text is one plain sentence that names the file."""


@dataclass(slots=True)
class Glance:
    """An open ledger and the clocks by which its calls are judged. `now` and `mono` are seconds."""

    connection: sqlite3.Connection
    columns: frozenset[str]
    now: float
    mono: float
    _writers: dict[int, Writer] | None = None
    _dead: dict[int, bool | None] = field(default_factory=dict)

    def row(self, call: Call) -> Row:
        """The shape of `calls --json`."""
        writer = self._all_writers().get(call.writer_id or 0)
        if writer is not None and writer.id not in self._dead:
            self._dead[writer.id] = process.is_dead(writer)
        mono = self.mono if writer is not None and process.same_boot(writer) else None
        dead = None if writer is None else self._dead[writer.id]
        return queries.call_json(call, now=self.now, mono_now=mono, writer_dead=dead)

    def _all_writers(self) -> dict[int, Writer]:
        if self._writers is None:
            self._writers = {}
            if self._has_table("writer"):
                found = map(queries.writer_from_row, self.connection.execute(*WRITERS_QUERY))
                self._writers = {writer.id: writer for writer in found}
        return self._writers

    def _has_table(self, name: str) -> bool:
        asked = "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?"
        return self.connection.execute(asked, (name,)).fetchone() is not None

    def merged(self) -> dict[str, int]:
        """Bytes of each spool file that are in the ledger, for `spool.waiting`."""
        if not self._has_table("spool_merged"):
            return {}
        return {str(name): int(size) for name, size in self.connection.execute("SELECT name, size FROM spool_merged")}

    def size(self) -> int:
        """How many calls there are."""
        (rows,) = self.connection.execute("SELECT count(*) FROM ledger").fetchone() if self.columns else (0,)
        return int(rows)

    def by_a_newer_plugin(self) -> bool:
        """Sealed by a plugin that may seal otherwise."""
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        return int(version) > VERSION and "issue_seal" in columns_of(self.connection)

    def calls(self, wanted: Filter | None = None, *, limit: int | None = None) -> list[Row]:
        """The newest matching calls, oldest first."""
        if not self.columns:
            return []
        states = wanted.states if wanted is not None else None
        found: list[Row] = []
        # Pending and overdue differ by the clock: only what was judged can be counted.
        asked = queries.calls(self.columns, wanted, limit=None if states is not None else limit)
        for raw in self.connection.execute(*asked):
            row = self.row(queries.call_from_row(raw))
            if states is None or row["state"] in states:
                found.append(row)
                if len(found) == limit:
                    break
        return list(reversed(found))

    def unconfirmed(self, limit: int | None = None) -> list[Row]:
        """Calls that were lost: past their grace, or reported to the agent already."""
        return self.calls(Filter(states=LOST), limit=limit)

    def undecoded(self) -> sqlite3.Connection:
        """The connection for whoever reads text that is no UTF-8 in a way of its own."""
        self.connection.text_factory = str
        return self.connection

    def counts(self) -> dict[str, int]:
        """`rows` and the six states of a whole ledger, which add up to it."""
        if not self.columns:
            return dict.fromkeys(("rows", *STATES), 0)
        asked = queries.totals(self.columns, status_may_be_null=not self.columns >= {"changed"})
        self.connection.execute("BEGIN")  # One moment for both: a call in between would not add up.
        try:
            rows, _, ghost, error, revived = self.connection.execute(*asked).fetchone()
            counted = counted_states(self.calls(Filter(states=_PENDING)))
        finally:
            self.connection.rollback()
        waiting = counted["rows"]
        counted.update(rows=rows, ghost=ghost, error=error, revived=revived)
        counted["confirmed"] = rows - waiting - ghost - error - revived
        return counted

    def of(self, ids: Sequence[str], states: frozenset[str] | None = None) -> list[Call]:
        """The calls of one conversation by the ids that it has had, oldest first, the newest `SCORED_AT_ONCE` of them.
        Of `states`, pending stands for overdue as well, and the other way round.

        A call from inside a script may carry no session but the conversation's id as its task.
        """
        if not self.columns >= {"session_id"}:
            return []
        wanted = [bounded(storable(one)) for one in ids if one]
        found: list[Call] = []
        for session in wanted:
            asked = queries.calls(self.columns, Filter(session_id=session, states=states), limit=SCORED_AT_ONCE)
            found += map(queries.call_from_row, self.connection.execute(*asked))
        asked = queries.calls(self.columns, Filter(session_id="", states=states), limit=SCORED_AT_ONCE)
        nameless = map(queries.call_from_row, self.connection.execute(*asked))
        tasks = {inert(one) for one in wanted}
        found += [call for call in nameless if call.task_id in tasks]
        return sorted(found, key=lambda call: call.id)[-SCORED_AT_ONCE:]


def counted_states(rows: Iterable[Row]) -> dict[str, int]:
    """`rows` and the six states of these calls."""
    counts = dict.fromkeys(("rows", *STATES), 0)
    for row in rows:
        counts["rows"] += 1
        counts[row["state"]] += 1
    return counts


def posture_of(calls: Iterable[Call], ids: Sequence[str]) -> Posture:
    """The posture of one conversation, whose ids (newest first) count as one."""
    posture = Posture()
    posture.join(pairwise(ids))
    posture.feed(calls)
    return posture


@contextmanager
def opened(path: Path, *, now: float, mono: float) -> Iterator[Glance | None]:
    """A ledger for the length of a `with`; None where none is there yet. Raises GlanceError."""
    try:
        info = os.stat(path)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise GlanceError(f"{path} cannot be read ({error}); check the file and its rights.") from error
    if not stat.S_ISREG(info.st_mode):
        raise GlanceError(f"{path} is no file; what lies there is not a ledger.")
    if hindrance(path):
        raise GlanceError(f"{path} {hindrance(path)}; `ledger-tui doctor` says what to do.")
    if could_lock_out(path, info.st_uid):
        raise GlanceError(f"{path} belongs to another user and is not in use right now; read it as its owner.")
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=_WAIT_S, isolation_level=None)) as ledger:
            ledger.execute("PRAGMA query_only=1")
            ledger.text_factory = readable
            columns = frozenset(row[0] for row in ledger.execute(*COLUMNS_QUERY))
            if columns and not columns >= _NEEDED:
                raise GlanceError(f"{path} is a database without a ledger of tool calls in it.")
            yield Glance(ledger, columns, now, mono)
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise GlanceError(f"{path} cannot be read ({error}); check the file and its rights.") from error
