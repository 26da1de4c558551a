"""States, ages and times, with values worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine import queries, schema
from agent_ledger.engine.records import STATES, age_of, args_value, state_of, storable, utc_seconds, utc_text

BASE = queries.call_from_row([None if name != "id" else 1 for name in queries._CALL_COLUMNS])


def call(**values: Any) -> Any:
    return replace(BASE, **{"status": "PENDING", "grace_s": 120.0, "at": 1000.0, **values})


@pytest.mark.parametrize(
    ("values", "age", "dead", "state"),
    [
        ({}, 0.0, False, "pending"),
        ({}, 120.0, False, "pending"),
        ({}, 120.001, False, "overdue"),
        ({}, 1.0, True, "overdue"),
        ({}, None, False, "overdue"),
        ({"no_signal": True}, 9999.0, False, "pending"),
        ({"no_signal": True}, 9999.0, True, "pending"),
        ({"status": "GHOST_REPORTED"}, 1.0, False, "ghost"),
        ({"status": "GHOST_REPORTED", "reported_ts": "x"}, 1.0, True, "ghost"),
        ({"status": "CONFIRMED"}, 9999.0, True, "confirmed"),
        ({"status": "CONFIRMED", "reported_ts": "x"}, 1.0, False, "revived"),
        ({"status": "ERROR:timeout"}, 1.0, False, "error"),
        ({"status": "ERROR:timeout", "reported_ts": "x"}, 1.0, False, "revived"),
        ({"status": "something else"}, 1.0, False, "error"),
    ],
)
def test_each_row_is_in_one_state(values: dict[str, Any], age: float | None, dead: bool, state: str) -> None:
    assert state_of(call(**values), age_s=age, writer_dead=dead) == state
    assert state in STATES


@pytest.mark.parametrize(
    ("at", "mono", "now", "mono_now", "age"),
    [
        (1000.0, 50.0, 1010.0, 60.0, 10.0),
        (1000.0, 50.0, 5000.0, 60.0, 10.0),  # the wall clock jumped forward
        (1000.0, 50.0, 900.0, 60.0, 0.0),  # and back: never negative
        (1000.0, 50.0, 1010.0, None, 10.0),  # another machine: only the wall clock means something
        (1000.0, None, 1010.0, 60.0, 10.0),
        (1000.0, 90.0, 1010.0, 60.0, 10.0),  # a monotonic clock of another boot
        (None, 50.0, 1010.0, 60.0, None),
    ],
)
def test_age(at: float | None, mono: float | None, now: float, mono_now: float | None, age: float | None) -> None:
    assert age_of(call(at=at, mono=mono), now=now, mono_now=mono_now) == age


def test_times() -> None:
    assert utc_text(0.0) == "1970-01-01T00:00:00.000Z"
    assert utc_text(1_780_142_400.5) == "2026-05-30T12:00:00.500Z"
    assert utc_seconds("2026-05-30T12:00:00.500Z") == 1_780_142_400.5
    assert utc_seconds("2026-05-30T14:00:00+02:00") == 1_780_142_400.0
    assert utc_seconds("2026-05-30 12:00:00") == 1_780_142_400.0
    assert utc_seconds(1_780_142_400) == 1_780_142_400.0
    for odd in (None, True, "yesterday", "", -1, 1e12, float("nan"), b"2026", [1]):
        assert utc_seconds(odd) is None


@given(st.integers(0, 4_000_000_000_000))
def test_a_time_comes_back_to_the_millisecond_and_sorts_as_text(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    back = utc_seconds(utc_text(seconds))
    assert back is not None
    assert abs(back - seconds) < 0.0011
    assert utc_text(seconds) <= utc_text(seconds + 0.002)


def test_arguments_come_back_as_json_only_where_they_are_whole() -> None:
    assert args_value(call(args_json='{"a": 1}')) == {"a": 1}
    assert args_value(call(args_json='{"a": 1}', args_cut=True)) == '{"a": 1}'
    assert args_value(call(args_json='{"a":')) == '{"a":'
    assert args_value(call(args_json='{"a": NaN}')) == {"a": "NaN"}
    assert args_value(call(args_json=None)) is None


def test_indented_json_of_other_software_is_still_json() -> None:
    row: list[Any] = [None] * len(queries._CALL_COLUMNS)
    row[queries._CALL_COLUMNS.index("id")] = 1
    row[queries._CALL_COLUMNS.index("args_json")] = '{\n  "a": "b\\nc \u202e"\n}'
    made = queries.call_from_row(row)
    assert args_value(made) == {"a": "b\nc \u202e"}
    assert str(made.args_json).isprintable()


def test_half_characters_are_stored_as_escapes() -> None:
    assert storable("é \ud83d x") == "é \\ud83d x"


def test_the_schema_and_the_reader_agree() -> None:
    assert set(queries._CALL_COLUMNS) - set(queries._MADE) <= set(schema.COLUMNS)
