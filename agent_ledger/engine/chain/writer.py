"""Writes to the table `ledger`: every new row and every change of one goes through here and gets its link.

Which record is the last is remembered, so that a hook does not look it up. Each statement checks in the database
itself that this is still so, and is tried again with the real one where another process wrote in between: the
chain holds with any number of writers, whether they take turns or not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .kept import KINDS, Kept, as_kind, filled_columns
from .seal import FIRST, ISSUE_COLUMNS, LARGEST, SETTLE_COLUMNS, STATUS_AT, Seal, link_of, pack, unpack

TRIES = 20
"""How often a statement is tried again when others write in between."""

LOOK_BACK = 200
"""Rows without a seal, by an older plugin or other software, behind which the last sealed one is looked for."""

_LAST_NUMBER = 2**62
"""No chain gets there by itself: a record with a higher number was edited, and none would fit behind the highest."""

# By the amendments too: a person may have deleted the very rows that another process changed last.
_UNMOVED = "(SELECT max(changed) FROM ledger) IS ? AND (SELECT max(id) FROM amendment) IS ?"
# A statement that comes too late must fail: text is no id, in a file of other software neither. The obvious INSERT …
# SELECT … WHERE would first copy the row into a table of its own; OR IGNORE would use up a number.
_VALUES = f"(CASE WHEN {_UNMOVED} THEN ? ELSE '' END, {','.join('?' * len(ISSUE_COLUMNS))}"
_ID_AT = 2
_ISSUED = ("changed", "issue_seal")
_SETTLED = (*SETTLE_COLUMNS[1:], "changed", "issue_seal", "settle_seal")
_OPEN = "id=? AND tool_call_id=? AND status IN ('PENDING', 'GHOST_REPORTED')"
_IS_OPEN = f"SELECT 1 FROM ledger WHERE {_OPEN}"
_SETTLE = (
    f"UPDATE ledger SET {', '.join(f'{name}=?' for name in SETTLE_COLUMNS)}, changed=?, settle_seal=?"
    f" WHERE {_OPEN} AND {_UNMOVED}"
)
_SOUND = f"typeof(number)='integer' AND number <= {_LAST_NUMBER} AND typeof(changed)='integer' AND typeof(link)='blob'"
_LAST_AMENDMENT = f"SELECT number, changed, link FROM amendment WHERE {_SOUND} ORDER BY id DESC LIMIT 1"
_KEPT_HEAD = f"SELECT number, changed, link FROM chain_head WHERE {_SOUND}"
_AMENDMENT = "INSERT INTO amendment(number, changed, ledger_id, kind, did, previous, link) VALUES(?,?,?,?,?,?,?)"


def _insert_into(columns: Sequence[str], filled: Sequence[str]) -> str:
    """`columns`: those behind ISSUE_COLUMNS; `filled`: those that other software has filled where nothing is given."""
    empty = [name for name in filled if name not in {"id", *ISSUE_COLUMNS, *columns}]
    return (
        f"INSERT INTO ledger({', '.join(('id', *ISSUE_COLUMNS, *columns, *empty))})"
        f" VALUES{_VALUES}, {', '.join(['?'] * len(columns) + ['NULL'] * len(empty))})"
    )


class _Inserts(NamedTuple):
    """The statements that add a row to one file's `ledger`."""

    issued: str
    settled: str


_PLAIN = _Inserts(_insert_into(_ISSUED, ()), _insert_into(_SETTLED, ()))


class Head(NamedTuple):
    """The last record of the chain."""

    number: int
    changed: int
    link: bytes
    last_id: int
    """The highest id that a row ever had."""
    top: object
    """The largest `changed` of `ledger`, by which it is told that nobody wrote since."""
    amended: object
    """The largest id of `amendment`, for the same."""

    def next_change(self, now_us: int) -> int:
        """The change counter of the next record: the clock in microseconds, but always above every value so far."""
        changed = self.changed + 1
        if now_us > changed:
            changed = now_us
        return changed if changed < LARGEST else LARGEST

    def next(self, kind: str, call_id: int | None, values: Sequence[Any], now_us: int) -> Seal:
        """The seal of a record that follows."""
        number, changed = self.number + 1, self.next_change(now_us)
        return Seal(number, changed, self.link, link_of(self.link, kind, number, call_id, changed, values))

    def after(self, seal: Seal, *, last_id: int | None = None, top: object) -> Head:
        """The head once that record is written."""
        return Head(
            seal.number, seal.changed, seal.link, self.last_id if last_id is None else last_id, top, self.amended
        )


