"""The tables of `ledger.db`: made when missing, widened when older, never rewritten."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from functools import cache

VERSION = 4
"""`PRAGMA user_version`. Raised when a table or a column is added; nothing is ever dropped."""

COLUMNS: dict[str, str] = {
    "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "ts": "TEXT NOT NULL",
    "session_id": "TEXT",
    "turn_id": "TEXT",
    "tool_call_id": "TEXT",
    "task_id": "TEXT",
    "request_id": "TEXT",
    "tool_name": "TEXT NOT NULL",
    "args_json": "TEXT",
    "args_cut": "INTEGER",
    "args_redacted": "INTEGER",
    "args_hash": "BLOB",
    "value_hashes": "TEXT",
    "status": "TEXT NOT NULL",
    "effect": "TEXT",
    "grace_s": "REAL",
    "mono": "REAL",
    "writer_id": "INTEGER",
    "nested_in": "INTEGER",
    "repeat_of": "INTEGER",
    "seen": "INTEGER",
    "settled_ts": "TEXT",
    "duration_ms": "INTEGER",
    "exit_code": "INTEGER",
    "closed_by": "TEXT",
    "result_digest": "TEXT",
    "later_status": "TEXT",
    "later_ts": "TEXT",
    "later_digest": "TEXT",
    "reported_ts": "TEXT",
    "no_signal": "INTEGER",
    "changed": "INTEGER",
    "workplace": "TEXT",
    "issue_seal": "BLOB",
    "settle_seal": "BLOB",
}
"""Columns of `ledger` in order. All but five may be NULL, so that a row by other software stays readable."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS ledger(" + ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()) + ")",
    # One row per process that ever wrote: who could still settle a pending call, and on which SQLite build.
    """CREATE TABLE IF NOT EXISTS writer(
        id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, started TEXT NOT NULL, boot_id TEXT NOT NULL,
        pid_namespace TEXT NOT NULL, machine TEXT NOT NULL, opened_ts TEXT NOT NULL, plugin_version TEXT,
        host_version TEXT, python_version TEXT, sqlite_version TEXT, journal_mode TEXT)""",
    # How far each spool file has been merged; written in the transaction that merges, so a record counts once.
    """CREATE TABLE IF NOT EXISTS spool_merged(
        name TEXT PRIMARY KEY, size INTEGER NOT NULL, writer_id INTEGER, merged_ts TEXT NOT NULL)""",
    # When a conversation was seen to have been compacted; `marker` tells one compaction from the next.
    """CREATE TABLE IF NOT EXISTS compaction(
        session_id TEXT NOT NULL, marker TEXT NOT NULL, seen_ts TEXT NOT NULL, PRIMARY KEY(session_id, marker))""",
    # Changes of rows beside their settlement, as records of the hash chain; `did`: JSON of column to [was, is].
    """CREATE TABLE IF NOT EXISTS amendment(
        id INTEGER PRIMARY KEY, number INTEGER NOT NULL, changed INTEGER NOT NULL, ledger_id INTEGER,
        kind TEXT NOT NULL, did TEXT NOT NULL, previous BLOB NOT NULL, link BLOB NOT NULL)""",
    # The last record of the chain at the start of a turn: what was written up to there must still be there.
    """CREATE TABLE IF NOT EXISTS chain_head(
        id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL, changed INTEGER NOT NULL, link BLOB NOT NULL,
        seen_ts TEXT NOT NULL)""",
    # Which id a conversation had before compaction gave it this one.
    "CREATE TABLE IF NOT EXISTS rotation(session_id TEXT PRIMARY KEY, before TEXT NOT NULL) WITHOUT ROWID",
    # What the agent was told, in which turn, and whether that turn is known to have reached the model.
    """CREATE TABLE IF NOT EXISTS notice(
        id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, turn_id TEXT NOT NULL, ts TEXT NOT NULL,
        writer_id INTEGER, merged INTEGER, delivered INTEGER)""",
    """CREATE TABLE IF NOT EXISTS notice_item(
        notice_id INTEGER NOT NULL, ledger_id INTEGER NOT NULL, kind TEXT NOT NULL, amount INTEGER,
        PRIMARY KEY(ledger_id, kind, notice_id)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS notice_session ON notice(session_id, id)",
    # Tools that this host never confirmed, learnt from at least five calls of one process.
    "CREATE TABLE IF NOT EXISTS no_signal(tool_name TEXT PRIMARY KEY, learnt_ts TEXT NOT NULL)",
    # What the tool policy refused, or would have; `call_ids` names further calls that belong to it.
    """CREATE TABLE IF NOT EXISTS policy_decision(
        id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, ledger_id INTEGER, session_id TEXT, turn_id TEXT,
        tool_call_id TEXT, tool_name TEXT NOT NULL, rule TEXT NOT NULL, severity TEXT NOT NULL, reason TEXT NOT NULL,
        mode TEXT NOT NULL, call_ids TEXT)""",
    # Which rule of the prompt policy refused a turn, or would have. Never a word of the message.
    """CREATE TABLE IF NOT EXISTS prompt_decision(
        id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, session_id TEXT, turn_id TEXT, rule TEXT NOT NULL,
        mode TEXT NOT NULL, outcome TEXT NOT NULL)""",
    # Did the call land? The newest answer, beside the status, which it never changes. Evidence: a JSON list of text.
    """CREATE TABLE IF NOT EXISTS verdict(
        ledger_id INTEGER PRIMARY KEY, verdict TEXT NOT NULL, evidence TEXT NOT NULL, checked_ts TEXT NOT NULL)""",
)

_NEEDED = frozenset(
    f"{table}.{column}"
    for statement in _TABLES
    for table in re.findall(r"TABLE IF NOT EXISTS (\w+)", statement)
    for column in re.findall(r"(\w+) \w+ NOT NULL", statement)
)
"""Columns that may not be empty in our own tables."""

TABLE_NAMES = frozenset(re.findall(r"TABLE IF NOT EXISTS (\w+)", " ".join(_TABLES)))

_INDEXES = (
    # One session's rows in order, for its pane and for late settlements.
    "CREATE INDEX IF NOT EXISTS ledger_session ON ledger(session_id)",
    # Pairing, reconciling and counting cost what is unconfirmed, not what was ever recorded.
    "CREATE INDEX IF NOT EXISTS ledger_unconfirmed ON ledger(status) WHERE status <> 'CONFIRMED'",
    # "What changed since N" is one range; it also serves as an index by time, since `changed` >= `ts`.
    "CREATE INDEX IF NOT EXISTS ledger_changed ON ledger(changed)",
    # Few rows stand in these.
    "CREATE INDEX IF NOT EXISTS ledger_repeat ON ledger(repeat_of) WHERE repeat_of IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS amendment_call ON amendment(ledger_id)",
    "CREATE INDEX IF NOT EXISTS ledger_reported ON ledger(reported_ts) WHERE reported_ts IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS ledger_later ON ledger(later_ts) WHERE later_ts IS NOT NULL",
)

INDEX_NAMES = frozenset(re.findall(r"INDEX IF NOT EXISTS (\w+)", " ".join((*_TABLES, *_INDEXES))))


class ForeignSchemaError(sqlite3.DatabaseError):
    """The file has a `ledger` that this plugin cannot write to without changing what is there."""


def is_of_others(error: Exception) -> bool:
    """Did something refuse a row that our own tables would take? Once it is taken out, the row fits.

    All that ours refuse is an empty cell where there must be none.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF != sqlite3.SQLITE_CONSTRAINT:
        return False
    refused = str(error).rpartition(" ")[2].lower()
    return not (code == sqlite3.SQLITE_CONSTRAINT_NOTNULL and refused in _NEEDED)


