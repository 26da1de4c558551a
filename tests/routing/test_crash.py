"""`kill -9` at every step of a repair and of an undo: the store is wholly before or wholly after, and that is told."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.journal import alone, folder
from ledger_tui.routing.repair.refused import RefusedError
from ledger_tui.routing.repair.undo import finish, repairs, undo
from tests.routing import killed
from tests.routing.corpus import case
from tests.routing.stores import clock, dump, planned, repaired

NAME = "005"
"""Six conversations of one store, twelve rows."""

BEFORE_COMMIT = [("checked", 1), ("scanned", 1), ("backed-up", 1), ("prepared", 1), ("begun", 1), ("row-written", 1),
                 ("row-written", 7), ("row-written", 12), ("before-commit", 1)]  # fmt: skip
AFTER_COMMIT = [("committed", 1), ("applied", 1)]

UNDO_BEFORE_COMMIT = [("checked", 1), ("prepared", 1), ("begun", 1), ("row-written", 1), ("row-written", 12),
                      ("before-commit", 1)]  # fmt: skip
UNDO_AFTER_COMMIT = [("committed", 1), ("undone", 1)]


@pytest.fixture(params=["delete", "wal"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """(home, store) in each journal mode."""
    home, path = case(NAME).lay_out(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(f"PRAGMA journal_mode={request.param}").fetchone() == (request.param,)
    return home, path


def settled(home: Path, path: Path) -> list[tuple[object, ...]]:
    """The rows after whoever comes next has put the store right."""
    finish(path, home, clock=clock, stopped_by="the test")
    return dump(path)


@pytest.mark.parametrize(("step", "nth"), BEFORE_COMMIT)
def test_killed_before_the_commit_nothing_has_happened(store: tuple[Path, Path], step: str, nth: int) -> None:
    home, path = store
    before = dump(path)
    assert killed.run("apply", path, home, step, nth) == -9
    told = repairs(home)
    assert [one.state for one in told] == ([] if step in ("checked", "scanned", "backed-up") else ["not applied"])
    assert settled(home, path) == before
    assert [one.crashed for one in repairs(home)] == [False] * len(told)
    assert repaired(home, path).proven  # And the next repair does it.


@pytest.mark.parametrize(("step", "nth"), AFTER_COMMIT)
def test_killed_after_the_commit_all_has_happened(store: tuple[Path, Path], step: str, nth: int) -> None:
    home, path = store
    before = dump(path)
    announced = planned(home, path)
    assert killed.run("apply", path, home, step, nth) == -9
    assert [one.state for one in repairs(home)] == ["applied"]
    store_now = read_store(path, home)
    keys = {one.orphan_id: store_now.sessions[one.orphan_id].session_key for one in announced.adoptions}
    assert len(keys) == 6
    assert all(keys.values())
    undo(path, home, clock=clock, stopped_by="the test")
    assert dump(path) == before


@pytest.mark.parametrize(("step", "nth"), UNDO_BEFORE_COMMIT)
def test_an_undo_killed_before_its_commit_has_changed_nothing(store: tuple[Path, Path], step: str, nth: int) -> None:
    home, path = store
    before = dump(path)
    repaired(home, path)
    after = dump(path)
    assert killed.run("undo", path, home, step, nth) == -9
    assert [one.state for one in repairs(home)] == ["applied"]
    assert settled(home, path) == after
    undo(path, home, clock=clock, stopped_by="the test")
    assert dump(path) == before


@pytest.mark.parametrize(("step", "nth"), UNDO_AFTER_COMMIT)
def test_an_undo_killed_after_its_commit_has_undone_all(store: tuple[Path, Path], step: str, nth: int) -> None:
    home, path = store
    before = dump(path)
    repaired(home, path)
    assert killed.run("undo", path, home, step, nth) == -9
    assert [one.state for one in repairs(home)] == ["undone"]
    assert settled(home, path) == before


def test_a_step_that_never_comes_kills_nobody(store: tuple[Path, Path]) -> None:
    """The other tests do stand at the steps that they name."""
    home, path = store
    assert killed.run("apply", path, home, "row-written", 13) == 0
    assert killed.run("undo", path, home, "no such step") == 0


def test_an_unfinished_copy_is_swept_away_and_nothing_else(store: tuple[Path, Path]) -> None:
    home, path = store
    assert killed.run("apply", path, home, "backed-up") == -9
    (copy,) = folder(home).glob("*Z-*")
    assert copy.suffix == ".part"
    kept = [folder(home) / name for name in ("notes.part", "20260102T030405Z-abcd.db")]
    for one in kept:
        one.write_bytes(b"of somebody else, or of a repair whose journal is gone")
    with alone(home):
        assert not copy.exists()
    assert all(one.exists() for one in kept)


def test_a_repair_that_died_half_way_through_the_file(tmp_path: Path) -> None:
    """In DELETE mode nobody can read then before somebody may write: that is told, and put right by who comes next."""
    home, path = case(NAME).lay_out(tmp_path)
    before = dump(path)
    assert killed.run("apply", path, home, "before-commit", spill=True) == -9
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        dump(path)
    (told,) = repairs(home)
    assert (told.state, told.crashed) == ("half-way", True)
    (said,) = finish(path, home, clock=clock, stopped_by="the test")
    assert said.endswith("it was cut short and changed nothing")
    assert dump(path) == before


def test_an_undo_that_died_half_way_through_the_file(tmp_path: Path) -> None:
    home, path = case(NAME).lay_out(tmp_path)
    before = dump(path)
    repaired(home, path)
    assert killed.run("undo", path, home, "before-commit", spill=True) == -9
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        dump(path)
    assert [one.state for one in repairs(home)] == ["half-way"]
    (said,) = finish(path, home, clock=clock, stopped_by="the test")
    assert said.endswith("it took effect")
    undo(path, home, clock=clock, stopped_by="the test")
    assert dump(path) == before


def test_a_store_that_is_in_use_is_not_put_right_behind_its_holders_back(tmp_path: Path) -> None:
    home, path = case(NAME).lay_out(tmp_path)
    assert killed.run("apply", path, home, "before-commit", spill=True) == -9
    (home / "gateway.pid").write_text('{"pid": 1}', encoding="utf-8")
    with pytest.raises(RefusedError, match="gateway-process"):
        finish(path, home, clock=clock, stopped_by="the test")
    assert os.path.getsize(f"{path}-journal") > 0
