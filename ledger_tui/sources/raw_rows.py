"""The rows of a ledger cell by cell as they stand, in the order in which they changed: for whoever keeps a copy.

Nothing here is made inert or judged. Text that is no UTF-8 comes with its bytes as lone surrogates.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.chain.seal import unpack
from agent_ledger.engine.chain.spans import PRUNED

from .guard import SourceError, connect, explain
from .reading import one_snapshot, read_shape

KEYS: Mapping[str, str] = {
    "ledger": "id", "writer": "id", "amendment": "number", "verdict": "ledger_id", "chain_head": "id",
    "policy_decision": "id", "prompt_decision": "id", "rotation": "session_id",
}  # fmt: skip
"""The tables of which a copy is kept, and by which column a row is known in each.

An amendment is known by its number in the chain: `prune` gives ids of amendments anew.
"""

BESIDE = ("verdict", "rotation")
"""Tables without any counter. They hold little: calls with a verdict, conversations that were compacted."""

_LONGEST_KEY = 500
"""Characters of a session's id that serves as a key. An engine's index takes some thousand bytes at most."""

PAGE = 500
"""Rows of one table in one reading."""

_MOST = 2**63 - 1
_FIRST = -(2**63)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Position:
    """How far a ledger has been read. Rows up to here need not be read again."""

    changed: int | float | str = _FIRST
    """Change counter of the last call, and its id: several rows may share a counter."""
    changed_id: int = _FIRST
    uncounted: int = _FIRST
    """Id of the last call without a change counter, by other software."""
    writer: int = _FIRST
    amendment: int = _FIRST
    policy_decision: int = _FIRST
    prompt_decision: int = _FIRST
    call_mark: str = ""
    """What tells whether that call still is the same one; empty before the first."""
    amendment_mark: str = ""
    mirrored: int = _FIRST
    """Number of the last pruning that was repeated at the copy; see `prunings`."""
    more: bool = False
    """Did more lie behind it when it was reached? Until then a copy is no moment of the ledger."""

    @property
    def order(self) -> tuple[bool, int | float | str]:
        """Of two, the greater one is further; as in SQLite, texts are behind all numbers."""
        return isinstance(self.changed, str), self.changed

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Position:
        """Back from `text()`. Raises ValueError."""
        try:
            found = json.loads(text)
        except RecursionError as error:
            raise ValueError("no position") from error
        if not isinstance(found, dict):
            raise ValueError("no position")
        known = {name: value for name, value in found.items() if name in cls.__dataclass_fields__}
        usual = cls()
        if not all(_alike(name, value, getattr(usual, name)) for name, value in known.items()):
            raise ValueError("no position")
        return cls(**known)


def _alike(name: str, value: object, usual: object) -> bool:
    """May this stand in that field of a position? Of numbers, what SQLite can compare with."""
    if name == "changed" and isinstance(value, str):  # A column of texts, in a ledger that other software began.
        return True
    if type(usual) is int and isinstance(value, (int, float)) and type(value) is not bool:
        return -(2**63) <= value < 2**63
    return type(value) is type(usual)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, and the position behind them."""

    rows: Mapping[str, list[Row]]
    position: Position
    more: bool


@dataclass(frozen=True, slots=True)
class Pruning:
    """Calls that `prune` took: those with ids from `first` to `last` but for `kept`."""

    number: int
    first: int
    last: int
    kept: tuple[int, ...]


