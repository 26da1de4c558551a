"""The tables of `ledger.db`: made when missing, widened when older, never rewritten."""

from __future__ import annotations

import contextlib
import re
import sqlite3

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
    """Are all there? Without some of them no call could be recorded any more, by whomever they were dropped."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
    return {row[0] for row in found} >= TABLE_NAMES


def _widen(connection: sqlite3.Connection) -> None:
    found = connection.execute("SELECT type FROM sqlite_master WHERE name='ledger'").fetchone()
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
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name='ledger'").fetchone()
    return "without rowid" not in " ".join(str(sql).lower().split())
