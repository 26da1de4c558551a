"""Ledgers by other software, by older and by newer plugins: adopted by adding, refused where that is impossible."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine import schema
from agent_ledger.engine.chain.check import check_chain

from .homes import Home, until


def foreign(path: Path, create: str, *statements: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        db.execute(create)
        for statement in statements:
            db.execute(statement)
    db.close()


FIVE = "CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)"
ROW = "INSERT INTO ledger VALUES(1, 1780142400.5, 'terminal', 'PENDING', '{\"command\": \"make\"}')"


def test_a_ledger_of_five_columns_is_adopted_and_its_rows_stay_as_they_are(home: Home) -> None:
    foreign(home.paths.ledger, FIVE, ROW)
    home.pre()
    home.post()
    old, new = home.rows()
    assert (old["ts"], old["tool_name"], old["status"], old["args_json"]) == (
        1780142400.5, "terminal", "PENDING", '{"command": "make"}'
    )  # fmt: skip
    assert old["session_id"] is None
    assert old["changed"] is None
    assert new["status"] == "CONFIRMED"
    home.clock.advance(5000)
    assert home.turn() == ""
    assert home.rows()[0]["status"] == "PENDING"


def test_adopting_twice_changes_nothing(tmp_path: Path) -> None:
    foreign(tmp_path / "x.db", FIVE, ROW)
    with sqlite3.connect(tmp_path / "x.db", isolation_level=None) as db:
        schema.prepare(db)
        first = db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
        schema.prepare(db)
        assert db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall() == first
        assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    db.close()


def test_columns_in_other_letters_are_the_same_columns(tmp_path: Path) -> None:
    foreign(tmp_path / "x.db", "CREATE TABLE ledger(ID INTEGER PRIMARY KEY, Ts TEXT, Tool_Name TEXT, STATUS TEXT)")
    with sqlite3.connect(tmp_path / "x.db", isolation_level=None) as db:
        schema.prepare(db)
        assert schema.columns_of(db) == schema.COLUMNS.keys()
    db.close()


def test_a_ledger_in_other_letters_is_the_same_ledger(home: Home) -> None:
    create = FIVE.replace("ledger", "LEDGER").replace(" KEY", " KEY AUTOINCREMENT")
    foreign(home.paths.ledger, create, ROW, "CREATE TABLE Amendment(id INTEGER PRIMARY KEY)")
    home.pre()
    home.post()
    assert home.statuses() == ["PENDING", "CONFIRMED"]
    with closing(sqlite3.connect(home.paths.ledger, isolation_level=None)) as db:
        found = check_chain(db)
        assert (found.state, found.uncovered, found.records) == ("whole", 1, 2)
        db.execute("DELETE FROM ledger WHERE id=2")
        assert check_chain(db).state == "broken"


@pytest.mark.parametrize(
    ("create", "reason"),
    [
        ("CREATE VIEW ledger AS SELECT 1 AS id", "view"),
        ("CREATE TABLE ledger(id INTEGER PRIMARY KEY, name TEXT)", "lacks"),
        ("CREATE TABLE ledger(id INTEGER PRIMARY KEY, tool_name TEXT, status TEXT, owner TEXT NOT NULL)", "owner"),
        ("CREATE TABLE ledger(id TEXT PRIMARY KEY, tool_name TEXT, status TEXT)", "ledger.id"),
        ("CREATE TABLE ledger(id INTEGER, tool_name TEXT, status TEXT)", "ledger.id"),
        ("CREATE TABLE ledger(id INTEGER PRIMARY KEY, tool_name TEXT, status TEXT) WITHOUT  ROWID", "ledger.id"),
        ("CREATE TABLE ledger(id INTEGER, tool_name TEXT, status TEXT, PRIMARY KEY(id, tool_name))", "ledger.id"),
        (
            "CREATE TABLE ledger(id INTEGER PRIMARY KEY, tool_name TEXT, status TEXT, Workplace TEXT AS (tool_name),"
            " effect TEXT AS (status) STORED, more TEXT AS (status))",
            "computes .*: effect, workplace",
        ),
        (
            "CREATE TABLE ledger(id INTEGER PRIMARY KEY, tool_name TEXT UNIQUE On  Conflict REPLACE, status TEXT)",
            "REPLACE",
        ),
    ],
)
def test_what_cannot_be_widened_is_refused_untouched(tmp_path: Path, create: str, reason: str) -> None:
    foreign(tmp_path / "x.db", create)
    with sqlite3.connect(tmp_path / "x.db", isolation_level=None) as db:
        before = db.execute("SELECT name, sql FROM sqlite_master").fetchall()
        with pytest.raises(schema.ForeignSchemaError, match=reason):
            schema.prepare(db)
        assert not db.in_transaction
        assert db.execute("SELECT name, sql FROM sqlite_master").fetchall() == before
    db.close()


def test_a_ledger_that_became_a_view_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as db:
        schema.prepare(db)
        db.execute("ALTER TABLE ledger RENAME TO kept")
        db.execute("CREATE VIEW ledger AS SELECT * FROM kept")
        with pytest.raises(schema.ForeignSchemaError, match="view"):
            schema.prepare(db)


TABLES = (
    "writer", "spool_merged", "compaction", "amendment", "chain_head", "rotation", "notice", "notice_item", "no_signal",
    "policy_decision", "prompt_decision", "verdict",
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_dropped_keeps_nobody_from_recording(home: Home, table: str) -> None:
    home.pre(call="c1")
    home.pre(call="c2")
    home.post(call="c1")
    assert home.statuses() == ["CONFIRMED", "PENDING"]
    home.recorder.keeper.close()
    with closing(sqlite3.connect(home.paths.ledger, timeout=5)) as db, db:
        db.execute(f"DROP TABLE {table}")
    home.restart()
    home.turn()
    home.post(call="c2")
    home.pre(call="c3")
    assert home.statuses() == ["CONFIRMED", "CONFIRMED", "PENDING"]
    with closing(sqlite3.connect(home.paths.ledger)) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    assert names == {"ledger", "sqlite_sequence", *TABLES}


KEYS = {
    "spool_merged": "Name TEXT PRIMARY KEY",
    "compaction": "session_id TEXT, marker TEXT, PRIMARY KEY(session_id, marker)",
    "rotation": "session_id TEXT PRIMARY KEY",
    "notice_item": "ledger_id INTEGER, kind TEXT, notice_id INTEGER, PRIMARY KEY(ledger_id, kind, notice_id)",
    "no_signal": "tool_name TEXT PRIMARY KEY",
    "verdict": "ledger_id INTEGER PRIMARY KEY",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_that_name_gets_the_columns_that_it_lacks(home: Home, table: str) -> None:
    """Other software made it, or a plugin from before it had them all."""
    key = KEYS.get(table, "id INTEGER PRIMARY KEY")
    foreign(home.paths.ledger, f"CREATE TABLE {table.upper()}(text TEXT, {key})")
    home.pre()
    home.pre(call="c2")
    home.post(status="timeout")
    home.post()
    home.clock.advance(200)
    assert "#2 write_file" in home.turn()
    assert [(row["status"], row["later_status"]) for row in home.rows()] == [
        ("ERROR:timeout", "CONFIRMED"), ("GHOST_REPORTED", None),
    ]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("columns", ["text TEXT", "text TEXT PRIMARY KEY", "ID TEXT, marker TEXT PRIMARY KEY"])
def test_a_table_of_that_name_with_another_key_is_refused(tmp_path: Path, table: str, columns: str) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as db:
        db.execute(f"CREATE TABLE {table}({columns})")
        with pytest.raises(schema.ForeignSchemaError, match=f"`{table}` is a table of other software"):
            schema.prepare(db)
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE sql IS NOT NULL").fetchone() == (1,)


def test_a_view_of_that_name_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as db:
        db.execute("CREATE VIEW Notice AS SELECT 1 AS id")
        with pytest.raises(schema.ForeignSchemaError, match="`notice` is a view"):
            schema.prepare(db)
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("Notice",)]


def test_beside_a_ledger_that_is_refused_the_calls_wait(home: Home) -> None:
    foreign(home.paths.ledger, "CREATE TABLE ledger(id TEXT PRIMARY KEY, tool_name TEXT, status TEXT)")
    home.pre()
    home.post()
    until(lambda: "ledger.id" in home.recorder.keeper.trouble, "the reason is known")
    home.paths.ledger.unlink()
    assert home.statuses() == ["CONFIRMED"]


def test_a_default_excuses_a_foreign_column(home: Home) -> None:
    foreign(
        home.paths.ledger,
        "CREATE TABLE ledger(id INTEGER PRIMARY KEY, tool_name TEXT, status TEXT, owner TEXT NOT NULL DEFAULT 'me')",
    )
    home.pre()
    row = home.only()
    assert (row["owner"], row["status"]) == ("me", "PENDING")


def test_a_newer_plugin_s_ledger_keeps_its_version_and_its_columns(home: Home) -> None:
    home.pre(call="old")
    home.merged()
    home.recorder.keeper.close()
    with sqlite3.connect(home.paths.ledger) as db:
        db.execute("ALTER TABLE ledger ADD COLUMN chain TEXT")
        db.execute("PRAGMA user_version=7")
    db.close()
    home.restart()
    home.pre(call="new")
    assert [row["tool_call_id"] for row in home.rows()] == ["old", "new"]
    with sqlite3.connect(home.paths.ledger) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (7,)
        assert "chain" in schema.columns_of(db)
    db.close()


def test_what_a_person_types_works_while_the_plugin_writes(home: Home) -> None:
    for n in range(30):
        home.pre(args={"path": f"/{n}"}, call=f"c{n}")
    home.merged()
    with sqlite3.connect(home.paths.ledger) as db:
        rows = db.execute(
            "SELECT ts, tool_name, status, substr(args_json,1,60) FROM ledger ORDER BY id DESC LIMIT 20;"
        ).fetchall()
        assert len(rows) == 20
        assert rows[0][1:] == ("write_file", "PENDING", '{"path": "/29"}')
        db.execute("DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT 10)")
    db.close()
    for n in range(30):
        home.post(args={"path": f"/{n}"}, call=f"c{n}")
    rows_left = {row["tool_call_id"]: row["status"] for row in home.rows("closed_by='post'")}
    assert rows_left == {f"c{n}": "CONFIRMED" for n in range(20, 30)}
