"""One reading: guards, slices, and what a command needs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine.queries import Filter
from ledger_tui.sources import guard, parts, reading, snapshot
from ledger_tui.sources.reading import SessionTotals, Totals
from ledger_tui.sources.snapshot import SourceError

from .conftest import ROOT, make_ledger

STATUS = "CASE n % 10 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'ERROR:x' ELSE 'CONFIRMED' END"


def test_commands_read_with_the_standard_library_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import ledger_tui.sources.snapshot;"
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['agent_ledger', 'ledger_tui']"


def test_a_ledger_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a ledger?#%41.db"
    make_ledger(path, 100, status=STATUS)
    with snapshot.reading_ledger(path) as ledger:
        assert snapshot.read_totals(ledger) == Totals(rows=100, pending=10, error=10, confirmed=80)
        assert [call.id for call in snapshot.read_calls(ledger, limit=2)] == [100, 99]
        wanted = Filter(states=frozenset({"pending"}))
        assert [call.id for call in snapshot.read_calls(ledger, wanted, before_id=90, limit=2)] == [80, 70]
        assert snapshot.read_writers(ledger) == {}
        assert snapshot.read_merged(ledger) == {}
    with closing(snapshot.open_ledger(path)) as connection:
        assert snapshot.read_totals(connection).rows == 100
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM ledger")


def test_session_counts_are_worked_out_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 20, status=STATUS)
    with snapshot.reading_ledger(path) as ledger:
        found = snapshot.read_session_totals(ledger)
    # Session s6 has the ids 6, 13 and 20: two confirmed, one pending; 20 is the newest row of all.
    assert found[0] == SessionTotals(session_id=found[0].session_id, pending=1, confirmed=2, changed=200)
    assert found[0].session_id == "s6"
    # s4 has 4, 11 and 18; 11 ends in 1 and so is an error.
    assert next(s for s in found if s.session_id == "s4") == SessionTotals(
        session_id=next(s.session_id for s in found if s.session_id == "s4"), error=1, confirmed=2, changed=180
    )
    assert sum(session.rows for session in found) == 20


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_in_slices_the_answers_are_the_same(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 6_000, mode=mode, status=STATUS)
    with snapshot.reading_ledger(path) as ledger:
        db, shape = ledger.connection, ledger.shape
        assert shape.wal == (mode == "wal")
        assert shape.slice_s == (reading.SLICE_S if shape.wal else reading.SHARED_SLICE_S)
        for wanted in (Filter(text="word59"), Filter(states=frozenset({"error"})), Filter(tool_name="nothing")):
            for page in ({}, {"before_id": 5_000}, {"after_id": 70}, {"after_id": 20, "before_id": 5_500}):
                whole = parts.read_calls(db, shape, wanted, limit=150, **page)
                assert parts.read_calls(db, shape, wanted, limit=150, slice_s=0.0, **page) == whole
        assert parts.read_session_totals(db, shape, slice_s=0.0) == parts.read_session_totals(db, shape)
        expected = Totals(rows=6_000, pending=600, error=600, confirmed=4_800)
        assert parts.read_totals(db, shape) == parts.read_totals(db, shape, slice_s=0.0) == expected
        for slice_s in (None, 0.0):
            counted = parts.read_counted(db, shape, slice_s=slice_s)
            assert counted.totals == expected
            assert counted.unsettled == [(n, "PENDING", None) for n in range(10, 6_001, 10)]


def test_a_statement_that_runs_too_long_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 10)
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
    with closing(snapshot.open_ledger(path)) as db:
        with pytest.raises(reading.SliceTimeoutError), reading.slice_of_time(db, 0.01):
            db.execute(endless).fetchall()
        assert db.execute("SELECT count(*) FROM ledger").fetchall() == [(10,)]


def _text(path: Path) -> None:
    path.write_text("just some text that is no database, and rather long at that" * 20)


def _recipes(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipe(id)")


def _other_ledger(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE ledger(account, amount)")


def _odd_schema(path: Path) -> None:
    """SQLite's own message quotes bytes of it that are no text."""
    _recipes(path)
    path.write_bytes(path.read_bytes().replace(b"recipe", b"\xffecipe").replace(b"CREATE", b"CRXATE"))


