"""After a crash: did the repair, or the undoing of it, take effect? The rows themselves say which."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.inert import inert
from ledger_tui.sources.guard import SourceError, connect, real_path

from . import journal as journals
from .cells import read_cells, same
from .holders import require_safe
from .journal import APPLIED, NOT_APPLIED, PREPARED, UNDOING, UNDONE, Journal, RowChange
from .refused import RefusedError
from .writing import roll_back

BEFORE, AFTER, NEITHER = "before", "after", "neither"
UNCLEAR, HALF_WAY = "unclear", "half-way"

_UNSETTLED = {PREPARED: (NOT_APPLIED, APPLIED), UNDOING: (UNDONE, APPLIED)}
"""What a journal means whose writer was cut short: with rows as before, and with rows as after the repair."""

_TEXTS = {
    APPLIED: "it took effect",
    NOT_APPLIED: "it was cut short and changed nothing",
    UNDONE: "it was undone",
    HALF_WAY: "it was cut short half-way, which SQLite takes back as soon as somebody may write to the store",
    UNCLEAR: "it was cut short, and rows have changed since: compare them with the backup",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair of a home. `text` is inert."""

    repair_id: str
    state: str
    """`applied`, `not applied`, `undone`; `half-way` where nobody can read the store before a dead writer's change is
    taken back, and `unclear` where the rows hold neither state."""
    at: float
    store: Path
    backup: Path
    orphan_ids: tuple[str, ...]
    """Raw, as far as UTF-8 can say them."""
    text: str
    crashed: bool
    """Its journal was left unfinished; see `settle`."""
    ended_ids: tuple[str, ...] = ()
    """Sessions that a person ended, as raw as the others."""


def repairs(home: Path) -> tuple[Repair, ...]:
    """Every repair of this home, oldest first. Reads only; a repair that was cut short is told by its rows."""
    return tuple(_repair(home, one) for one in journals.read_all(home))


def _repair(home: Path, one: Journal) -> Repair:
    state = _state(one)
    folder = journals.folder(home)
    orphans = tuple(str(adoption["orphan"]) for adoption in one.adoptions)
    text = inert(f"{one.repair_id}: {_TEXTS.get(state, state)}")
    crashed = one.state in _UNSETTLED
    return Repair(one.repair_id, state, one.at, one.store, folder / one.backup, orphans, text, crashed, one.endings)


def _state(one: Journal) -> str:
    if one.state not in _UNSETTLED:
        return one.state
    as_before, as_after = _UNSETTLED[one.state]
    try:
        held = hold_in(one.store, one.rows)
    except (SourceError, sqlite3.Error) as error:
        return HALF_WAY if _half_way(error) else UNCLEAR
    return {BEFORE: as_before, AFTER: as_after}.get(held, UNCLEAR)


def _half_way(error: Exception) -> bool:
    """Did a writer die inside its transaction? SQLite takes that back as soon as somebody may write."""
    cause = error.__cause__ if isinstance(error, SourceError) else error
    return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK


def hold_in(store: Path, rows: Sequence[RowChange]) -> str:
    """The same as `hold`, over the file. Raises SourceError, sqlite3.Error."""
    with closing(connect(store, timeout_s=5.0)) as connection:
        return hold(connection, rows)


def hold(connection: sqlite3.Connection, rows: Sequence[RowChange]) -> str:
    """What the rows hold: all as `before`, all as `after`, or `neither`. Raises sqlite3.Error."""
    cells = read_cells(connection, ((row.number, row.session_id) for row in rows))
    ends = set()
    for row in rows:
        for one in row.cells:
            found = cells.get(row.session_id, {})
            if one.column not in found:
                return NEITHER
            ends.add((same(found[one.column], one.before), same(found[one.column], one.after)))
    if all(before for before, _ in ends):
        return BEFORE
    return AFTER if all(after for _, after in ends) else NEITHER


def settle(
    path: Path, home: Path, *, clock: Callable[[], float], stopped_by: str | None, processes: Path = Path("/proc")
) -> tuple[str, ...]:
    """Brings journals of this store to an end whose writer was cut short; says of each what became of it.

    Where SQLite has to take a change back first, the safety checks must hold. Raises RefusedError.
    """
    store = real_path(path)
    unfinished = [one for one in journals.read_all(home) if one.state in _UNSETTLED and one.store == store]
    if not unfinished:
        return ()
    if _needs_rollback(store):
        require_safe(path, home, now=clock(), stopped_by=stopped_by, processes=processes, readable=False)
        roll_back(store)
    told = []
    for one in unfinished:
        state = _state(one)
        if state == UNCLEAR:
            told.append(_repair(home, one).text)
            continue
        try:
            done = journals.moved(home, one, state)
        except OSError as error:
            raise RefusedError(
                f"The journal cannot be written ({error.strerror})", "check the disk and its folder"
            ) from error
        told.append(_repair(home, done).text)
    return tuple(told)


def _needs_rollback(store: Path) -> bool:
    try:
        with closing(connect(store, timeout_s=5.0)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        return _half_way(error)
    return False
