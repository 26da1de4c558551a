"""`doctor` on triggers and indexes that other software put on the ledger's tables."""

from __future__ import annotations

import shlex
import sqlite3
import sys

import pytest

from agent_ledger.engine.schema import TABLE_NAMES, VERSION

from .sound_homes import CALLS, SoundHome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lists of locks and open files are Linux'")

NAME = 'g"ua rd'


def planted(sound: SoundHome, sql: str) -> None:
    with sound.written() as connection:
        connection.execute(sql.replace("NAME", '"g""ua rd"'))


REFUSING = {
    "new rows": (
        "CREATE TRIGGER NAME BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'append here'); END",
        "append here",
    ),
    "rows dropped": (
        "CREATE TRIGGER NAME BEFORE INSERT ON ledger BEGIN SELECT RAISE(IGNORE); END",
        "leaves changes out",
    ),
    "settlements": (
        "CREATE TRIGGER NAME BEFORE UPDATE OF status ON ledger BEGIN SELECT RAISE(FAIL, 'done'); END",
        "done",
    ),
    "settlements dropped": (
        "CREATE TRIGGER NAME BEFORE UPDATE ON ledger BEGIN SELECT RAISE(IGNORE); END",
        "leaves changes",
    ),
    "a missing table": (
        "CREATE TRIGGER NAME AFTER INSERT ON ledger BEGIN INSERT INTO log VALUES(1); END",
        "no such table",
    ),
    "other words": (
        "CREATE TRIGGER NAME AFTER INSERT ON ledger BEGIN UPDATE ledger SET tool_name='x' WHERE id=NEW.id; END",
        "changes what is written",
    ),
    "no end": (
        "CREATE TRIGGER NAME AFTER INSERT ON ledger BEGIN SELECT count(*) FROM (WITH RECURSIVE r(n) AS"
        " (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r); END",
        "does not come to an end",
    ),
    "one call of an id": ("CREATE UNIQUE INDEX NAME ON ledger(session_id, turn_id, tool_call_id)", "UNIQUE constraint"),
}


@pytest.mark.parametrize("what", REFUSING)
def test_what_is_in_the_way_is_named(sound: SoundHome, what: str) -> None:
    sql, reason = REFUSING[what]
    planted(sound, sql)
    found = sound.examined()["foreign"]
    kind = "index" if "INDEX" in sql else "trigger"
    assert (found.state, f"The {kind} `{NAME}` on `ledger`" in found.text, reason in found.text) == ("fail", True, True)
    words = shlex.split(found.remedy.partition("takes it away: ")[2].partition(";")[0])
    assert words[:2] == ["sqlite3", str(sound.paths.ledger)]
    with sound.written() as connection:
        connection.execute(words[2])
    assert sound.troubles() == {}


@pytest.mark.parametrize("table", sorted(TABLE_NAMES))
@pytest.mark.parametrize("how", ["RAISE(ABORT, 'no')", "RAISE(IGNORE)"])
def test_each_of_our_tables_is_looked_at(sound: SoundHome, table: str, how: str) -> None:
    planted(sound, f"CREATE TRIGGER NAME BEFORE INSERT ON {table} BEGIN SELECT {how}; END")
    found = sound.examined()["foreign"]
    assert (found.state, f"on `{table}`" in found.text) == ("fail", True)


def test_several_things_are_counted(sound: SoundHome) -> None:
    for name in ("a", "b"):
        planted(sound, f"CREATE TRIGGER {name} BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'no'); END")
    planted(sound, "CREATE INDEX c ON ledger(tool_name)")
    assert sound.examined()["foreign"].text.endswith("(no); so does 1 other.")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE INDEX NAME ON ledger(tool_name)",
        "CREATE TRIGGER NAME AFTER INSERT ON ledger WHEN 0 BEGIN SELECT RAISE(ABORT, 'never'); END",
    ],
)
def test_what_is_in_nobody_s_way_is_named_as_well(sound: SoundHome, sql: str) -> None:
    planted(sound, sql)
    found = sound.examined()["foreign"]
    assert (found.state, f"`{NAME}` on `ledger` by other software let calls be recorded" in found.text) == ("ok", True)


def test_what_keeps_prune_from_its_work(sound: SoundHome) -> None:
    planted(sound, "CREATE TRIGGER NAME BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'never'); END")
    found = sound.examined()["foreign"]
    assert (found.state, "`prune` cannot make room" in found.text) == ("warn", True)


def test_what_a_newer_plugin_made_is_its_own(sound: SoundHome) -> None:
    planted(sound, REFUSING["new rows"][0])
    planted(sound, f"PRAGMA user_version={VERSION + 1}")
    assert sound.examined()["foreign"].state == "ok"


def test_a_table_of_other_software_that_refuses_our_words(sound: SoundHome) -> None:
    with sound.written() as connection:
        connection.execute("DROP TABLE ledger")
        connection.execute(
            "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT, tool_name TEXT,"
            " status TEXT CHECK (status IN ('ok', 'failed')))"
        )
    found = sound.examined()["foreign"]
    assert (found.state, "CHECK constraint failed" in found.text) == ("fail", True)


@pytest.mark.parametrize(
    ("column", "state", "said"),
    [
        ("seen INTEGER DEFAULT 1", "ok", "No trigger"),
        ("seen INTEGER NOT NULL DEFAULT 1", "fail", "fill in cells of new calls"),
        (
            "repeat_of INTEGER NOT NULL DEFAULT 0",
            "fail",
            "(NOT NULL constraint failed: ledger.repeat_of); records wait",
        ),
    ],
)
def test_what_a_column_has_where_nothing_is_given(sound: SoundHome, column: str, state: str, said: str) -> None:
    with sound.written() as connection:
        connection.execute("DROP TABLE ledger")
        connection.execute(
            f"CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT, tool_name TEXT, status TEXT, {column})"
        )
    found = sound.examined()["foreign"]
    assert (found.state, said in found.text) == (state, True)


@pytest.mark.parametrize("table", sorted(TABLE_NAMES - {"ledger"}))
def test_a_table_of_other_software_under_one_of_our_names(sound: SoundHome, table: str) -> None:
    with sound.written() as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"CREATE TABLE {table}(mine INTEGER NOT NULL)")
    found = sound.examined()
    if table == "spool_merged":  # Without it nobody can tell what waits, so nothing else is looked at.
        assert (found["ledger"].state, "no such column" in found["ledger"].text) == ("fail", True)
        return
    assert (found["schema"].state, f"`{table}` is a table of other software" in found["schema"].text) == ("fail", True)


@pytest.mark.parametrize("table", ["writer", "notice", "policy_decision"])
def test_a_table_under_one_of_our_names_that_demands_more(sound: SoundHome, table: str) -> None:
    with sound.written() as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"CREATE TABLE {table}(id INTEGER PRIMARY KEY, mine INTEGER NOT NULL)")
    found = sound.examined()["foreign"]
    assert (found.state, f"NOT NULL constraint failed: {table}.mine" in found.text) == ("fail", True)


def test_a_sound_ledger_of_twelve_calls_is_not_touched_by_the_trial(sound: SoundHome) -> None:
    planted(sound, "CREATE TRIGGER NAME AFTER INSERT ON ledger BEGIN DELETE FROM writer; END")
    assert sound.examined()["foreign"].state == "ok"
    with sqlite3.connect(sound.paths.ledger) as db:
        assert db.execute("SELECT count(*), (SELECT count(*) FROM writer) FROM ledger").fetchone() == (CALLS, 1)
    db.close()