def columns_of(connection: sqlite3.Connection) -> frozenset[str]:
    """Names of the columns that `ledger` has in this file; empty when there is no such table."""
    return frozenset(row[1].lower() for row in connection.execute("PRAGMA table_info(ledger)"))


def prepare(connection: sqlite3.Connection) -> None:
    """Make or widen the tables in one transaction. Rows that are there stay as they are.

    Raises ForeignSchemaError where `ledger` is no table or demands columns that are not ours, sqlite3.Error else.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version >= VERSION and columns_of(connection) >= COLUMNS.keys() and _has_tables(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _widen(connection)
        _widen_beside(connection)
        for statement in (*_TABLES, *_INDEXES):
            connection.execute(statement)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < VERSION:
            connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _has_tables(connection: sqlite3.Connection) -> bool:
    """Are all there, with their columns? Without some of them no call could be recorded any more, whoever dropped them
    or has a table of that name."""
    found = connection.execute("SELECT lower(name) FROM sqlite_master WHERE type='table'")
    return {row[0] for row in found} >= TABLE_NAMES and not any(
        ours.keys() - _shape(connection, table).keys() for table, ours in _beside().items()
    )


_Shape = dict[str, tuple[str, int]]
"""Of each column its kind, and its place in the primary key: 0 for none."""


@cache
def _beside() -> dict[str, _Shape]:
    """The tables beside the calls as ours are."""
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        for statement in _TABLES:
            ours.execute(statement)
        return {table: _shape(ours, table) for table in sorted(TABLE_NAMES - {"ledger"})}


def _shape(connection: sqlite3.Connection, table: str) -> _Shape:
    rows = connection.execute(f"PRAGMA table_info({table})")
    return {str(row[1]).lower(): (str(row[2]), int(row[5])) for row in rows}


def _widen_beside(connection: sqlite3.Connection) -> None:
    for table, ours in _beside().items():
        found = connection.execute("SELECT type FROM sqlite_master WHERE name=? COLLATE NOCASE", (table,)).fetchone()
        if found is None:
            continue
        there = _shape(connection, table)
        if found[0] != "table":
            raise ForeignSchemaError(f"`{table}` is a {found[0]}, not a table")
        if {name: key for name, (_, key) in there.items() if key} != {
            name: key for name, (_, key) in ours.items() if key
        }:
            raise ForeignSchemaError(f"`{table}` is a table of other software, with another primary key")
        for name, (kind, _) in ours.items():
            if name not in there:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _widen(connection: sqlite3.Connection) -> None:
    found = connection.execute("SELECT type FROM sqlite_master WHERE name='ledger' COLLATE NOCASE").fetchone()
    if found is None:
        return
    if found[0] != "table":
        raise ForeignSchemaError(f"`ledger` is a {found[0]}, not a table")
    rows = connection.execute("PRAGMA table_info(ledger)").fetchall()
    names = {str(row[1]).lower() for row in rows}
    if not {"id", "tool_name", "status"} <= names:
        raise ForeignSchemaError("`ledger` lacks one of the columns id, tool_name, status")
    if not _numbers_its_rows(connection, rows):
        raise ForeignSchemaError("`ledger.id` is not the number that SQLite gives each row by itself")
    computed = sorted(_computed(connection) & COLUMNS.keys())
    if computed:
        raise ForeignSchemaError(f"`ledger` computes columns that are to be written: {', '.join(computed)}")
    if "on conflict replace" in _made_by(connection):
        raise ForeignSchemaError("`ledger` replaces by itself what stands there or is written (ON CONFLICT REPLACE)")
    must = (row for row in rows if row[3] and row[4] is None and not row[5])
    demanded = sorted(row[1] for row in must if row[1].lower() not in COLUMNS)
    if demanded:
        raise ForeignSchemaError(f"`ledger` demands columns of other software: {', '.join(demanded)}")
    for name, kind in COLUMNS.items():
        if name not in names:
            connection.execute(f"ALTER TABLE ledger ADD COLUMN {name} {kind.split()[0]}")


def _numbers_its_rows(connection: sqlite3.Connection, rows: list[tuple[object, ...]]) -> bool:
    """Is `id` another name of the row number, so that an insert without it gets one?"""
    keys = [row for row in rows if row[5]]
    if len(keys) != 1 or str(keys[0][1]).lower() != "id" or str(keys[0][2]).upper() != "INTEGER":
        return False
    return "without rowid" not in _made_by(connection)


def _computed(connection: sqlite3.Connection) -> set[str]:
    """Columns whose value the table itself works out of others: `table_info` does not name them."""
    return {str(row[1]).lower() for row in connection.execute("PRAGMA table_xinfo(ledger)") if row[6] in (2, 3)}


def _made_by(connection: sqlite3.Connection) -> str:
    """The statement that made `ledger`, in small letters and with single spaces."""
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name='ledger' COLLATE NOCASE").fetchone()
    return " ".join(str(sql).lower().split())