@pytest.mark.parametrize(
    ("make", "state", "words"),
    [
        (lambda path: None, "missing", "does not exist"),
        (Path.mkdir, "unreadable", "is not a file"),
        (_text, "unreadable", "is no SQLite database"),
        (_odd_schema, "unreadable", "is damaged"),
        (_recipes, "unreadable", "is a database without a ledger in it"),
        (_other_ledger, "unreadable", "is not a ledger of tool calls"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, make: object, state: str, words: str) -> None:
    assert callable(make)
    path = tmp_path / "led\x1b[31mger.db"
    make(path)
    with pytest.raises(SourceError) as caught:
        snapshot.open_ledger(path)
    assert (caught.value.state, caught.value.path) == (state, path)
    assert words in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("forbidden", "words"),
    [
        (os.W_OK, "can only be read where a file can be made beside it, and its folder takes none"),
        (os.R_OK, "cannot be opened (unable to open database file)"),
        (os.X_OK, "cannot be opened (unable to open database file)"),
    ],
    ids=["folder that takes no writes", "file that may not be read", "neither"],
)
def test_why_it_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forbidden: int, words: str) -> None:
    """The administrator may do anything, and a test mounts no disk: only the answers to what one may are planted."""
    with pytest.raises(sqlite3.OperationalError) as raised:
        sqlite3.connect(f"{(tmp_path / 'none.db').as_uri()}?mode=ro", uri=True)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != forbidden)
    found = guard.explain(tmp_path / "ledger.db", raised.value)
    assert found.reason == words
    assert ("copy it" in found.remedy) == (forbidden == os.W_OK)


def test_a_file_without_tables_is_an_empty_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    with snapshot.reading_ledger(path) as ledger:
        assert snapshot.read_totals(ledger) == Totals()
        assert snapshot.read_calls(ledger) == []
        assert snapshot.read_session_totals(ledger) == []
        assert not ledger.shape.foreign


def test_a_newer_schema_is_readable_and_not_ours_to_write(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 3)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE ledger ADD COLUMN from_the_future")
        db.execute("PRAGMA user_version=99")
    with snapshot.reading_ledger(path) as ledger:
        assert ledger.shape.foreign
        assert snapshot.read_totals(ledger).rows == 3


def test_a_store_of_another_user_is_opened_only_while_its_owner_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 3)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 4321)
    with pytest.raises(SourceError) as caught:
        snapshot.open_ledger(path)
    assert caught.value.state == "foreign-owner"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ledger.db"]
    monkeypatch.undo()
    with closing(sqlite3.connect(path)) as owner:
        owner.execute("SELECT * FROM ledger").fetchall()
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 4321)
        guard.check(path)
        (tmp_path / "ledger.db-shm").rename(tmp_path / "aside")
        with pytest.raises(SourceError, match="another user"):
            guard.check(path)
        (tmp_path / "aside").rename(tmp_path / "ledger.db-shm")


def test_a_locked_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 3, mode="delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceError) as caught:
            snapshot.open_ledger(path, timeout_s=0.0)
    assert (caught.value.state, "locked" in str(caught.value)) == ("stale", True)


def test_a_text_that_is_no_utf8_hides_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 8)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE ledger SET tool_name = CAST(X'74FF6D' AS TEXT) WHERE id IN (3, 6)")
    names = ["terminal", "terminal", "t\ufffdm", "terminal", "terminal", "t\ufffdm", "terminal", "terminal"]
    asked = "SELECT tool_name FROM ledger WHERE id >= ? ORDER BY id"
    with closing(snapshot.open_ledger(path)) as db:
        assert [row[0] for row in db.execute(asked, (1,))] == names
    with closing(snapshot.open_ledger(path)) as db:
        assert [row[0] for row in db.execute(asked, (1,)).fetchall()] == names
    with closing(snapshot.open_ledger(path)) as db:
        assert db.execute(asked, (3,)).fetchone() == ("t\ufffdm",)
    with snapshot.reading_ledger(path) as ledger:
        assert [call.tool_name for call in snapshot.read_calls(ledger)] == names[::-1]


def test_texts_that_are_utf8_are_not_decoded_one_by_one(tmp_path: Path) -> None:
    """That would cost every reader of a large ledger a fifth of its time."""
    path = tmp_path / "ledger.db"
    make_ledger(path, 8)
    with snapshot.reading_ledger(path) as ledger:
        assert len(snapshot.read_calls(ledger)) == 8
        assert ledger.connection.text_factory is str
