"""`prune`: says first, drops only settled rows, keeps the newest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ledger.engine import prune, schema
from agent_ledger.engine.evidence.verdict import Verdict
from agent_ledger.engine.evidence.verdicts import keep
from agent_ledger.engine.inert import inert
from tests.chain.ledgers import Made


def ids(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT id FROM ledger ORDER BY id")]
    finally:
        connection.close()


def test_a_dry_run_changes_nothing(ledger: Any, program: Any) -> None:
    for number in range(10):
        ledger.add(at=1_767_000_000 + number)
    result = program("prune", "--keep", "4")
    assert result.code == 0
    assert "Would drop 6 of 10" in result.out
    assert "2025-12-29T09:20:00.000Z to 2025-12-29T09:20:05.000Z" in result.out
    assert ids(ledger.path) == list(range(1, 11))


def test_apply_drops_what_was_said_and_tells_it(ledger: Any, program: Any) -> None:
    for number in range(10):
        ledger.add(status="PENDING" if number == 2 else "GHOST_REPORTED" if number == 3 else "CONFIRMED")
    dry = program("prune", "--keep", "4", "--json").json
    assert (dry["drop"], dry["spared"], dry["dropped"], dry["rows_after"]) == (4, 2, 0, 10)
    done = program("prune", "--keep", "4", "--apply", "--json").json
    assert (done["drop"], done["dropped"], done["rows_after"], done["applied"]) == (4, 4, 6, True)
    assert ids(ledger.path) == [3, 4, 7, 8, 9, 10]
    assert "Nothing to drop" in program("prune", "--keep", "4", "--apply").out


def test_wrong_and_missing(program: Any, sentence: Any, tmp_path: Path) -> None:
    sentence(program("prune"), 2)
    sentence(program("prune", "--keep", "-1"), 2)
    sentence(program("prune", "--keep", "some"), 2)
    sentence(program("--ledger", str(tmp_path / "none.db"), "prune", "--keep", "5"), 3)
    assert program("prune", "--keep", "5", "--apply", "--json").json["dropped"] == 0


def test_a_ledger_by_other_software_is_refused(tmp_path: Path, program: Any, sentence: Any) -> None:
    path = tmp_path / "foreign.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE Ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    other.executemany("INSERT INTO ledger VALUES(?, 1700000000.5, 'patch', 'CONFIRMED', '{}')", [(1,), (2,)])
    other.commit()
    other.close()
    assert "Would drop 1" in program("--ledger", str(path), "prune", "--keep", "1").out
    sentence(program("--ledger", str(path), "prune", "--keep", "1", "--apply"), 4)
    assert ids(path) == [1, 2]


def test_a_link_is_refused(ledger: Any, tmp_path: Path, program: Any, sentence: Any) -> None:
    ledger.add()
    ledger.add()
    link = tmp_path / "link.db"
    link.symlink_to(ledger.path)
    sentence(program("--ledger", str(link), "prune", "--keep", "1", "--apply"), 4)
    assert len(ids(ledger.path)) == 2


STATUSES = st.sampled_from(["PENDING", "GHOST_REPORTED", "CONFIRMED", "ERROR:timeout", "ERROR:PENDING", "odd"])


@settings(max_examples=60, deadline=None)
@given(statuses=st.lists(STATUSES, max_size=400), gaps=st.integers(1, 3), keep=st.integers(0, 420))
def test_unsettled_rows_and_the_newest_always_stay(statuses: list[str], gaps: int, keep: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        connection = sqlite3.connect(path, isolation_level=None)
        schema.prepare(connection)
        connection.executemany(
            "INSERT INTO ledger(id, ts, tool_name, status) VALUES(?, '2026-01-01T00:00:00.000Z', 'patch', ?)",
            [(number * gaps + 1, status) for number, status in enumerate(statuses)],
        )
        before = connection.execute("SELECT id, status FROM ledger ORDER BY id").fetchall()
        planned = prune.plan(connection, keep)
        dropped = prune.prune(path, planned.through_id, sleep=lambda _: None) if planned.through_id is not None else 0
        after = connection.execute("SELECT id, status FROM ledger ORDER BY id").fetchall()
        connection.close()
    newest = before[len(before) - keep :] if keep < len(before) else before
    newest = newest if keep else []
    expected = [row for row in before if row in newest or row[1] in ("PENDING", "GHOST_REPORTED")]
    assert after == expected
    assert dropped == planned.drop == len(before) - len(after)


def test_bites_shrink_when_they_take_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    connection = sqlite3.connect(path, isolation_level=None)
    schema.prepare(connection)
    connection.executemany(
        "INSERT INTO ledger(ts, tool_name, status) VALUES('2026-01-01T00:00:00.000Z', 'patch', 'CONFIRMED')", [()] * 500
    )
    sizes: list[int] = []
    bite = prune._bite

    def noted(*arguments: Any) -> list[int]:
        gone = bite(*arguments)
        sizes.append(len(gone))
        return gone

    monkeypatch.setattr(prune, "_bite", noted)
    ticks = iter(range(10_000))
    assert prune.prune(path, 500, mono_clock=lambda: float(next(ticks)), sleep=lambda _: None) == 500
    assert sizes[:5] == [100, 50, 25, 12, 10]
    assert sizes[-1] == 0
    connection.close()


def two_calls(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    schema.prepare(connection)
    connection.executemany(
        "INSERT INTO ledger(ts, tool_name, status) VALUES('2026-01-01T00:00:00.000Z', 'patch', 'CONFIRMED')", [()] * 2
    )
    return connection


def test_an_error_at_which_sqlite_rolls_back_by_itself_is_the_one_told(tmp_path: Path) -> None:
    """As it does on a full disk."""
    with closing(two_calls(tmp_path / "ledger.db")) as connection:
        connection.execute("CREATE TRIGGER full BEFORE DELETE ON ledger BEGIN SELECT RAISE(ROLLBACK, 'no room'); END")
        with pytest.raises(sqlite3.Error, match="no room"):
            prune._bite(connection, 2, 10, 0)
        assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (2,)


@pytest.mark.parametrize("table", ["ledger", "amendment"])
def test_what_a_trigger_leaves_where_it_was_was_not_dropped(tmp_path: Path, table: str) -> None:
    """Else it would be dropped again, without an end, and the chain would know it as pruned."""
    with closing(two_calls(tmp_path / "ledger.db")) as connection:
        keep(connection, [(1, Verdict("unknown", (inert("No word of it."),), 1.0))])
        before = connection.execute("SELECT * FROM ledger").fetchall()
        connection.execute(f"CREATE TRIGGER kept BEFORE DELETE ON {table} BEGIN SELECT RAISE(IGNORE); END")
        with pytest.raises(sqlite3.IntegrityError, match="a trigger of other software leaves changes out"):
            prune._bite(connection, 2, 10, 0)
        assert connection.execute("SELECT * FROM ledger").fetchall() == before


def test_a_bite_that_cannot_be_committed_is_taken_back(tmp_path: Path) -> None:
    """Without a write-ahead log, somebody who reads keeps it from that."""
    path = tmp_path / "ledger.db"
    with closing(two_calls(path)) as connection, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM ledger").fetchone()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            prune._bite(connection, 2, 10, 0)
        assert not connection.in_transaction
        reader.execute("COMMIT")
        assert prune._bite(connection, 2, 10, 0) == [1, 2]


@pytest.mark.parametrize(("kind", "left"), [("INTEGER PRIMARY KEY", [4]), ("INTEGER PRIMARY KEY AUTOINCREMENT", [])])
def test_the_newest_stays_where_its_number_would_be_given_again(
    tmp_path: Path, program: Any, kind: str, left: list[int]
) -> None:
    """Other software may have made the table so."""
    made = Made(tmp_path / "ledger.db", columns=f"id {kind}, ts TEXT, tool_name TEXT, status TEXT, args_json TEXT")
    with closing(made.db):
        made.calls(1, 4)
        (tmp_path / "ledger.db").chmod(0o600)
        result = program("--ledger", str(tmp_path / "ledger.db"), "prune", "--keep", "0", "--apply", "--json").json
        assert (result["drop"], result["dropped"]) == (4 - len(left), 4 - len(left))
        assert ids(tmp_path / "ledger.db") == left
        again = Made(tmp_path / "ledger.db")
        with closing(again.db):
            again.now = made.now
            again.calls(5, 6)
        assert made.check().whole, made.check().found
