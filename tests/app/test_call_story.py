"""One call in full: its timeline, its verdict, its arguments."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from rich.console import Console

from agent_ledger.engine.records import Call, Inert, utc_text
from screens import call_story as story
from screens.calls_model import CallsModel

from .ledgers import NOW, Clock, a_call, a_change


def model_of(call: Call, **changes: Any) -> CallsModel:
    clock = Clock()
    model = CallsModel(clock, clock.mono)
    model.apply(a_change([call], reset=True, **changes))
    return model


def at(seconds: float) -> Inert:
    return Inert(utc_text(NOW + seconds))


def test_a_timeline_goes_by_time_and_counts_between() -> None:
    call = a_call(
        status=Inert("CONFIRMED"), reported_ts=at(-5), settled_ts=at(-2), duration_ms=8000,
        later_status=Inert("ERROR:x"), later_ts=at(-1), later_digest=Inert("gone"),
    )  # fmt: skip
    assert story.timeline(call, model_of(call), UTC).plain.split("\n") == [
        "2026-05-30",
        "○ 11:59:50.000  issued",
        "◆ 11:59:55.000  reported to the agent as lost  +5.0s",
        "↺ 11:59:58.000  settled: CONFIRMED, took 8.0s  +3.0s",
        "≠ 11:59:59.000  contradicted: ERROR:x  +1.0s",
        "                gone",
    ]


def test_a_timeline_without_times_keeps_its_order() -> None:
    call = a_call(at=None, ts=Inert("yesterday"), status=Inert("CONFIRMED"))
    assert story.timeline(call, model_of(call), UTC).plain.split("\n") == [
        "○ time unknown  issued",
        "✓ time unknown  settled: CONFIRMED",
    ]


@pytest.mark.parametrize(
    ("changes", "writers", "verdict"),
    [
        ({}, set(), "Counts as lost in 1:50"),
        ({"no_signal": True}, set(), "No confirmation is expected"),
        ({"grace_s": 4.0}, set(), "Confirmation was due 6s ago; the agent has not been told yet"),
        ({"writer_id": 7}, {7}, "Cannot be confirmed any more: its process is gone"),
        ({"status": Inert("CONFIRMED")}, set(), "The host confirmed it"),
        ({"status": Inert("ERROR:x")}, set(), "The host reported a failure"),
        (
            {"status": Inert("CONFIRMED"), "reported_ts": Inert("x")},
            set(),
            "Was reported as lost, and settled after all",
        ),
    ],
)
def test_verdict(changes: dict[str, Any], writers: set[int], verdict: str) -> None:
    call = a_call(**changes)
    assert story.verdict(call, model_of(call, dead_writers=frozenset(writers))) == verdict


def test_what_is_too_long_goes_on_under_its_value() -> None:
    call = a_call(turn_id=Inert("20260530_114502_77b0de:telegram:turn:0042"), grace_s=60.0)
    console = Console(width=34, color_system=None)
    with console.capture() as shown:
        console.print(story.hung(story.facts(call, "s1"), story.NAME_WIDTH))
    assert [line.rstrip() for line in shown.get().splitlines()] == [
        "session    s1",
        "turn       20260530_114502_77b0de:",
        "           telegram:turn:0042",
        "status     PENDING",
        "grace      1m 00s",
    ]


def test_arguments_are_indented_and_inert() -> None:
    call = a_call(args_json=Inert('{"command": "a\\u001b[2Jb", "n": [1]}'))
    assert story.arguments(call).plain.split("\n") == [
        "{",
        '  "command": "a\\u001b[2Jb",',
        '  "n": [',
        "    1",
        "  ]",
        "}",
    ]


def test_bidi_controls_in_arguments_are_written_out() -> None:
    call = a_call(args_json=Inert('{"path": "x\\u202ecod"}'))
    assert '"x\\u202ecod"' in story.arguments(call).plain


def test_cut_arguments_say_so() -> None:
    call = a_call(args_json=Inert('{"content": "lon'), args_cut=True)
    assert story.arguments(call).plain == '{"content": "lon\n… the rest was not stored'
    assert story.arguments(a_call(args_json=None)).plain == "none are stored"


def test_facts_leave_out_what_is_unknown() -> None:
    call = a_call(status=Inert("ERROR:blocked"), effect="none", exit_code=0)
    assert story.facts(call, "Nightly").plain.split("\n") == [
        "session    Nightly  s1",
        "status     ERROR:blocked",
        "effect     none: it never ran",
        "grace      2m 00s",
        "exit code  0",
    ]