class ChainWriter:
    """All changes of rows over one connection. The caller lets one thread in at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._head: Head | None = None
        self._columns: Kept | None = None
        self._inserts = _PLAIN

    def forget(self) -> None:
        """What was written is taken back: the last record is not what it seemed."""
        self._head = self._columns = None

    def head(self) -> Head:
        """The last record. Raises sqlite3.Error."""
        if self._head is None or self._head.changed == LARGEST:  # There it no longer tells whether others wrote.
            self._head = read_head(self._connection)
        return self._head

    def newest(self) -> Head:
        """The last record, whoever wrote it, inside a transaction of the caller. Raises sqlite3.Error."""
        self._catch_up()
        return self.head()

    def insert(self, row: Sequence[Any], *, now_us: int) -> int:
        """Add a call (values in the order of ISSUE_COLUMNS); its id."""
        row = self._kept.row(ISSUE_COLUMNS, row)
        for _ in range(TRIES):
            head = self.head()
            call_id = head.last_id + 1
            seal = head.next("issue", call_id, row, now_us)
            if self._insert(self._inserts.issued, (head.top, head.amended, call_id, *row, seal.changed, pack(seal))):
                self._head = head.after(seal, last_id=call_id, top=seal.changed)
                return call_id
        raise _overtaken()

    def insert_settled(self, row: Sequence[Any], settled: Sequence[Any], *, now_us: int) -> int:
        """Add a call that was never announced: two records, issued and settled, and one row. Its id.

        `row` in the order of ISSUE_COLUMNS with the status PENDING, `settled` in that of SETTLE_COLUMNS.
        """
        row, settled = self._kept.row(ISSUE_COLUMNS, row), self._kept.row(SETTLE_COLUMNS, settled)
        stored = (*row[:STATUS_AT], settled[0], *row[STATUS_AT + 1 :])
        for _ in range(TRIES):
            head = self.head()
            call_id = head.last_id + 1
            issued = head.next("issue", call_id, row, now_us)
            ended = head.after(issued, top=None).next("settle", call_id, settled, now_us)
            values = (head.top, head.amended, call_id, *stored, *settled[1:], ended.changed, pack(issued), pack(ended))
            if self._insert(self._inserts.settled, values):
                self._head = head.after(ended, last_id=call_id, top=ended.changed)
                return call_id
        raise _overtaken()

    def _insert(self, statement: str, values: Sequence[Any]) -> bool:
        """False when another process wrote in between, or used the number. `values`: of the statement's VALUES."""
        try:
            self._cursor.execute(statement, values)
        except sqlite3.IntegrityError:
            if self._catch_up():
                raise  # Nobody did: the row itself cannot be taken.
            return False
        except OverflowError:
            if values[_ID_AT] > LARGEST:
                raise sqlite3.OperationalError("the numbers of this ledger are used up") from None
            raise
        if not self._cursor.rowcount:
            raise kept_out()
        return True

    def settle(self, call_id: int, tool_call_id: str, settled: Sequence[Any], *, now_us: int) -> bool:
        """Settle one unsettled row (values in the order of SETTLE_COLUMNS). False when there is none with these ids."""
        settled = self._kept.row(SETTLE_COLUMNS, settled)
        for _ in range(TRIES):
            head = self.head()
            seal = head.next("settle", call_id, settled, now_us)
            values = (*settled, seal.changed, pack(seal), call_id, tool_call_id, head.top, head.amended)
            if self._cursor.execute(_SETTLE, values).rowcount:
                self._head = head.after(seal, top=seal.changed)
                return True
            if self._catch_up():
                if self._connection.execute(_IS_OPEN, (call_id, tool_call_id)).fetchone():
                    raise kept_out()
                return False
        raise _overtaken()

    def amend(self, call_id: int, kind: str, new: Mapping[str, Any], *, now_us: int) -> None:
        """Change cells of a row beside its settlement, inside a transaction of the caller. No row, no change.

        What each cell was and is goes into the table `amendment`, so that the records before can still be checked.
        """
        cells = "".join(f", {name}" for name in new)
        found = self._connection.execute(f"SELECT id{cells} FROM ledger WHERE id=?", (call_id,)).fetchone()
        if found is None:
            return
        new = self._kept.cells(new)
        did = {name: [as_kind(was, KINDS[name]), new[name]] for name, was in zip(new, found[1:], strict=True)}
        changed = self._record(call_id, kind, did, now_us)
        sets = "".join(f"{name}=?, " for name in new)
        self._change(f"UPDATE ledger SET {sets}changed=? WHERE id=?", (*new.values(), changed, call_id))
        self._rise(changed)

    def note(self, kind: str, did: Mapping[str, Any], *, now_us: int) -> None:
        """A record about the ledger as a whole, inside a transaction of the caller; the newest row carries it."""
        (newest,) = self._connection.execute("SELECT max(id) FROM ledger").fetchone()
        changed = self._record(newest, kind, did, now_us)
        if newest is not None:
            self._change("UPDATE ledger SET changed=? WHERE id=?", (changed, newest))
            self._rise(changed)

    def _record(self, call_id: int | None, kind: str, did: Mapping[str, Any], now_us: int) -> int:
        head = self.newest()
        text = json.dumps(did, ensure_ascii=False, separators=(",", ":"), default=bytes.hex)
        seal = head.next(kind, call_id, (text,), now_us)
        values = (seal.number, seal.changed, call_id, kind, text, seal.previous, seal.link)
        amended = self._change(_AMENDMENT, values).lastrowid
        self._head = head.after(seal, top=head.top)._replace(amended=amended)
        return seal.changed

    def _change(self, statement: str, values: Sequence[Any]) -> sqlite3.Cursor:
        """A statement that changes a row which is there, or adds one."""
        done = self._connection.execute(statement, values)
        if not done.rowcount:
            raise kept_out()
        return done

    @property
    def _kept(self) -> Kept:
        if self._columns is None:
            filled = filled_columns(self._connection)
            self._inserts = (
                _Inserts(_insert_into(_ISSUED, filled), _insert_into(_SETTLED, filled)) if filled else _PLAIN
            )
            self._columns = Kept(self._connection)
        return self._columns

    def _rise(self, changed: int) -> None:
        self._head = self.head()._replace(top=changed)

    def _catch_up(self) -> bool:
        """See what others wrote meanwhile. True when there was nothing."""
        known = self._head
        found = read_head(self._connection)
        if known is not None and found[3:] == known[3:]:
            return True
        if known is not None and found.number < known.number:
            # Records that we know of are gone. Going on behind them, not behind what is left, keeps the gap visible.
            found = known._replace(last_id=max(known.last_id, found.last_id), top=found.top, amended=found.amended)
        self._head = found
        return False


