"""The session store of a place, surveyed for a command: what is there, what was set aside, and what is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from ledger_tui.commands.output import warn
from ledger_tui.commands.place import Place
from ledger_tui.commands.progress import progress
from ledger_tui.routing.anomalies.kinds import Anomaly
from ledger_tui.routing.ignored import IgnoredFile
from ledger_tui.routing.orphans import MAX_GAP_S
from ledger_tui.routing.read import Layout, Store, read_layout, read_store
from ledger_tui.routing.rows import Session
from ledger_tui.routing.survey import Survey, survey
from ledger_tui.sources import guard
from ledger_tui.sources.guard import SourceError


def surveyed(place: Place, *, max_gap_s: float = MAX_GAP_S, quiet: bool = True) -> Survey:
    """The survey of the place's store; of nothing where the default store is not there yet.

    `quiet`: not a word on how far it is. Raises CommandError for a missing file named by option, SourceError where
    it cannot be read.
    """
    place.state_exists()  # Of a home that is none no file is spoken of.
    file = IgnoredFile(place.data)
    ignored = file.read()
    if file.problem:
        warn(file.problem)
    store = stored(place, quiet=quiet)
    return survey(store, now=place.clock(), max_gap_s=max_gap_s, ignored=ignored)


def stored(place: Place, *, quiet: bool = True) -> Store:
    """Every session of the place's store. Raises the same."""
    if not place.state_exists():
        return Store()
    with progress("reading the sessions", quiet=quiet) as tell:
        store = read_store(place.state, place.home, tell=lambda read: tell(read.done, read.total))
    need_sessions(place, store.layout)
    return store


def need_sessions(place: Place, layout: Layout) -> None:
    """An empty file is a store without sessions; one with other tables is no store. Raises SourceError."""
    if layout.tables and "id" not in layout.sessions:
        raise SourceError(place.state, "is a database without sessions in it", "name the host's state.db")


def rows_to_read(place: Place) -> tuple[int, int]:
    """How many sessions and messages the store holds, at most: by their highest numbers. Raises SourceError."""
    with closing(guard.connect(place.state, timeout_s=1.0)) as connection:
        try:
            layout = read_layout(connection)
            need_sessions(place, layout)
            return _highest(connection, layout, "sessions"), _highest(connection, layout, "messages")
        except sqlite3.Error as error:
            raise guard.explain(place.state, error) from error


def _highest(connection: sqlite3.Connection, layout: Layout, table: str) -> int:
    if table not in layout.tables:
        return 0
    ((highest,),) = connection.execute(f"SELECT max(rowid) FROM {table}").fetchall()
    return int(highest or 0)


def session_shapes(found: Survey, ids: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Entries of `sessions` in the JSON of `sessions`, with exact ids and cells."""
    countable = bool(found.store.layout.messages)
    for key in ids:
        shape = _shape(found.store.sessions[key], found.forest.relations[key], found.anomalies.get(key, ()))
        yield shape if countable else {**shape, "message_count": shape["counted"]}


def _shape(row: Session, relation: str, anomalies: tuple[Anomaly, ...]) -> dict[str, Any]:
    return {
        "id": row.id,
        "source": row.source,
        "session_key": row.session_key,
        "parent_session_id": row.parent_session_id,
        "relation": relation,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "end_reason": row.end_reason,
        "message_count": row.messages,
        "counted": row.message_count,
        "last_active": row.last_active,
        "anomalies": [anomaly_shape(one) for one in anomalies],
    }


def anomaly_shape(one: Anomaly) -> Mapping[str, str]:
    return {"kind": one.kind, "severity": one.severity, "text": one.text}
