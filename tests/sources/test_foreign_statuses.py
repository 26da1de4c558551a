"""A ledger by other software with statuses that are none of the four: every count and every list agrees."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import queries, schema
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import STATES, state_of
from ledger_tui.sources import parts, reading
from ledger_tui.sources.counted import kind_of
from widgets.call_text import error_type

STATUSES: tuple[Any, ...] = (
    "PENDING", "CONFIRMED", "ERROR:timeout", "GHOST_REPORTED",
    None, "", "success", "pending", "Confirmed", b"PENDING", "PENDING ",
)  # fmt: skip
KINDS = {"pending": 1, "ghost": 1, "confirmed": 1, "error": 8, "revived": 0}


@pytest.fixture(params=["bare", "adopted"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """One row for each of `STATUSES`; once as other software made the file, once widened by the plugin."""
    connection = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(
        "CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)"
    )
    for status in STATUSES:
        connection.execute("INSERT INTO ledger(ts, tool_name, status) VALUES(1700000000, 'patch', ?)", (status,))
    if request.param == "adopted":
        schema.prepare(connection)
    yield connection
    connection.close()


@pytest.mark.parametrize("wal", [True, False])
def test_counts_and_lists_agree(ledger: sqlite3.Connection, wal: bool) -> None:
    if not wal:
        ledger.execute("PRAGMA journal_mode=DELETE")
    shape = reading.read_shape(ledger)
    totals = parts.read_totals(ledger, shape)
    assert {name: getattr(totals, name) for name in KINDS} == KINDS
    assert totals.rows == len(STATUSES) == sum(KINDS.values())
    (session,) = parts.read_session_totals(ledger, shape)
    assert {name: getattr(session, name) for name in KINDS} == KINDS
    calls = parts.read_calls(ledger, shape)
    assert Counter(map(kind_of, calls)) == Counter(KINDS)
    assert Counter(state_of(call, age_s=1.0) for call in calls) == Counter(KINDS)
    for state in STATES:
        listed = parts.read_calls(ledger, shape, Filter(states=frozenset({state})))
        assert len(listed) == KINDS.get(state, KINDS["pending"])


def test_a_reported_row_of_no_known_status_is_revived_everywhere(ledger: sqlite3.Connection) -> None:
    shape = reading.read_shape(ledger)
    if "reported_ts" not in shape.columns:
        return
    ledger.execute("UPDATE ledger SET reported_ts = '2026-01-01' WHERE status IS NULL OR status = 'success'")
    assert parts.read_totals(ledger, shape).revived == 2
    assert parts.read_totals(ledger, shape).error == 6
    assert parts.read_session_totals(ledger, shape)[0].revived == 2
    assert len(parts.read_calls(ledger, shape, Filter(states=frozenset({"revived"})))) == 2
    assert sum(kind_of(call) == "revived" for call in parts.read_calls(ledger, shape)) == 2


def test_they_are_called_unknown(ledger: sqlite3.Connection) -> None:
    calls = {call.id: call for call in parts.read_calls(ledger, reading.read_shape(ledger))}
    assert error_type(calls[5]) == "unknown"
    assert error_type(calls[7]) == "unknown (success)"
    assert error_type(calls[10]) == "unknown (b'PENDING')"
    for number in range(5, 12):
        assert "The status is none of the four, so what became of this call is unknown." in queries.remarks(
            calls[number]
        )
    for number in range(1, 5):
        assert not any("none of the four" in remark for remark in queries.remarks(calls[number]))
