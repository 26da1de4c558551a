"""Check of what other software put on the ledger's tables: does a trigger or an index refuse what the plugin writes?

The tables are made again in memory, without their rows, and calls are recorded there, once for each of those things.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.call_rows import CallRows
from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.seal import ISSUE_COLUMNS
from agent_ledger.engine.outcome import Outcome
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.output import amount
from ledger_tui.sources.snapshot import Reading

_STEPS = 5_000_000
"""Of SQLite's machine, for one trial: well below a second. A trigger may do anything, at any length."""

_CHANGES = "it changes what is written, which the chain takes for edited"

_MOST = 20
"""Things that are tried."""

_TS, _NOW_US = "2026-01-02T12:00:00.000Z", 1_767_355_200_000_000
_DONE = Outcome("CONFIRMED", "done", 0, 5, "3 bytes written")
_LATER = Outcome("ERROR:timeout", "unknown", None, 9, "later")
_CALL: dict[str, Any] = {
    "ts": _TS, "session_id": "s1", "turn_id": "t1", "tool_call_id": "c1", "task_id": "s1", "request_id": "r1",
    "tool_name": "write_file", "args_json": "{}", "args_cut": 0, "args_redacted": 0, "args_hash": bytes(16),
    "status": "PENDING", "grace_s": 120.0, "mono": 0.5, "writer_id": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Thing:
    kind: str
    """`trigger` or `index`."""
    name: str
    table: str
    sql: str

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}` on `{self.table}`"


def tables_of(connection: sqlite3.Connection) -> list[str]:
    """The statements that made the tables and views of a ledger."""
    made = connection.execute("SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL")
    return [str(sql) for (sql,) in made.fetchall()]


@contextmanager
def copy_of(statements: Iterable[str]) -> Iterator[sqlite3.Connection]:
    """An empty database in memory in which these were made, as far as they could be."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        copy.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # Whatever stands there, no other file is touched.
        for sql in statements:
            with suppress(sqlite3.Error):  # SQLite's own tables, and what needs an extension.
                copy.execute(sql)
        yield copy


def things(reading: Reading) -> Check:
    """Triggers and indexes that are none of ours, and the tables themselves where other software made them."""
    if not reading.shape.columns:
        return Check("foreign", OK, "The ledger is empty as yet.")
    if reading.shape.version > schema.VERSION:
        return Check("foreign", OK, "A newer plugin made this ledger: what is its own and what is not, it knows.")
    tables, others = tables_of(reading.connection), _others(reading.connection)
    itself, _ = _tried(tables, None)
    if itself:
        text = f"The tables, which other software made, refuse what the plugin writes ({itself})"
        text = f"{text}; records wait in the spool."
        if itself == _CHANGES:
            text = (
                "The tables, which other software made, fill in cells of new calls, which the chain takes for edited."
            )
        remedy = (
            f"Stop the host and move {reading.path} away with its -wal and -shm: a new ledger then takes the spool in."
        )
        return Check("foreign", FAIL, text, remedy)
    if not others:
        return Check("foreign", OK, "No trigger or index of other software stands on the ledger's tables.")
    tried = [(one, *_tried(tables, one)) for one in others[:_MOST]]
    refusing = [(one, trouble) for one, trouble, _ in tried if trouble]
    if refusing:
        return _refusing(reading, refusing)
    keeping = next((one for one, _, keeps in tried if keeps), None)
    if keeping is not None:
        text = f"The {keeping} by other software lets nothing be taken out, so `prune` cannot make room."
        return Check("foreign", WARN, text, f"{_FIND_OUT}{_drop(reading, keeping)}")
    more = f" and {amount(len(others) - 1, 'other thing')}" if len(others) > 1 else ""
    return Check("foreign", OK, f"The {others[0]}{more} by other software let calls be recorded, in a trial.")


_FIND_OUT = "Find out what it is for. While no host runs, this takes it away: "


def _refusing(reading: Reading, found: list[tuple[_Thing, str]]) -> Check:
    one, trouble = found[0]
    others = f"; so does {amount(len(found) - 1, 'other', 'others')}" if len(found) > 1 else ""
    return Check(
        "foreign",
        FAIL,
        f"The {one} by other software is in the way of what the plugin writes ({trouble}){others}.",
        f"{_FIND_OUT}{_drop(reading, one)}; what waits in the spool is merged then.",
    )


def _drop(reading: Reading, one: _Thing) -> str:
    name = one.name.replace('"', '""')
    statement = f'DROP {one.kind.upper()} "{name}"'
    return f"sqlite3 {shlex.quote(str(reading.path))} {shlex.quote(statement)}"


def _others(connection: sqlite3.Connection) -> list[_Thing]:
    rows = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('trigger', 'index') AND sql IS NOT NULL"
        " ORDER BY type DESC, name"
    ).fetchall()
    found = (_Thing(*map(str, row)) for row in rows)
    return [
        one
        for one in found
        if one.table.lower() in schema.TABLE_NAMES and not (one.kind == "index" and one.name in schema.INDEX_NAMES)
    ]


# -- the trial ---------------------------------------------------------------------------------------------------------


def _tried(tables: list[str], thing: _Thing | None) -> tuple[str, bool]:
    """(what goes wrong with calls that are recorded there, whether it keeps them from being taken out again).

    Nothing is said where it cannot be tried.
    """
    with copy_of(tables) as copy:
        try:
            schema.prepare(copy)
        except sqlite3.Error:
            return "", False  # `schema` tells of that, or the copy lacks something.
        try:
            if thing is not None:
                copy.execute(thing.sql)
            left = iter(range(_STEPS // 1_000))
            copy.set_progress_handler(lambda: next(left, None) is None, 1_000)
            _record(copy)
            with copy_of(()) as ours:
                schema.prepare(ours)
                _write_beside(copy, ours)
            whole = check_chain(copy).whole
        except sqlite3.Error as error:
            endless = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
            return "it does not come to an end" if endless else str(error), False
        return ("" if whole else _CHANGES), _keeps(copy)


def _record(copy: sqlite3.Connection) -> None:
    """What hooks do with calls, each of them twice: two calls may be alike in all but their numbers."""
    rows = CallRows(copy)
    row = [_CALL.get(name) for name in ISSUE_COLUMNS]
    settled = (_DONE.status, _DONE.effect, _DONE.digest, _TS, _DONE.duration_ms, _DONE.exit_code, "no-pre")
    for now_us in (_NOW_US, _NOW_US + 100):
        call_id = rows.insert(row, now_us=now_us)
        rows.seen_again(call_id, now_us=now_us)
        rows.report([call_id], ts=_TS, now_us=now_us)
        rows.settle(call_id, "c1", _DONE, by="post", ts=_TS, now_us=now_us)
        rows.contradict(call_id, _LATER, ts=_TS, now_us=now_us)
        rows.insert_settled(row, settled, now_us=now_us)
    rows.keep_head(_TS)


def _write_beside(copy: sqlite3.Connection, ours: sqlite3.Connection) -> None:
    """A row in each of the other tables, with the columns that they have in our own ledgers, and a change of it."""
    for table in sorted(schema.TABLE_NAMES - {"ledger", "amendment", "chain_head"}):
        columns = ours.execute(f"PRAGMA table_info({table})").fetchall()
        names = ", ".join(row[1] for row in columns)
        values = [_SOME.get(str(row[2]).upper(), "x") for row in columns]
        for statement, given in (
            (f"INSERT INTO {table}({names}) VALUES({','.join('?' * len(values))})", values),
            (f"UPDATE {table} SET {columns[-1][1]}=?", values[-1:]),
        ):
            if not copy.execute(statement, given).rowcount:
                raise sqlite3.OperationalError(f"what is written to `{table}` does not arrive")


_SOME: dict[str, Any] = {"INTEGER": 1, "REAL": 1.0, "BLOB": bytes(32)}


def _keeps(copy: sqlite3.Connection) -> bool:
    """Can calls not be taken out?"""
    try:
        for table in ("verdict", "amendment", "ledger"):
            if not copy.execute(f"DELETE FROM {table}").rowcount:
                return True
    except sqlite3.Error:
        return True
    return False
