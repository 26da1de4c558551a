"""Text in cells, times in few cells, and one call in a line. All values worked out by hand."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert, utc_text
from widgets import look
from widgets.call_text import gist, outcome, readable_head, took_ms

from .ledgers import NOW, a_call


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m 00s"),
        (3599, "59m 59s"),
        (3600, "1h 00m"),
        (86_400 + 7200, "1d 02h"),
        (100 * 86_400 + 7200, "100d"),
        (None, "?"),
        (-5, "0s"),
    ],
)
def test_age(seconds: float | None, text: str) -> None:
    assert look.age_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0:00"), (0.2, "0:01"), (60.0, "1:00"), (107.5, "1:48"), (3723.0, "1:02:03"), (360_000.0, "4d 04h")],
)
def test_countdown_rounds_up_so_that_zero_means_now(seconds: float, text: str) -> None:
    assert look.countdown_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s late"),
        (59.9, "59s late"),
        (180, "3m late"),
        (36_120, "10h late"),
        (90_000, "1d late"),
        (365 * 86_400 - 1, "364d late"),
        (3 * 365 * 86_400, "3y late"),
    ],
)
def test_late_is_told_in_one_unit_that_always_fits(seconds: float, text: str) -> None:
    assert look.late_text(seconds) == text
    assert len(text) <= 9


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(None, ""), (8, "8ms"), (1449, "1.4s"), (59_900, "59.9s"), (125_000, "2m 05s")]
)
def test_took(milliseconds: int | None, text: str) -> None:
    assert look.took_text(milliseconds) == text


def test_clock() -> None:
    assert look.clock_text(NOW - 3661, NOW, UTC) == "10:58:59"
    assert look.clock_text(NOW - 86_400, NOW, UTC) == "05-29 12:00"
    assert look.clock_text(NOW - 200 * 86_400, NOW, UTC) == "2025-11-11"
    assert look.short_clock_text(NOW - 86_400, NOW, UTC) == "05-29"
    assert look.short_clock_text(NOW - 200 * 86_400, NOW, UTC) == "2025-11"
    assert look.clock_text(None, NOW, UTC) == "?"


def test_counts() -> None:
    assert look.count_text(1_204_331) == "1,204,331"
    assert [look.short_count(n) for n in (999, 1000, 999_999, 3_000_000)] == ["999", "1k", "999k", "3M"]


@pytest.mark.parametrize(
    ("text", "width", "fitted"),
    [
        ("abc", 5, "abc  "),
        ("abcdef", 5, "abcd…"),
        ("五月の予算", 10, "五月の予算"),
        ("五月の予算", 9, "五月の予…"),
        ("五月の予算", 8, "五月の… "),
        ("❤\ufe0fx", 4, "❤x  "),
        ("e" + "\u0301" * 9, 3, "e\u0301\u0301  "),
        ("abc", 0, ""),
    ],
)
def test_fit(text: str, width: int, fitted: str) -> None:
    assert look.fit(text, width) == fitted


@given(st.text(max_size=60), st.integers(0, 40))
def test_a_cell_is_as_wide_as_it_says(text: str, width: int) -> None:
    """Whatever an agent wrote, once it is inert."""
    assert cell_len(look.fit(inert(text), width)) == width
    assert cell_len(look.fit_right(inert(text), width)) == width
    assert cell_len(look.fit_tail(inert(text), width)) == width


def test_ids_keep_their_ends() -> None:
    assert look.fit_tail("20260530_114502_77b0de", 9) == "…2_77b0de"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ('{"command": "make", "timeout": 5}', "make  timeout=5"),
        ('{"name": "backup", "action": "create"}', "create  backup"),
        ('{"to": ["a", "b"], "urgent": true}', 'to=["a", "b"]  urgent=true'),
        ("[1, 2]", "[1, 2]"),
        ("not json", "not json"),
        ('{"command": "a\\u001b[2Jb\\nc"}', "a\\u001b[2Jb\\nc"),
    ],
)
def test_gist(args: str, text: str) -> None:
    assert gist(a_call(args_json=Inert(args))) == text


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ('{"path": "site/prices.html", "content": "<table>\\n<tr', "site/prices.html  content=<table>\\n<tr…"),
        ('{"timeout": 5, "command": "cat <<', "cat <<…  timeout=5"),
        ('{"path": "a.md", "cont', "a.md  …"),
        ('{"path": "a.md"', "a.md…"),
        ('{"path": "a.md", ', "a.md  …"),
        ('{"path": "a.md", "n": 12', "a.md  n=12…"),
        ('{"edits": [{"old": "x", "new', 'edits=[{"old": "x", "new…'),
        ('{"command": "a\\u00', "a…"),
        ('{"command": "a\\\\', "a\\…"),
        ('{"command": "', "…"),
        ('{"comm', '{"comm'),
        ("{", "{"),
        ("not json", "not json"),
        ('["a", "b', '["a", "b'),
    ],
)
def test_the_gist_of_cut_arguments_tells_what_can_be_read(stored: str, text: str) -> None:
    assert gist(a_call(args_json=Inert(stored), args_cut=True)) == text


def test_a_call_without_arguments_has_no_gist() -> None:
    assert gist(a_call(args_json=None)) == ""
    assert gist(a_call(args_json=Inert("{}"))) == ""


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(st.integers() | st.text(max_size=9) | st.none(), lambda one: st.lists(one, max_size=3)),
        max_size=4,
    ),
    st.integers(0, 80),
)
def test_arguments_can_be_cut_anywhere(args: dict[str, object], at: int) -> None:
    """What can be read of them is what stands in them, but for the value that the cut went through."""
    found, lost = readable_head(json.dumps(args)[:at])
    names = list(found or {})
    assert names == list(args)[: len(names)]
    whole = names if lost else names[:-1]
    assert found is None or {name: found[name] for name in whole} == {name: args[name] for name in whole}


def test_took_is_measured_or_counted_between_issue_and_outcome() -> None:
    def took(**changes: Any) -> float | None:
        return took_ms(a_call(status=Inert("CONFIRMED"), **changes))

    later = Inert(utc_text(NOW - 7.75))
    assert took(settled_ts=later, duration_ms=40) == 40
    assert took(settled_ts=later) == 2250.0
    assert took(settled_ts=None) is None
    assert took(settled_ts=later, at=None) is None
    assert took(settled_ts=Inert(utc_text(NOW - 11))) is None, "a clock that went back measures nothing"
    assert took(settled_ts=later, closed_by="no-pre") is None, "its issue was never seen"
    assert took_ms(a_call(settled_ts=later)) is None, "it goes on"


def test_outcome() -> None:
    call = a_call(
        status=Inert("ERROR:timeout"), exit_code=124, result_digest=Inert("no output"), later_status=Inert("CONFIRMED")
    )
    assert outcome(call) == "timeout · later CONFIRMED · exit 124 · no output"
    assert outcome(a_call(status=Inert("CONFIRMED"))) == ""
