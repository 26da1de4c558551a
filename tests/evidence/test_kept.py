"""Verdicts beside the calls, and calls that may have had their effect twice."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from agent_ledger.engine import prune, queries
from agent_ledger.engine.evidence.verdict import absent, landed, unknown
from agent_ledger.engine.evidence.verdicts import keep, save
from agent_ledger.engine.queries import Filter, call_from_row, call_json
from agent_ledger.engine.records import Call
from agent_ledger.engine.schema import ForeignSchemaError

from .makers import World


def read(world: World, **wanted: Any) -> dict[int, Call]:
    columns = [name for (name,) in world.db.execute(*queries.COLUMNS_QUERY)]
    rows = world.db.execute(*queries.calls(columns, **wanted)).fetchall()
    return {call.id: call for call in map(call_from_row, rows)}


def test_a_verdict_stands_beside_the_call_and_changes_no_cell_of_it(world: World) -> None:
    number = world.call("patch", {"path": "a"})
    before = world.db.execute("SELECT * FROM ledger").fetchone()
    (changed_before,) = world.db.execute("SELECT changed FROM ledger").fetchone()
    assert read(world)[number].verdict is None
    save(world.paths.ledger, [(number, landed(1_700_000_000.25, "It is there.", 'named "a\nb"'))])
    call = read(world)[number]
    assert (call.verdict, call.checked_ts) == ("landed", "2023-11-14T22:13:20.250Z")
    assert call.evidence == ("It is there.", 'named "a\\nb"')
    assert call.status == "GHOST_REPORTED"
    assert call.changed > changed_before, "whoever follows the ledger sees it"
    after = world.db.execute("SELECT * FROM ledger").fetchone()
    at = [row[1] for row in world.db.execute("PRAGMA table_info(ledger)")].index("changed")
    assert [*after[:at], *after[at + 1 :]] == [*before[:at], *before[at + 1 :]]
    shape = call_json(call, now=world.now, mono_now=None, writer_dead=None)
    assert (shape["verdict"], shape["evidence"]) == ("landed", list(call.evidence))
    assert json.loads(json.dumps(shape)) == shape


def test_the_newest_verdict_stands(world: World) -> None:
    number = world.call("patch", {})
    world.db.execute("BEGIN")
    keep(world.db, [(number, unknown(1.0, "why"))])
    keep(world.db, [(number, absent(2.0, "gone"))])
    world.db.execute("COMMIT")
    assert read(world)[number].verdict == "absent"
    assert world.db.execute("SELECT count(*) FROM verdict").fetchone() == (1,)


def test_many_are_written_in_bites_and_read_by_verdict(world: World) -> None:
    numbers = [world.call("patch", {}) for _ in range(450)]
    save(world.paths.ledger, [(number, landed(5.0, "there")) for number in numbers[:449]])
    assert len(read(world, wanted=Filter(verdicts=frozenset({"landed"})))) == 449


def test_pruning_takes_the_verdicts_along(world: World) -> None:
    for number in (
        world.done("patch", {}, at=world.before),
        world.call("patch", {}),
        world.done("patch", {}, at=world.before),
    ):
        save(world.paths.ledger, [(number, landed(5.0, "there"))])
    assert prune.prune(world.paths.ledger, 2) == 1
    assert world.db.execute("SELECT ledger_id FROM verdict").fetchall() == [(2,), (3,)]


def test_strange_cells_do_no_harm(world: World) -> None:
    number = world.call("patch", {})
    world.db.execute("INSERT INTO verdict VALUES(?, ?, 'no json', '')", (number, "lan\x1bded"))
    call = read(world)[number]
    assert (call.verdict, call.evidence) == ("lan\\u001bded", ())


def test_a_ledger_that_is_not_ours_is_not_written(world: World) -> None:
    path = world.work / "other.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    with pytest.raises(ForeignSchemaError):
        save(path, [(1, landed(5.0, "there"))])
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("ledger",)]


# -- doubles -----------------------------------------------------------------------------------------------------------


def doubles(world: World) -> dict[int, int | None]:
    return {number: call.double_id for number, call in read(world).items()}


def test_a_lost_call_and_its_confirmed_repeat_name_each_other(world: World) -> None:
    lost = world.call("terminal", {"command": "pay"})
    again = world.done("terminal", {"command": "pay"}, at=world.before + 5, repeat_of=lost)
    assert doubles(world) == {lost: again, again: lost}
    told = read(world)
    assert any(f"confirmed later, as call {again}" in text for text in queries.remarks(told[lost]))
    assert any(f"before, as call {lost}" in text for text in queries.remarks(told[again]))


def test_an_error_counts_as_well_unless_it_never_started(world: World) -> None:
    failed = world.call("terminal", {}, status="ERROR:timeout", effect="unknown")
    refused = world.call("terminal", {}, status="ERROR:blocked", effect="none", repeat_of=failed)
    again = world.done("terminal", {}, at=world.before + 5, repeat_of=failed)
    assert doubles(world) == {failed: again, refused: None, again: failed}


def test_of_many_repeats_each_names_the_nearest(world: World) -> None:
    first = world.done("terminal", {}, at=world.before)
    lost = world.call("terminal", {}, repeat_of=first)
    pending = world.call("terminal", {}, repeat_of=first, status="PENDING", effect=None)
    third = world.done("terminal", {}, at=world.before + 5, repeat_of=first)
    fourth = world.done("terminal", {}, at=world.before + 6, repeat_of=first)
    assert doubles(world) == {first: None, lost: third, pending: third, third: pending, fourth: pending}


def test_a_ledger_without_these_columns_has_no_doubles_and_no_verdicts(world: World) -> None:
    sql, _ = queries.calls(["id", "ts", "tool_name", "status", "args_json"])
    assert "verdict v" not in sql
    assert "ledger o" not in sql