def read_head(connection: sqlite3.Connection) -> Head:
    """The last record of a ledger's chain, looked up. Raises sqlite3.Error."""
    question = "SELECT changed, issue_seal, settle_seal FROM ledger ORDER BY changed DESC LIMIT ?"
    rows = connection.execute(question, (1,)).fetchall()
    top = rows[0][0] if rows else None
    records = _records(rows)
    if rows and (top == LARGEST or not records):
        records = _records(connection.execute(question, (LOOK_BACK,)).fetchall())
    records += connection.execute(_LAST_AMENDMENT).fetchall()
    # What stood there at the start of a turn and is gone: going on behind it keeps the gap visible.
    records += connection.execute(_KEPT_HEAD).fetchall()
    number, changed, link = max(records, default=(0, 0, FIRST))
    (newest,) = connection.execute("SELECT max(id) FROM ledger").fetchone()
    used = connection.execute("SELECT seq FROM sqlite_sequence WHERE name='ledger' COLLATE NOCASE").fetchone()
    (amended,) = connection.execute("SELECT max(id) FROM amendment").fetchone()
    last_id = max(newest or 0, used[0] if used and isinstance(used[0], int) else 0)
    return Head(number, max(changed, top) if isinstance(top, int) else changed, link, last_id, top, amended)


def _records(rows: list[Any]) -> list[tuple[int, int, bytes]]:
    """Number, change counter and link of what the seals of these rows hold."""
    seals = (seal for row in rows for seal in map(unpack, row[1:]) if seal is not None)
    return [(seal.number, seal.changed, seal.link) for seal in seals if seal.number <= _LAST_NUMBER]


def _overtaken() -> sqlite3.OperationalError:
    return sqlite3.OperationalError("other processes write between any two statements")


def kept_out() -> sqlite3.IntegrityError:
    """A trigger can leave out a change without an error: it must not count as done."""
    error = sqlite3.IntegrityError("a trigger of other software leaves changes out")
    error.sqlite_errorcode = sqlite3.SQLITE_CONSTRAINT_TRIGGER
    return error
