"""Exact cells of single rows of `sessions`, as they stand in the file: what a repair compares, writes and puts back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ..read import lenient
from ..rows import text

Cell: TypeAlias = int | float | str | bytes | None
"""A value with its storage class. Text that is no UTF-8 holds each odd byte as one lone surrogate."""

Cells: TypeAlias = Mapping[str, Mapping[str, Cell]]
"""By session id, then by column; a column that the file lacks is left out."""

IDENTITY = ("session_key", "chat_id", "chat_type", "thread_id", "user_id", "origin_json", "display_name")
"""What makes a row the one that a chat's messages go to, and what the host keeps of that chat."""

CHANGEABLE = (*IDENTITY, "parent_session_id", "model_config", "ended_at", "end_reason")
"""Columns that a repair may write; no other is ever touched."""

_AT_ONCE = 500


def same(one: Cell, other: Cell) -> bool:
    """Equal in value and in storage class: 1 and 1.0 are two things."""
    return type(one) is type(other) and one == other


def read_cells(connection: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> dict[str, dict[str, Cell]]:
    """The changeable columns of these rows, which are named by number and id. A row that is gone is left out.

    Raises sqlite3.Error.
    """
    lenient(connection)
    have = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('sessions')")}
    columns = [name for name in CHANGEABLE if name in have]
    wanted = dict(rows)
    numbers = sorted(wanted)
    found: dict[str, dict[str, Cell]] = {}
    for start in range(0, len(numbers), _AT_ONCE):
        page = numbers[start : start + _AT_ONCE]
        marks = ",".join("?" * len(page))
        sql = f"SELECT rowid, id, {', '.join(columns)} FROM sessions WHERE rowid IN ({marks})"
        for number, key, *values in connection.execute(sql, page).fetchall():
            if text(key) == wanted[number]:
                found[wanted[number]] = dict(zip(columns, values, strict=True))
    return found