@dataclass(slots=True)
class RawLedger:
    """An open ledger. `tables` has the columns that this file has, of those in `kinds`."""

    connection: sqlite3.Connection
    tables: dict[str, list[str]] = field(default_factory=dict)

    def origin(self) -> str:
        """Tells one ledger from another: 64 hexadecimal digits that stay as long as the file is added to.

        They come from the first process that wrote to it, which no `prune` drops; without one, from the first call.
        """
        first: Any = None
        if "writer" in self.tables:
            names = "pid, started, boot_id, pid_namespace, machine, opened_ts"
            first = self.connection.execute(f"SELECT {names} FROM writer ORDER BY id LIMIT 1").fetchone()
        if first is None:
            first = self.connection.execute("SELECT id, ts, tool_name FROM ledger ORDER BY id LIMIT 1").fetchone()
        return hashlib.sha256(repr(first).encode("utf-8", "surrogatepass")).hexdigest()

    def continues(self, position: Position) -> bool:
        """Is what was read up to `position` still in this file? Not so in an older copy that was put back."""
        with one_snapshot(self.connection):
            return self._has_call(position) and self._has_amendment(position)

    def _has_call(self, position: Position) -> bool:
        if not position.call_mark:
            return True
        call_id = position.changed_id if position.changed != _FIRST else position.uncounted
        row = self._call(call_id)
        if row is None:
            # Also one that was shipped itself. That the chain is the one that was shipped, `_has_amendment` says.
            return any(one.first <= call_id <= one.last and call_id not in one.kept for one in self.prunings())
        return position.call_mark in _marks(row)

    def _has_amendment(self, position: Position) -> bool:
        if not position.amendment_mark:
            return True
        if "amendment" not in self.tables:
            return False
        found = self.connection.execute("SELECT link FROM amendment WHERE number=?", (position.amendment,)).fetchall()
        if not found:
            return any(self.prunings(position.amendment))
        return position.amendment_mark in {_hex(link) for (link,) in found}

    def _call(self, call_id: int) -> Row | None:
        cursor = self.connection.execute(f"{self._select('ledger')} WHERE id=?", (call_id,))
        found = cursor.fetchone()
        return None if found is None else dict(zip(self.tables["ledger"], found, strict=True))

    def after(self, position: Position, *, size: int = PAGE) -> Page:
        """What changed behind `position`, at most `size` rows of each table, as one moment of the file."""
        rows: dict[str, list[Row]] = {}
        with one_snapshot(self.connection):
            counted, uncounted = self._calls(position, size)
            for table in ("writer", "amendment", "policy_decision", "prompt_decision"):
                rows[table] = self._behind(table, getattr(position, table), size)
            more = any(len(part) == size for part in (counted, uncounted, *rows.values()))
            rows["chain_head"] = self._rows("chain_head", "ORDER BY id LIMIT 1", ())
        rows["ledger"] = counted + uncounted
        return Page(rows, replace(_moved(position, rows, counted, uncounted), more=more), more)

    def _calls(self, position: Position, size: int) -> tuple[list[Row], list[Row]]:
        """Calls with a change counter, and those without."""
        uncounted = self.uncounted(position.uncounted, size=size)
        if "changed" not in self.tables["ledger"]:
            return [], uncounted
        counted = self._rows(
            "ledger",
            "WHERE typeof(id) = 'integer' AND (changed, id) > (?, ?)"
            f" AND changed <= {_MOST} ORDER BY changed, id LIMIT ?",
            (position.changed, position.changed_id, size),
        )
        return counted, uncounted

    def uncounted(self, after: int = _FIRST, *, size: int = PAGE) -> list[Row]:
        """At most `size` calls without a change counter, by other software: those with an id behind `after`."""
        where = "WHERE typeof(id) = 'integer'"
        if "changed" not in self.tables["ledger"]:
            return self._rows("ledger", f"{where} AND id > ? ORDER BY id LIMIT ?", (after, size))
        # What is no number sorts behind every number. By the index of counters, not in the order of all ids: hence `+`.
        odd = f"(changed IS NULL OR changed > {_MOST})"
        return self._rows("ledger", f"{where} AND {odd} AND +id > ? ORDER BY +id LIMIT ?", (after, size))

    def _behind(self, table: str, last: int, size: int) -> list[Row]:
        key = KEYS[table]
        whole = f"WHERE typeof({key}) = 'integer' AND {key} > ? ORDER BY {key} LIMIT ?"
        return self._rows(table, whole, (last, size))

    def beside(self, table: str) -> list[Row]:
        """All rows of one of `BESIDE`."""
        key = KEYS[table]
        sound = (
            f"typeof({key}) = 'integer'"
            if kinds()[table][key] == "INTEGER"
            else (
                f"typeof({key}) = 'text' AND length({key}) = length(replace({key}, char(0), ''))"
                f" AND length({key}) <= {_LONGEST_KEY}"
            )
        )
        rows = self._rows(table, f"WHERE {sound} ORDER BY {key}", ())
        return [row for row in rows if isinstance(row[key], int) or row[key].isprintable()]

    def prunings(self, after: int = _FIRST) -> Iterator[Pruning]:
        """What `prune` took, in order; those with a number behind `after`."""
        if "amendment" not in self.tables:
            return
        noted = "SELECT number, did FROM amendment WHERE kind=? AND typeof(number) = 'integer' AND number > ?"
        for number, did in self.connection.execute(f"{noted} ORDER BY number", (PRUNED, after)).fetchall():
            try:
                found = json.loads(did)
                first, last = (int(one) for one in found["ids"])
                kept = tuple(int(one) for one in found["kept"])
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
                continue  # Nobody but a person can have changed it: then it says nothing.
            yield Pruning(number, first, last, kept)

    def _select(self, table: str) -> str:
        return f"SELECT {', '.join(self.tables[table])} FROM {table}"

    def _rows(self, table: str, rest: str, values: tuple[Any, ...]) -> list[Row]:
        if table not in self.tables:
            return []
        names = self.tables[table]
        found = self.connection.execute(f"{self._select(table)} {rest}", values).fetchall()
        return [dict(zip(names, row, strict=True)) for row in found]


