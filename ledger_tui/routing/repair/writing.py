"""The one place that writes to the host's store: one short transaction over known rows, all or nothing.

Every cell must still hold what the plan saw, everything is read back before it is committed, and whoever wrote to the
file meanwhile makes it end without a change.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ledger_tui.sources.guard import SourceError, connect, explain, real_path

from ..read import lenient
from .cells import CHANGEABLE, Cell, same
from .journal import RowChange
from .refused import RefusedError

Fault = Callable[[str], None]
"""Called at each step by its name; tests end the process there."""

CHANGED = "changed since it was looked at"
REWRITTEN = "no longer holds what the repair wrote"
AGAIN = "look again, then repeat the command"

_BUSY_S = 5.0


def nothing(_: str) -> None:
    """No fault."""


def write_rows(
    path: Path,
    rows: Sequence[RowChange],
    *,
    back: bool = False,
    still_good: Callable[[], None],
    fault: Fault = nothing,
) -> None:
    """Writes the new cells, or with `back` the former ones. Raises RefusedError; then nothing has changed.

    `still_good` is called when nobody else can write any more, and raises RefusedError where it must not go on.
    """
    with _witness(path), _transaction(path) as connection:
        fault("begun")
        _no_triggers(connection)
        still_good()
        for row in rows:
            _write(connection, row, back)
            fault("row-written")
        for row in rows:
            _verify(connection, row, back)
        fault("before-commit")
        connection.execute("COMMIT")
        fault("committed")


def need_rights(path: Path) -> None:
    """May this user write the store, and a journal beside it? Raises RefusedError."""
    real = real_path(path)
    for place in (real, real.parent):
        if not os.access(place, os.W_OK):
            raise RefusedError(f"This user may not write {place}", "repair the store as its owner")


def roll_back(path: Path) -> None:
    """Lets SQLite take back what a killed writer left half-way. Raises RefusedError."""
    with _transaction(path) as connection:
        connection.execute("ROLLBACK")


@contextmanager
def _witness(path: Path) -> Iterator[None]:
    """A reader that stays until the writer has closed: so nothing is moved from log to file, which is the host's doing.

    Raises RefusedError.
    """
    try:
        with closing(connect(path, timeout_s=_BUSY_S)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            yield
    except (SourceError, sqlite3.Error) as error:
        problem = error if isinstance(error, SourceError) else explain(path, error)
        raise RefusedError(f"{path} {problem.reason}, and nothing was changed", problem.remedy) from error


@contextmanager
def _transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """The right to write to a file that exists. What is not committed at the end, is taken back."""
    uri = real_path(path).as_uri() + "?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S)) as connection:
            lenient(connection)
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=0").fetchone()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        problem = explain(path, error)
        raise RefusedError(f"{path} {problem.reason}, and nothing was changed", problem.remedy) from error


def _no_triggers(connection: sqlite3.Connection) -> None:
    """No Hermes has triggers on sessions: one that is there could do anything."""
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'sessions' COLLATE NOCASE"
    ).fetchone()
    if found is not None:
        raise RefusedError(f"The store has a trigger on its sessions ({found[0]})", "take it out before a repair")


def _write(connection: sqlite3.Connection, row: RowChange, back: bool) -> None:
    pairs = [(one.column, *_ends(one.before, one.after, back)) for one in row.cells]
    for column, old, _ in pairs:
        if column not in CHANGEABLE:
            raise RefusedError(
                f"Column {column} is none that a repair may change", "keep the journal as it was written"
            )
        _expect(connection, row, column, old, REWRITTEN if back else CHANGED)
    sets = ", ".join(f"{column} = {_mark(new)}" for column, _, new in pairs)
    where = " AND ".join(f"{column} IS {_mark(old)}" for column, old, _ in pairs)
    values = [_bound(new) for _, _, new in pairs] + [row.number, _bound(row.session_id)]
    values += [_bound(old) for _, old, _ in pairs]
    sql = f"UPDATE sessions SET {sets} WHERE rowid = ? AND id = {_mark(row.session_id)} AND {where}"
    if connection.execute(sql, values).rowcount != 1:
        raise RefusedError(f"Session {row.session_id} {REWRITTEN if back else CHANGED}", AGAIN)


def _verify(connection: sqlite3.Connection, row: RowChange, back: bool) -> None:
    for one in row.cells:
        _expect(connection, row, one.column, _ends(one.before, one.after, back)[1], "cannot hold that value")


def _expect(connection: sqlite3.Connection, row: RowChange, column: str, cell: Cell, problem: str) -> None:
    """Raises RefusedError where the cell holds anything else, or its row is gone."""
    sql = f"SELECT {column} FROM sessions WHERE rowid = ? AND id = {_mark(row.session_id)}"
    found = connection.execute(sql, (row.number, _bound(row.session_id))).fetchone()
    if found is None:
        raise RefusedError(f"Session {row.session_id} is gone", AGAIN)
    if not same(found[0], cell):
        raise RefusedError(f"Session {row.session_id}, column {column}, {problem}", AGAIN)


def _ends(before: Cell, after: Cell, back: bool) -> tuple[Cell, Cell]:
    return (after, before) if back else (before, after)


def _mark(cell: Cell) -> str:
    return "?" if _bound(cell) is cell else "CAST(? AS TEXT)"


def _bound(cell: Cell) -> Cell:
    """The cell as it can be handed to SQLite: text that is no UTF-8 goes over as its bytes."""
    if isinstance(cell, str) and not cell.isascii():
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError:
            return cell.encode("utf-8", "surrogateescape")
    return cell


def file_number(path: Path) -> tuple[int, int]:
    """Device and number of the file. Raises OSError."""
    info = os.stat(path)
    return info.st_dev, info.st_ino


def data_version(connection: sqlite3.Connection) -> int:
    """Changes whenever another connection commits. Raises sqlite3.Error."""
    ((version,),) = connection.execute("PRAGMA data_version").fetchall()
    return int(version)
