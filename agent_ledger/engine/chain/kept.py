"""What a ledger makes of values that are written to it: in one that other software began, 5 may become 5.0 or '5'.

SQLite turns a value into the kind with which its column was declared, and some of it can be lost by that: a text column
keeps 15 digits of a number, a number column no zeros before one. What is hashed is what stands there afterwards, read
as the kind that the column has in our own ledgers: such a record holds in a copy of ours as well.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from ..schema import COLUMNS

KINDS = {name: kind.split()[0] for name, kind in COLUMNS.items()}
"""INTEGER, REAL, TEXT or BLOB, by column."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_REAL = re.compile(r"-?(0|[1-9][0-9]*)\.(0|[0-9]*[1-9])(e[+-][0-9]+)?")
"""How SQLite writes numbers into a column of text."""


def odd_columns(connection: sqlite3.Connection) -> dict[str, str]:
    """Columns of `ledger` that are not declared as ours, with how they are. Raises sqlite3.Error."""
    found = connection.execute("PRAGMA table_info(ledger)").fetchall()
    declared = {str(row[1]).lower(): str(row[2]) for row in found}
    return {name: declared[name] for name, kind in KINDS.items() if declared.get(name, kind).upper() != kind}


def filled_columns(connection: sqlite3.Connection) -> list[str]:
    """Columns into which this file puts something where nothing is given, though they may be empty."""
    found = connection.execute("PRAGMA table_info(ledger)").fetchall()
    filled = {str(row[1]).lower() for row in found if row[4] is not None and not row[3]}
    return [name for name in COLUMNS if name in filled]


def as_kind(value: Any, kind: str) -> Any:
    """A cell as that kind where it says the same, else as it is: '0 ' is not 0."""
    if kind == "INTEGER":
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            return int(value)
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if kind == "REAL":
        if isinstance(value, str) and _REAL.fullmatch(value):
            return float(value)
        return float(value) if isinstance(value, int) else value
    if kind == "TEXT" and isinstance(value, (int, float)):
        return str(value) if isinstance(value, int) else _real_text(value)
    return value


def _real_text(value: float) -> str:
    """A number as SQLite writes it into a column of text."""
    digits, e, exponent = f"{value:.15g}".partition("e")
    return f"{digits if '.' in digits else f'{digits}.0'}{e}{exponent}"


class Kept:
    """The odd columns of one file's `ledger`, tried out in a table in memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Raises sqlite3.Error."""
        odd = odd_columns(connection)
        self._odd = tuple(odd)
        self._trial: sqlite3.Connection | None = None
        if not odd:
            return
        strict = any(row[5] for row in connection.execute("PRAGMA table_list(ledger)"))
        columns = ", ".join(f"{name} {kind}" for name, kind in odd.items())
        trial = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        trial.execute(f"CREATE TABLE trial({columns}){' STRICT' if strict else ''}")
        marks = ",".join("?" * len(odd))
        self._write = f"INSERT OR REPLACE INTO trial(rowid, {', '.join(odd)}) VALUES(1, {marks})"
        self._trial = trial

    def row(self, columns: Sequence[str], values: Sequence[Any]) -> Sequence[Any]:
        """The values of these columns as they will be read."""
        return values if self._trial is None else list(self.cells(dict(zip(columns, values, strict=True))).values())

    def cells(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The same by column. What the file will refuse is given back as it is."""
        if self._trial is None:
            return values
        with contextlib.suppress(sqlite3.Error, OverflowError):
            self._trial.execute(self._write, [values.get(name) for name in self._odd])
            (found,) = self._trial.execute("SELECT * FROM trial").fetchall()
            kept = {name: as_kind(cell, KINDS[name]) for name, cell in zip(self._odd, found, strict=True)}
            return {name: kept.get(name, value) for name, value in values.items()}
        return values
