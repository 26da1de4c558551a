"""What `prune` takes out at the source: it stays at the engine, unless that is to be a mirror."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.prune import prune
from ledger_tui.ship import tables
from ledger_tui.sources.raw_rows import KEYS
from tests.chain.ledgers import NOW, Made

from .test_rounds import asked, full, here, same, ship, there


def ids(url: str) -> list[int]:
    return [number for (number,) in asked(url, "SELECT id FROM agent_ledger_call ORDER BY id")]


def pruned(path: Path, through: int) -> int:
    return prune(path, through, clock=lambda: NOW + 1000, sleep=lambda _: None)


def test_it_stays(url: str, made: Made, path: Path) -> None:
    full(made)
    made.calls(5, 6)
    first = ship(url, path)
    assert pruned(path, 5) == 3  # 1, 2 and 5: 3 and 4 are not settled.
    made.now += 2000
    made.calls(7, 7)
    second = ship(url, path)
    assert second.ledger == first.ledger
    assert ids(url) == [1, 2, 3, 4, 5, 6, 7]
    newest = there(url, "ledger", (second.host, second.ledger))[-1]
    assert newest == here(made, "ledger")[-1]


def test_it_goes_with_a_mirror(url: str, made: Made, path: Path) -> None:
    full(made)
    made.calls(5, 6)
    ship(url, path)
    pruned(path, 5)
    done = ship(url, path, mirror=True)
    assert ids(url) == [3, 4, 6]
    same(url, made, done)


def test_a_mirror_that_comes_later_makes_up_for_it(url: str, made: Made, path: Path) -> None:
    made.calls(1, 6)
    ship(url, path)
    pruned(path, 2)
    ship(url, path)
    pruned(path, 4)
    ship(url, path)
    assert ids(url) == [1, 2, 3, 4, 5, 6]
    same(url, made, ship(url, path, mirror=True))


def test_each_pruning_is_repeated_once(url: str, made: Made, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[tuple[int, int]] = []
    drop = tables.drop

    def counted(connection: Any, whose: Any, first: int, last: int, kept: Any) -> None:
        dropped.append((first, last))
        drop(connection, whose, first, last, kept)

    monkeypatch.setattr(tables, "drop", counted)
    made.calls(1, 6)
    pruned(path, 2)
    for _ in range(2):
        ship(url, path, mirror=True)
    pruned(path, 4)
    ship(url, path, mirror=True)
    assert dropped == [(1, 2), (3, 4)]


def test_an_older_copy_that_was_pruned_is_another_one(url: str, made: Made, path: Path, tmp_path: Path) -> None:
    made.calls(1, 3)
    copy = tmp_path / "copy.db"
    with sqlite3.connect(copy) as target:
        made.db.backup(target)
    copy.chmod(0o600)
    made.calls(4, 6)
    first = ship(url, path)
    pruned(copy, 2)
    assert ship(url, copy).ledger == f"{first.ledger}-2"


def test_everything_pruned_is_still_the_same_ledger(url: str, made: Made, path: Path) -> None:
    made.calls(1, 3)
    first = ship(url, path)
    assert pruned(path, 3) == 3
    second = ship(url, path)
    assert (second.ledger, second.begun) == (first.ledger, False)
    assert ship(url, path).ledger == first.ledger  # By now the pruning itself was shipped.
    made.now += 2000
    made.calls(4, 4)
    fourth = ship(url, path)
    assert (fourth.ledger, fourth.rows) == (first.ledger, 1)
    assert ids(url) == [1, 2, 3, 4]


def test_a_mirror_takes_nothing_that_was_not_pruned(url: str, made: Made, path: Path) -> None:
    """Rows that somebody deleted by hand are what a copy elsewhere is for."""
    made.calls(1, 3)
    ship(url, path)
    made.do("DELETE FROM ledger WHERE id = 2")
    ship(url, path, mirror=True)
    assert ids(url) == [1, 2, 3]


@pytest.mark.parametrize("table", sorted(KEYS))
def test_a_mirror_leaves_other_ledgers_alone(url: str, made: Made, path: Path, table: str) -> None:
    full(made)
    other = ship(url, path, host="bea")
    before = there(url, table, (other.host, other.ledger))
    ship(url, path, host="ada")
    pruned(path, 2)
    ship(url, path, host="ada", mirror=True)
    assert there(url, table, (other.host, other.ledger)) == before