def _moved(position: Position, rows: Mapping[str, list[Row]], counted: list[Row], uncounted: list[Row]) -> Position:
    new = replace(
        position,
        **{
            table: rows[table][-1][KEYS[table]]
            for table in ("writer", "amendment", "policy_decision", "prompt_decision")
            if rows[table]
        },
    )
    if rows["amendment"]:
        new = replace(new, amendment_mark=_hex(rows["amendment"][-1]["link"]))
    if uncounted:
        new = replace(new, uncounted=uncounted[-1]["id"])
    if counted:
        new = replace(new, changed=counted[-1]["changed"], changed_id=counted[-1]["id"])
    last = counted or (uncounted if new.changed == _FIRST else [])
    return replace(new, call_mark=_marks(last[-1])[0]) if last else new


def _marks(row: Row) -> list[str]:
    """By what a call is known again, the newest first: the links of its seals, or its time where it has none."""
    seals = [seal.link.hex() for seal in (unpack(row.get(name)) for name in ("settle_seal", "issue_seal")) if seal]
    return seals or [f"at {row['ts']}"]


def _hex(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, Mapping[str, str]]:
    """Tables and columns as the plugin makes them: INTEGER, REAL, TEXT or BLOB by name."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.prepare(connection)
        return {
            table: {str(row[1]): str(row[2]) for row in connection.execute(f"PRAGMA table_info({table})")}
            for table in KEYS
        }


@contextmanager
def raw_ledger(path: Path, *, timeout_s: float = 1.0) -> Iterator[RawLedger]:
    """The ledger, open for the length of a `with`. Every SQLite error inside becomes a SourceError."""
    connection = connect(path, timeout_s=timeout_s)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        try:
            shape = read_shape(connection)
        except ValueError as error:
            raise SourceError(path, str(error), "name the ledger itself") from error
        if not shape.columns:
            raise SourceError(path, "holds no ledger yet", "it appears with the first record", state="missing")
        yield RawLedger(connection, _found(connection))
    except sqlite3.Error as error:
        raise explain(path, error) from error
    finally:
        connection.close()


def _found(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Of each table the columns that this file has; tables of other software by the same names are left out."""
    found: dict[str, list[str]] = {}
    for table, columns in kinds().items():
        there = {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
        if there >= columns.keys() or (table == "ledger" and there):
            found[table] = [name for name in columns if name in there]
    return found
