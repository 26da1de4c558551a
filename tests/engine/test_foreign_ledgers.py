"""Ledgers that other software began, or put something of its own into: nothing is lost, calls age as they should."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from .homes import Home, until

OTHERS = {
    "a trigger refuses new rows": "CREATE TRIGGER odd BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'full'); END",
    "it ends the transaction": "CREATE TRIGGER odd BEFORE INSERT ON ledger BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
    "it drops new rows": "CREATE TRIGGER odd BEFORE INSERT ON ledger BEGIN SELECT RAISE(IGNORE); END",
    "it refuses changes": "CREATE TRIGGER odd BEFORE UPDATE ON ledger BEGIN SELECT RAISE(FAIL, 'append only'); END",
    "it drops changes": "CREATE TRIGGER odd BEFORE UPDATE ON ledger BEGIN SELECT RAISE(IGNORE); END",
    "it needs what is gone": "CREATE TRIGGER odd AFTER INSERT ON ledger BEGIN INSERT INTO log VALUES(NEW.id); END",
    "it does not come to an end": "CREATE TRIGGER odd AFTER INSERT ON ledger BEGIN SELECT count(*) FROM (WITH RECURSIVE"
    " r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r); END",
    "it refuses amendments": "CREATE TRIGGER odd BEFORE INSERT ON amendment BEGIN SELECT RAISE(ABORT, 'no'); END",
    "it drops amendments": "CREATE TRIGGER odd BEFORE INSERT ON amendment BEGIN SELECT RAISE(IGNORE); END",
    "an index allows one call a tool": "CREATE UNIQUE INDEX odd ON ledger(tool_name)",
}


@contextmanager
def shell(home: Home) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(home.paths.ledger, isolation_level=None, timeout=5)) as connection:
        yield connection


@pytest.mark.parametrize("what", OTHERS)
def test_what_the_ledger_refuses_waits_until_it_does_not(home: Home, what: str) -> None:
    home.pre(call="before")
    home.merged()
    with shell(home) as connection:
        connection.execute(OTHERS[what])
    keeper = home.recorder.keeper
    home.pre(call="c1")
    home.post(call="c1")
    home.post(call="c1", status="timeout")
    home.post(call="before")
    until(lambda: keeper._spool.active and keeper.trouble != "", "it waits")
    assert home.turn(at_once=True) == ""
    with shell(home) as connection:
        connection.execute(f"DROP {'INDEX' if 'UNIQUE' in OTHERS[what] else 'TRIGGER'} odd")
    rows = home.rows()
    assert [(row["tool_call_id"], row["status"], row["later_status"]) for row in rows] == [
        ("before", "CONFIRMED", None), ("c1", "CONFIRMED", "ERROR:timeout"),
    ]  # fmt: skip
    assert not home.paths.spool.joinpath("unreadable.txt").exists()


REFUSING_TABLES = {
    "an empty cell": ("repeat_of INTEGER NOT NULL DEFAULT 0", "", []),
    "and all that was written with it": ("repeat_of INTEGER NOT NULL ON CONFLICT ROLLBACK DEFAULT 0", "", []),
    "an empty result": ("result_digest TEXT NOT NULL DEFAULT ''", "", ["c1"]),
    "a cell of another kind": ("effect INTEGER, session_id TEXT", " STRICT", ["c1"]),
}
"""Columns of a ledger, how it ends, and what it takes of one call and then another."""


@pytest.mark.parametrize("what", REFUSING_TABLES)
def test_what_a_table_refuses_waits_and_goes_into_the_next_one_once(home: Home, what: str) -> None:
    columns, strict, taken = REFUSING_TABLES[what]
    home.paths.data.mkdir(parents=True, mode=0o700)
    with shell(home) as connection:
        connection.execute(
            "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT, tool_name TEXT, status TEXT,"
            f" tool_call_id TEXT, {columns}){strict}"
        )
    keeper = home.recorder.keeper
    home.pre(call="c1")
    home.post(call="c1", result=None)
    home.pre(call="c2")
    home.post(call="c2")
    until(lambda: keeper._spool.active and keeper.trouble.startswith("IntegrityError"), "it waits")
    assert not keeper._try_round()
    assert not home.paths.spool.joinpath("unreadable.txt").exists()
    with shell(home) as connection:
        assert [row[0] for row in connection.execute("SELECT tool_call_id FROM ledger")] == taken
    for path in home.paths.data.glob("ledger.db*"):
        path.rename(path.with_name(f"old-{path.name}"))
    rows = [(row["tool_call_id"], row["status"], row["closed_by"]) for row in home.rows()]
    assert rows == [("c1", "CONFIRMED", "no-pre" if taken else "post"), ("c2", "CONFIRMED", "post")]


@pytest.mark.parametrize("table", ["writer", "spool_merged"])
@pytest.mark.parametrize("how", ["IGNORE", "ABORT, 'no'", "ROLLBACK, 'no'"])
def test_where_the_tables_beside_the_calls_take_nothing_no_call_is_doubled(home: Home, table: str, how: str) -> None:
    home.merged()
    home.recorder.keeper.close()
    with shell(home) as connection:
        connection.execute("DELETE FROM writer")
        connection.execute(f"CREATE TRIGGER odd BEFORE INSERT ON {table} BEGIN SELECT RAISE({how}); END")
        connection.execute("BEGIN IMMEDIATE")
        home.restart()
        home.pre(call="c1")
        home.post(call="c1")
        home.pre(call="c2")
        connection.execute("COMMIT")
        keeper = home.recorder.keeper
        until(lambda: keeper.trouble.startswith("IntegrityError"), "it waits")
        assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
        connection.execute("DROP TRIGGER odd")
    rows = [(row["tool_call_id"], row["status"], row["seen"]) for row in home.rows()]
    assert rows == [("c1", "CONFIRMED", None), ("c2", "PENDING", None)]


def test_a_trigger_that_only_takes_notes_is_in_nobody_s_way(home: Home) -> None:
    home.merged()
    with shell(home) as connection:
        connection.execute("CREATE TABLE log(id)")
        connection.execute("CREATE TRIGGER odd AFTER INSERT ON ledger BEGIN INSERT INTO log VALUES(NEW.id); END")
    home.pre()
    home.post()
    assert home.statuses() == ["CONFIRMED"]
    with shell(home) as connection:
        assert connection.execute("SELECT id FROM log").fetchall() == [(1,)]


@pytest.mark.parametrize("kind", ["TEXT", "INTEGER", "NUMERIC", "BLOB"])
def test_calls_age_by_their_grace_whatever_its_column_is(home: Home, kind: str) -> None:
    home.paths.data.mkdir(parents=True, mode=0o700)
    with shell(home) as connection:
        connection.execute(
            "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT, tool_name TEXT, status TEXT,"
            f" grace_s {kind}, mono {kind}, writer_id {kind})"
        )
    home.pre()
    home.pre()
    home.pre()
    assert home.turn() == ""
    home.clock.wall_offset += 3_600  # Somebody set the clock.
    assert home.turn(3) == ""
    home.clock.advance(200)
    assert "#1 write_file" in home.turn(4)
    home.post()
    (row,) = home.rows()
    assert (int(row["seen"]), row["status"]) == (3, "CONFIRMED")
