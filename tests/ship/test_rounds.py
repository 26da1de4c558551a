"""One round after the other into a real PostgreSQL: every row there once, as it stands here."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger_tui.ship import tables
from ledger_tui.ship.engine import engine
from ledger_tui.ship.shipping import Shipped, Shipper
from ledger_tui.sources.raw_rows import KEYS, Position, kinds, raw_ledger
from tests.chain.ledgers import NOW, Made


def ship(url: str, path: Path, *, host: str = "ada", mirror: bool = False, size: int = 500) -> Shipped:
    with engine(url) as connection:
        tables.prepare(connection)
        return Shipper(host, path, lambda: NOW, mirror=mirror, size=size).round(connection)


def asked(url: str, question: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(question.encode()).fetchall()


def there(url: str, table: str, whose: tuple[str, str]) -> list[dict[str, Any]]:
    with engine(url) as connection:
        return tables.read(connection, whose, table, f'ORDER BY "{KEYS[table]}"', ())


def here(made: Made, table: str) -> list[dict[str, Any]]:
    names = list(kinds()[table])
    rows = made.db.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {KEYS[table]}").fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


def same(url: str, made: Made, done: Shipped, but: Sequence[str] = ()) -> None:
    for table in KEYS:
        if table not in but:
            assert there(url, table, (done.host, done.ledger)) == here(made, table), table


def full(made: Made) -> None:
    """Rows of every kind: 1 and 2 settled, 3 reported as lost, 4 pending, and what stands beside them."""
    made.calls(1, 2)
    made.issue("c3")
    made.report(3)
    made.issue("c4")
    made.turn()
    made.do(
        "INSERT INTO verdict VALUES(3, 'absent', '[\"nothing there\"]', '2026-01-02T12:00:09.000Z')",
        "INSERT INTO policy_decision(ts, ledger_id, tool_name, rule, severity, reason, mode)"
        " VALUES('2026-01-02T12:00:09.000Z', 1, 'terminal', 'no-rm', 'high', 'it removes', 'enforce')",
        "INSERT INTO prompt_decision(ts, session_id, rule, mode, outcome)"
        " VALUES('2026-01-02T12:00:09.000Z', 's1', 'card', 'enforce', 'blocked')",
        "INSERT INTO rotation VALUES('s1', 's0')",
    )


def test_every_cell_of_every_table_arrives(url: str, made: Made, path: Path) -> None:
    full(made)
    done = ship(url, path)
    assert (done.rows, done.begun) == (4, True)
    same(url, made, done)
    assert asked(url, "SELECT host, count(*) FROM agent_ledger_call GROUP BY host") == [("ada", 4)]


def test_a_second_round_finds_nothing_and_doubles_nothing(url: str, made: Made, path: Path) -> None:
    full(made)
    first = ship(url, path)
    second = ship(url, path)
    assert (second.ledger, second.rows, second.begun) == (first.ledger, 0, False)
    same(url, made, second)


def test_what_changes_later_is_renewed(url: str, made: Made, path: Path) -> None:
    full(made)
    ship(url, path)
    made.settle(4, "c4", "ERROR:timeout")
    made.settle(3, "c3")
    assert made.issue("c5") == 5
    made.do("UPDATE verdict SET verdict = 'landed', checked_ts = '2026-01-02T12:00:10.000Z'")
    done = ship(url, path)
    assert done.rows == 3
    same(url, made, done)


def test_pages_do_not_show(url: str, made: Made, path: Path) -> None:
    made.calls(1, 7)
    told: list[int] = []
    with engine(url) as connection:
        tables.prepare(connection)
        done = Shipper("ada", path, lambda: NOW, size=2).round(connection, told.append)
    assert (done.rows, told) == (7, [2, 4, 6, 7])
    same(url, made, done)


def test_pages_of_one_row_come_to_an_end(made: Made, path: Path) -> None:
    full(made)
    position, more = Position(), []
    with raw_ledger(path) as ledger:
        for _ in range(20):
            page = ledger.after(position, size=1)
            position = page.position
            more.append(page.more)
    assert more[0]
    assert not more[-1]
    assert page.rows["chain_head"] == here(made, "chain_head") != []


def test_rows_that_share_a_counter_or_have_none(url: str, made: Made, path: Path) -> None:
    made.calls(1, 6)
    made.do("UPDATE ledger SET changed = 5 WHERE id <= 3", "UPDATE ledger SET changed = NULL WHERE id > 4")
    done = ship(url, path, size=2)
    assert done.rows == 6
    same(url, made, done)
    assert ship(url, path, size=2).rows == 0


def test_changes_of_calls_without_a_counter_arrive(url: str, made: Made, path: Path) -> None:
    made.calls(1, 5)
    made.issue("c6", args_json='{"api_key": "sk-live-abcdefghijklmnop123456"}')
    made.do("UPDATE ledger SET changed = NULL WHERE id > 2", "UPDATE ledger SET changed = 'odd' WHERE id = 5")
    first = ship(url, path, size=2)
    assert (first.rows, ship(url, path, size=2).rows) == (6, 0)
    made.do(
        "UPDATE ledger SET result_digest = 'other' WHERE id IN (1, 3)",
        "UPDATE ledger SET status = 'ERROR' WHERE id >= 5",
    )
    assert ship(url, path, size=2).rows == 3  # Not the first: it has a counter, which says that nothing changed.
    shipped = (
        "SELECT id, result_digest = 'other', status FROM agent_ledger_call WHERE id IN (1, 3, 4, 5, 6) ORDER BY id"
    )
    assert asked(url, shipped) == [
        (1, False, "CONFIRMED"), (3, True, "CONFIRMED"), (4, False, "CONFIRMED"), (5, False, "ERROR"),
        (6, None, "ERROR"),
    ]  # fmt: skip
    assert ship(url, path, size=2).rows == 0


def test_cells_of_another_kind_are_kept(url: str, made: Made, path: Path) -> None:
    made.calls(1, 3)
    made.do(
        "UPDATE ledger SET duration_ms = 'long', exit_code = x'00ff', grace_s = 9007199254740993 WHERE id = 1",
        "UPDATE ledger SET result_digest = 'a' || char(0) || 'b', tool_name = 7 WHERE id = 2",
        "UPDATE ledger SET workplace = cast(x'66ff' AS TEXT), settle_seal = 'text' WHERE id = 3",
    )
    done = ship(url, path)
    made.db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    same(url, made, done)
    (odd,) = asked(url, "SELECT odd FROM agent_ledger_call WHERE id = 1")[0]
    assert json.loads(odd) == {"duration_ms": "long", "exit_code": {"hex": "00ff"}}


def test_secrets_do_not_leave(url: str, made: Made, path: Path) -> None:
    made.issue("c1", args_json='{"command": "deploy", "api_key": "sk-live-abcdefghijklmnop123456"}')
    made.issue("c2", args_json='{"command": "curl -u kim:geheim https://a.exa', workplace="/srv/kim")
    made.issue("c3", args_json='{"path": "/notes"}')
    made.do(
        "INSERT INTO verdict VALUES(1, 'unknown', '[\"Authorization: Bearer abc123def456ghi\"]', '2026-01-02')",
        "INSERT INTO policy_decision(ts, tool_name, rule, severity, reason, mode)"
        " VALUES('2026', 'terminal', 'r', 'high', 'it says DB_PASSWORD=hunter2', 'enforce')",
    )
    ship(url, path)
    everything = str(
        [asked(url, f"SELECT * FROM {tables.name_of(table)}") for table in KEYS]
        + asked(url, f"SELECT * FROM {tables.SOURCE}")
    )
    for secret in ("sk-live", "geheim", "abc123def456ghi", "hunter2"):
        assert secret not in everything
    assert asked(url, "SELECT id, secrets_hidden FROM agent_ledger_call ORDER BY id") == [(1, 1), (2, 1), (3, None)]


def test_a_session_that_cannot_be_a_key_holds_nothing_up(url: str, made: Made, path: Path) -> None:
    made.calls(1, 1)
    made.do(
        "INSERT INTO rotation VALUES('s' || char(0), 's0')",
        "INSERT INTO rotation VALUES(cast(x'66ff' AS TEXT), 's0')",
        "INSERT INTO rotation VALUES('s1', 's0')",
        f"INSERT INTO rotation VALUES('{'s' * 5000}', 's0')",
    )
    ship(url, path)
    assert asked(url, "SELECT session_id FROM agent_ledger_rotation") == [("s1",)]


def test_hosts_with_the_same_ledger_stay_apart(url: str, made: Made, path: Path) -> None:
    made.calls(1, 2)
    ship(url, path, host="ada")
    ship(url, path, host="bea")
    assert asked(url, "SELECT host, id FROM agent_ledger_call ORDER BY host, id") == [
        ("ada", 1), ("ada", 2), ("bea", 1), ("bea", 2),
    ]  # fmt: skip


def test_another_ledger_in_its_place_is_another_one(url: str, made: Made, path: Path, tmp_path: Path) -> None:
    made.calls(1, 3)
    first = ship(url, path)
    other = Made(tmp_path / "other.db")
    other.do("INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts) VALUES(1,'','','','','')")
    other.calls(1, 1)
    second = ship(url, tmp_path / "other.db")
    assert second.begun
    assert second.ledger != first.ledger
    same(url, made, first)
    same(url, other, second)


def test_an_older_copy_put_back_is_another_one_once_it_goes_its_own_way(
    url: str, made: Made, path: Path, tmp_path: Path
) -> None:
    made.calls(1, 2)
    copy = tmp_path / "copy.db"
    with sqlite3.connect(copy) as target:
        made.db.backup(target)
    made.calls(3, 5)
    first = ship(url, path)
    restored = Made(copy)
    assert restored.issue("other") == 3
    restored.calls(4, 6)
    second = ship(url, copy)
    assert second.begun
    assert second.ledger == f"{first.ledger}-2"
    same(url, made, first)
    same(url, restored, second)
    assert ship(url, copy).ledger == second.ledger
    assert ship(url, path).ledger == first.ledger


def test_an_older_copy_with_a_settlement_of_its_own_is_noticed(
    url: str, made: Made, path: Path, tmp_path: Path
) -> None:
    made.issue("c1")
    copy = tmp_path / "copy.db"
    with sqlite3.connect(copy) as target:
        made.db.backup(target)
    made.settle(1, "c1")
    first = ship(url, path)
    restored = Made(copy)
    restored.now += 100
    restored.settle(1, "c1", "ERROR:timeout")
    second = ship(url, copy)
    assert second.ledger != first.ledger
    same(url, made, first)
    same(url, restored, second)


@pytest.mark.parametrize(
    "told",
    [
        None, "", "{", "[]", "[" * 100_000, '{"changed": [1]}', '{"changed_id": null}', '{"more": 1}',
        '{"writer": 9223372036854775808}', '{"changed": NaN}', '{"call_mark": 5}', '{"amendment": true}',
    ],
)  # fmt: skip
def test_where_somebody_wrote_over_how_far_it_is_shipped_it_is_begun_anew(
    url: str, made: Made, path: Path, told: str | None
) -> None:
    made.calls(1, 2)
    first = ship(url, path)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE agent_ledger_source SET shipped_to = %s", (told,))
    second = ship(url, path)
    assert (second.rows, second.begun, second.ledger) == (2, True, f"{first.ledger}-2")
    same(url, made, second)


def test_a_copy_moved_elsewhere_goes_on(url: str, made: Made, path: Path, tmp_path: Path) -> None:
    made.calls(1, 2)
    first = ship(url, path)
    made.do("PRAGMA wal_checkpoint(TRUNCATE)")
    moved = tmp_path / "moved.db"
    shutil.copy(path, moved)
    again = Made(moved)
    again.calls(3, 4)
    second = ship(url, moved)
    assert (second.ledger, second.rows) == (first.ledger, 2)
    assert asked(url, f"SELECT place FROM {tables.SOURCE}") == [(str(moved),)]
    same(url, again, second)
