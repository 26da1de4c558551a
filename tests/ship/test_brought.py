"""A shipped ledger brought back: the very rows, as they are by now, and a chain that holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.inert import inert
from agent_ledger.engine.prune import prune
from ledger_tui.ship.brought import Brought, ChoiceError, Source, chosen, sources
from ledger_tui.ship.engine import EngineError, engine
from ledger_tui.ship.shipping import Shipper
from ledger_tui.sources.copied import CopiedLedger, altered_calls
from ledger_tui.sources.raw_rows import KEYS, kinds
from tests.chain.ledgers import NOW, Made

from .test_rounds import full, here, ship


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[CopiedLedger]:
    made = CopiedLedger(tmp_path / "copy")
    yield made
    made.close()


def rows(copy: CopiedLedger, table: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(copy.path)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    names = list(kinds()[table])
    found = connection.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {KEYS[table]}").fetchall()
    connection.close()
    return [dict(zip(names, row, strict=True)) for row in found]


def same(copy: CopiedLedger, made: Made) -> None:
    for table in KEYS:
        wanted = here(made, table)
        if table == "amendment":
            wanted = [{**row, "id": row["number"]} for row in wanted]
        assert rows(copy, table) == wanted, table


def bring(url: str, copy: CopiedLedger, brought: Brought | None = None) -> Brought:
    with engine(url) as connection:
        brought = brought or Brought(chosen(sources(connection), None), copy)
        brought.refresh(connection)
    return brought


def test_every_cell_comes_back(url: str, made: Made, path: Path, copy: CopiedLedger) -> None:
    full(made)
    ship(url, path)
    bring(url, copy)
    same(copy, made)
    assert copy.path.stat().st_mode & 0o777 == 0o600
    assert copy.path.parent.stat().st_mode & 0o777 == 0o700


def test_what_changed_since_comes_too(url: str, made: Made, path: Path, copy: CopiedLedger) -> None:
    full(made)
    ship(url, path)
    brought = bring(url, copy)
    with engine(url) as connection:
        assert not brought.refresh(connection)
    made.settle(4, "c4")
    made.calls(5, 6)
    made.do("UPDATE verdict SET verdict = 'landed'", "INSERT INTO rotation VALUES('s2', 's1')")
    ship(url, path)
    bring(url, copy, brought)
    same(copy, made)


def test_when_it_was_shipped_last_is_known(url: str, made: Made, path: Path, copy: CopiedLedger) -> None:
    made.calls(1, 1)
    ship(url, path)
    brought = bring(url, copy)
    assert brought.source.shipped == "2026-01-02T12:00:00.000Z"
    with engine(url) as connection:
        Shipper("ada", path, lambda: NOW + 60).round(connection)
    bring(url, copy, brought)
    assert brought.source.shipped == "2026-01-02T12:01:00.000Z"


def test_odd_cells_come_back(url: str, made: Made, path: Path, copy: CopiedLedger) -> None:
    made.calls(1, 4)
    made.do(
        "UPDATE ledger SET duration_ms = 'long', exit_code = x'00ff' WHERE id = 1",
        "UPDATE ledger SET result_digest = 'a' || char(0) || 'b' WHERE id = 2",
        "UPDATE ledger SET changed = NULL, workplace = x'01' WHERE id = 3",
    )
    ship(url, path)
    bring(url, copy)
    same(copy, made)


def test_more_rows_than_a_page(
    url: str, made: Made, path: Path, copy: CopiedLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger_tui.ship.brought.PAGE", 2)
    made.calls(1, 7)
    made.do("UPDATE ledger SET changed = 5 WHERE id <= 5")
    ship(url, path)
    told: list[tuple[int, int]] = []
    with engine(url) as connection:
        brought = Brought(chosen(sources(connection), None), copy)
        brought.refresh(connection, lambda done, total: told.append((done, total)))
    assert rows(copy, "ledger") == here(made, "ledger")
    assert told == [(2, 7), (4, 7), (6, 7), (7, 7)]


def test_a_ledger_that_was_taken_out_there_is_missed(url: str, made: Made, path: Path, copy: CopiedLedger) -> None:
    made.calls(1, 1)
    done = ship(url, path)
    brought = bring(url, copy)
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM agent_ledger_source")
    with pytest.raises(EngineError, match=f"ada/{done.ledger} was taken out of agent_ledger_source."):
        bring(url, copy, brought)
    assert len(rows(copy, "ledger")) == 1


def test_a_change_that_cannot_be_committed_is_none(copy: CopiedLedger) -> None:
    connection = copy._connection
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("CREATE TABLE parent(id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE child(id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(sqlite3.IntegrityError), copy:
        connection.execute("INSERT INTO child VALUES(1)")
    with copy:
        connection.execute("INSERT INTO parent VALUES(1)")
    assert connection.execute("SELECT (SELECT count(*) FROM parent), (SELECT count(*) FROM child)").fetchall() == [
        (1, 0)
    ]


def test_the_chain_can_be_checked_there(url: str, made: Made, path: Path, copy: CopiedLedger) -> None:
    full(made)
    made.settle(3, "c3")
    ship(url, path)
    bring(url, copy)
    with sqlite3.connect(copy.path) as connection:
        report = check_chain(connection)
        assert (report.whole, report.records, report.rows) == (True, made.check().records, 4)
        connection.execute("UPDATE ledger SET result_digest = 'other' WHERE id = 2")
        assert check_chain(connection).broken


@pytest.mark.parametrize("mirror", [False, True])
def test_the_chain_holds_after_prune(url: str, made: Made, path: Path, copy: CopiedLedger, mirror: bool) -> None:
    full(made)
    made.calls(5, 8)
    ship(url, path)
    brought = bring(url, copy)
    prune(path, 6, clock=lambda: NOW + 1000, sleep=lambda _: None)
    made.now += 2000
    made.calls(9, 9)
    ship(url, path, mirror=mirror)
    bring(url, copy, brought)
    assert [row["id"] for row in rows(copy, "ledger")] == ([3, 4, 7, 8, 9] if mirror else list(range(1, 10)))
    with sqlite3.connect(copy.path) as connection:
        report = check_chain(connection, altered=altered_calls(connection))
    assert (report.state, report.records) == (("pruned", 10) if mirror else ("whole", 18))


def some(*names: str) -> list[Source]:
    found = (name.partition("/") for name in names)
    return [Source(inert(host), inert(ledger), inert("/home/ada/.hermes"), inert("2026")) for host, _, ledger in found]


@pytest.mark.parametrize(
    ("there", "wanted", "name"),
    [
        (["ada/1"], None, "ada/1"),
        (["ada/2", "ada/1"], None, "ada/2"),
        (["ada/2", "ada/1"], "ada/1", "ada/1"),
        (["ada/1", "bea/1"], "bea", "bea/1"),
    ],
)
def test_which_one_is_meant(there: list[str], wanted: str | None, name: str) -> None:
    assert chosen(some(*there), wanted).name == name


@pytest.mark.parametrize(
    ("there", "wanted", "said"),
    [
        ([], None, "No ledger was shipped there yet"),
        (["ada/1", "bea/1"], None, "Several hosts shipped there; say --all-hosts, or name one by --host: ada, bea."),
        (["ada/1"], "cy", "No ledger of cy was shipped there; there are ada."),
        (["ada/1"], "ada/2", "No ledger of ada/2 was shipped there; there are ada."),
        ([f"h{number:02}/1" for number in range(12)], None, "h09 and 2 more."),
    ],
)
def test_it_says_what_there_is(there: list[str], wanted: str | None, said: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        chosen(some(*there), wanted)
    assert said in str(caught.value)


def test_the_one_shipped_last_is_one_that_was_shipped(url: str, made: Made, path: Path) -> None:
    made.calls(1, 1)
    ship(url, path)
    with engine(url) as connection:
        connection.execute(
            "INSERT INTO agent_ledger_source (host, ledger, origin, place, begun, shipped) VALUES"
            " ('ada', 'begun', '', '', '2026-01-03', NULL), ('ada', 'older', '', '', '2026-01-01', '2026-01-01'),"
            " ('ada', 'newer', '', '', '2026-01-03', '2026-01-03')"
        )
        found = sources(connection)
    assert found[0].ledger == "newer"
    assert [one.ledger for one in found[2:]] == ["older", "begun"]


def test_an_engine_without_tables(url: str) -> None:
    with engine(url) as connection:
        assert sources(connection) == []
