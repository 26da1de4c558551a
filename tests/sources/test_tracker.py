"""What a look finds, and what it costs."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine import queries, schema
from agent_ledger.engine.records import Call
from ledger_tui.sources.guard import connect
from ledger_tui.sources.reading import Totals
from ledger_tui.sources.tracker import RECOUNT_S, Delta, Tracker

from .conftest import make_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def reader(ledger: Path) -> Iterator[sqlite3.Connection]:
    make_ledger(ledger, 0)
    with closing(connect(ledger, timeout_s=1)) as connection:
        yield connection


@pytest.fixture
def writer(ledger: Path, reader: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
        yield connection


def drain(tracker: Tracker, reader: sqlite3.Connection, now: float = 0.0) -> list[Delta]:
    found = []
    while (delta := tracker.advance(reader, now)) is not None:
        found.append(delta)
        if not delta.more:
            break
    return found


def ids(delta: Delta) -> list[int]:
    return [call.id for call in delta.calls]


def add(writer: sqlite3.Connection, status: str, changed: int | None, reported: str | None = None) -> int:
    return int(
        writer.execute(
            "INSERT INTO ledger(ts, tool_name, status, changed, reported_ts) VALUES('2026-01-02', 't', ?, ?, ?)"
            " RETURNING id",
            (status, changed, reported),
        ).fetchall()[0][0]
    )


def test_nothing_new_is_none(reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
    tracker = Tracker()
    add(writer, "PENDING", 1)
    assert len(drain(tracker, reader)) == 1
    assert tracker.advance(reader, 0.0) is None


def test_first_reading_brings_old_unsettled_rows_in_further_messages(
    reader: sqlite3.Connection, writer: sqlite3.Connection
) -> None:
    for number in range(1, 13):
        add(writer, "PENDING" if number <= 8 else "CONFIRMED", number)
    messages = drain(Tracker(page=5, newest=3), reader)
    assert [(delta.reset, ids(delta), delta.more) for delta in messages] == [
        (True, [7, 8, 10, 11, 12], True),
        (False, [2, 3, 4, 5, 6], True),
        (False, [1], False),
    ]
    assert messages[0].totals == Totals(rows=12, pending=8, confirmed=4)


def test_many_changes_come_in_order_and_in_parts(reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
    tracker = Tracker(page=4)
    drain(tracker, reader)
    for number in range(1, 7):
        add(writer, "PENDING", 10 * number)
    writer.execute("UPDATE ledger SET status = 'CONFIRMED', changed = 100 WHERE id = 2")
    messages = drain(tracker, reader)
    assert [row for delta in messages for row in ids(delta)] == [1, 3, 4, 5, 6, 2]
    assert all(len(delta.calls) <= 4 for delta in messages)
    assert messages[-1].totals == Totals(rows=6, pending=5, confirmed=1)


def test_rows_that_share_a_counter_at_the_end_of_a_part_are_not_lost(
    reader: sqlite3.Connection, writer: sqlite3.Connection
) -> None:
    tracker = Tracker(page=3)
    drain(tracker, reader)
    for changed in (1, 2, 2, 3):
        add(writer, "PENDING", changed)
    messages = drain(tracker, reader)
    assert [row for delta in messages for row in ids(delta)] == [1, 2, 3, 4]
    assert messages[-1].totals == Totals(rows=4, pending=4)


def test_rows_of_other_software_in_our_ledger_are_seen(reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
    tracker = Tracker()
    add(writer, "PENDING", 1)
    drain(tracker, reader)
    add(writer, "PENDING", None)
    assert [ids(delta) for delta in drain(tracker, reader)] == [[2]]
    writer.execute("UPDATE ledger SET status = 'ERROR:x' WHERE id = 2")
    (delta,) = drain(tracker, reader)
    assert (ids(delta), delta.totals) == ([2], Totals(rows=2, pending=1, error=1))
    assert tracker.advance(reader, 0.0) is None


def test_a_row_deleted_in_the_middle_is_missed_at_the_next_count(
    reader: sqlite3.Connection, writer: sqlite3.Connection
) -> None:
    tracker = Tracker()
    for changed in (1, 2, 3):
        add(writer, "CONFIRMED", changed)
    drain(tracker, reader)
    writer.execute("DELETE FROM ledger WHERE id = 2")
    assert tracker.advance(reader, RECOUNT_S - 1) is None
    found = tracker.advance(reader, RECOUNT_S)
    assert found is not None
    assert (found.reset, ids(found), found.totals.rows) == (True, [1, 3], 2)


def test_a_file_restored_from_an_older_copy_is_read_anew(
    reader: sqlite3.Connection, writer: sqlite3.Connection
) -> None:
    tracker = Tracker()
    add(writer, "PENDING", 1)
    add(writer, "PENDING", 2)
    drain(tracker, reader)
    writer.execute("UPDATE ledger SET changed = 0 WHERE id = 2")
    (delta,) = drain(tracker, reader)
    assert delta.reset
    writer.execute("DELETE FROM ledger WHERE id = 2")
    (delta,) = drain(tracker, reader)
    assert (delta.reset, delta.totals.rows) == (True, 1)
    writer.execute("DELETE FROM ledger")
    (delta,) = drain(tracker, reader)
    assert (delta.reset, delta.totals, delta.gone_through) == (True, Totals(), None)


def test_columns_that_are_added_are_used(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts, tool_name, status, args_json)")
        writer.execute("INSERT INTO ledger VALUES(1, 1.5, 'terminal', 'PENDING', '{}')")
        with closing(connect(path, timeout_s=1)) as reader:
            tracker = Tracker()
            drain(tracker, reader)
            assert tracker.shape.foreign
            schema.prepare(writer)
            (delta,) = drain(tracker, reader)
            assert (delta.reset, tracker.shape.foreign) == (True, False)
            writer.execute("UPDATE ledger SET status = 'CONFIRMED', session_id = 's', changed = 5")
            (delta,) = drain(tracker, reader)
            assert (delta.reset, delta.calls[0].session_id) == (False, "s")


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_kept_counts_equal_counted_ones_whatever_happens(tmp_path: Path, mode: str) -> None:
    """A thousand steps of a writer; what the messages add up to is compared with the file after each few."""
    path = tmp_path / "ledger.db"
    make_ledger(path, 40, mode=mode, status="CASE n % 4 WHEN 0 THEN 'PENDING' ELSE 'CONFIRMED' END")
    dice = random.Random(20260102)
    told: dict[int, Call] = {}
    with closing(sqlite3.connect(path, isolation_level=None)) as writer, closing(connect(path, timeout_s=1)) as reader:
        tracker = Tracker(page=7, newest=10)
        for step in range(1000):
            _random_step(dice, writer, 1000 + step)
            if dice.random() < 0.3:
                last = None
                for last in drain(tracker, reader):
                    told = {} if last.reset else told
                    told |= {call.id: call for call in last.calls}
                columns = tracker.shape.columns
                rows, pending, ghost, error, revived = writer.execute(*queries.totals(columns)).fetchall()[0]
                if last is not None:
                    kept = last.totals
                    assert (kept.rows, kept.pending, kept.ghost, kept.error, kept.revived) == (
                        rows, pending, ghost, error, revived,
                    )  # fmt: skip
                unsettled = {row[0] for row in writer.execute(*queries.unsettled(columns)).fetchall()}
                assert {key for key, call in told.items() if not call.settled} == unsettled


def test_first_counts_are_exact_though_a_writer_gets_its_turn_between_the_parts(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, 3_000, mode="delete", status="CASE n % 3 WHEN 0 THEN 'PENDING' ELSE 'CONFIRMED' END")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer, closing(connect(path, timeout_s=1)) as reader:
        turns = 0

        def write_between(statement: str) -> None:
            nonlocal turns
            if statement == "BEGIN":
                turns += 1
                changed = 100_000 + 10 * turns
                add(writer, "PENDING", changed)
                for end, order in ((1, "id"), (2, "id DESC")):
                    writer.execute(
                        "UPDATE ledger SET status = 'CONFIRMED', changed = ? WHERE id = (SELECT id FROM ledger"
                        f" WHERE status = 'PENDING' ORDER BY {order} LIMIT 1)",
                        (changed + end,),
                    )

        tracker = Tracker(slice_s=0.0)
        reader.set_trace_callback(write_between)
        first = tracker.advance(reader, 0.0)
        reader.set_trace_callback(None)
        assert first is not None
        last = [first, *drain(tracker, reader)][-1]
        assert turns > 3
        expected = Totals(rows=3_000 + turns, pending=1_000 - turns, confirmed=2_000 + 2 * turns)
        assert last.totals == expected
        assert tracker.advance(reader, 100.0) is None


def _random_step(dice: random.Random, writer: sqlite3.Connection, changed: int) -> None:
    match dice.choice(("issue", "issue", "issue", "settle", "settle", "ghost", "later", "prune", "roll back")):
        case "issue":
            add(writer, "PENDING", changed)
        case "settle":
            status = dice.choice(("CONFIRMED", "ERROR:timeout"))
            writer.execute(
                "UPDATE ledger SET status = ?, changed = ? WHERE id = (SELECT id FROM ledger"
                " WHERE status IN ('PENDING', 'GHOST_REPORTED') ORDER BY random() LIMIT 1)",
                (status, changed),
            )
        case "ghost":
            writer.execute(
                "UPDATE ledger SET status = 'GHOST_REPORTED', reported_ts = 'x', changed = ?"
                " WHERE id = (SELECT min(id) FROM ledger WHERE status = 'PENDING')",
                (changed,),
            )
        case "later":
            writer.execute(
                "UPDATE ledger SET later_status = 'CONFIRMED', changed = ? WHERE id = (SELECT max(id) - 3 FROM ledger)",
                (changed,),
            )
        case "prune":
            if dice.random() < 0.1:
                writer.execute("DELETE FROM ledger WHERE id < (SELECT max(id) - 30 FROM ledger)")
        case "roll back":
            writer.execute("BEGIN")
            add(writer, "PENDING", changed)
            writer.execute("ROLLBACK")


def test_a_large_ledger_costs_the_same_statements_and_never_a_scan_of_its_rows(tmp_path: Path) -> None:
    asked: dict[int, list[str]] = {}
    for rows in (1_000, 200_000):
        path = tmp_path / f"{rows}.db"
        make_ledger(path, rows, status=f"CASE n % {rows // 10} WHEN 1 THEN 'PENDING' ELSE 'CONFIRMED' END")
        with closing(connect(path, timeout_s=1)) as reader:
            asked[rows] = []
            reader.set_trace_callback(asked[rows].append)
            (delta,) = drain(Tracker(), reader)
            reader.set_trace_callback(None)
            assert delta.totals.rows == rows
            for sql in asked[rows]:
                if sql.startswith("SELECT") and "FROM ledger" in sql:
                    for *_, step in reader.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall():
                        # Counting walks an index; in key order with a LIMIT, a scan is a walk of the first rows.
                        counts = sql.startswith("SELECT (SELECT count(*)") and "INDEX" in step
                        assert not step.startswith("SCAN ledger") or counts or "LIMIT 500" in sql, (step, sql)
    small, large = ([sql.split("WHERE")[0] for sql in asked[rows]] for rows in (1_000, 200_000))
    assert small == large
