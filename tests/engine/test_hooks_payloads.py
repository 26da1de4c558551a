"""Payloads of any type: no hook raises, none changes what it was given, and homes stay apart."""

from __future__ import annotations

import copy
import json
import logging
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agent_ledger as door

from .homes import Home, read_rows

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=8)
    | st.sampled_from(["", "s1", "c1", "write_file", "terminal", "ok", "error", 10**30, -(10**30), "\ud800", "\x00"])
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)
names = ["tool_name", "args", "task_id", "session_id", "tool_call_id", "turn_id", "api_request_id"]
call_payloads = st.fixed_dictionaries({}, optional=dict.fromkeys([*names, "extra"], values))
post_payloads = st.fixed_dictionaries(
    {}, optional=dict.fromkeys([*names, "result", "duration_ms", "status", "error_type", "error_message"], values)
)
turn_payloads = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(["session_id", "turn_id", "task_id", "conversation_history", "user_message"], values)
)


def copied(value: Any) -> str:
    return repr(value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=call_payloads, after=post_payloads, turn=turn_payloads, start=turn_payloads)
def test_no_payload_makes_a_hook_raise_or_is_changed_by_it(
    home: Home, before: dict[str, Any], after: dict[str, Any], turn: dict[str, Any], start: dict[str, Any]
) -> None:
    for hook, payload in (
        ("on_session_start", start),
        ("pre_tool_call", before),
        ("post_tool_call", after),
        ("pre_llm_call", turn),
    ):
        shown = copied(payload)
        answer = getattr(door, hook)(**payload)
        assert copied(payload) == shown
        assert answer is None or (hook == "pre_llm_call" and set(answer) == {"context"})
    result = object()
    assert door.tool_execution(next_call=lambda args: result, **before) is result


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(args=values, result=values, status=scalars, error_type=scalars, duration=scalars)
def test_whatever_the_arguments_are_the_call_is_recorded_and_settled(
    home: Home, args: Any, result: Any, status: Any, error_type: Any, duration: Any
) -> None:
    home.clock.advance(1)
    call = f"c{home.clock.mono_offset}"
    payload = home._payload("write_file", None, call, {})
    payload["args"] = args
    before = copied(args)
    door.pre_tool_call(**payload)
    door.post_tool_call(**payload, result=result, status=status, error_type=error_type, duration_ms=duration)
    assert copied(args) == before
    home.merged()
    (row,) = read_rows(home.paths, f"tool_call_id='{call}'")
    assert row["status"] == "CONFIRMED" or row["status"].startswith("ERROR:")
    assert row["effect"] in ("done", "none", "unknown")
    assert len(row["args_json"]) <= 4000
    assert len(row["result_digest"] or "") <= 300


class Unfriendly:
    """An object on which everything fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]  # as Python has it beside an __eq__


@pytest.mark.parametrize(
    "place", ["tool_name", "session_id", "tool_call_id", "status", "args", "result", "duration_ms"]
)
def test_objects_on_which_everything_fails(home: Home, place: str) -> None:
    payload = home._payload("write_file", None, "c1", {})
    door.pre_tool_call(**{**payload, **({place: Unfriendly()} if place in payload else {})})
    door.post_tool_call(**{**payload, "result": "x", "status": "ok", place: Unfriendly()})
    assert home.turn() == ""


@pytest.mark.parametrize("value", [Unfriendly(), 10**5_000, -(10**5_000)], ids=["odd", "long", "negative"])
def test_ids_of_which_no_text_can_be_had_reach_the_host_from_no_hook(home: Home, value: Any) -> None:
    names = ("session_id", "turn_id", "tool_call_id", "task_id", "api_request_id")
    payload = {**home._payload("write_file", None, "c1", {}), **dict.fromkeys(names, value)}
    door.on_session_start(**payload)
    assert door.pre_llm_call(**payload, user_message=value, conversation_history=value) is None
    door._refused_turns["another"] = "a rule"
    try:
        assert door.pre_tool_call(**payload) is None
    finally:
        door._refused_turns.clear()
    assert door.tool_execution(next_call=lambda args: (args, "done"), **payload) == (payload["args"], "done")
    door.post_tool_call(**payload, result=value, status="ok", duration_ms=value)
    assert home.statuses() == ["CONFIRMED"]


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize("redact", ["true", "false"])
@pytest.mark.parametrize("depth", [100, 900, 5000])
def test_deeply_nested_arguments_are_recorded(home: Home, depth: int, redact: str) -> None:
    home.paths.data.mkdir(parents=True)
    home.paths.settings.write_text(f'{{"redact": {redact}}}')
    home.pre(args=nested(depth))
    home.post(args=nested(depth), result=nested(depth))
    assert home.only()["status"] == "CONFIRMED"


def test_arguments_that_hold_themselves_are_recorded(home: Home) -> None:
    args: dict[str, Any] = {"path": "/a"}
    args["self"] = args
    home.pre(args=args)
    home.post(args=args)
    assert home.only()["status"] == "CONFIRMED"


def test_long_arguments_are_cut_and_still_compared_as_a_whole(home: Home) -> None:
    long = {"path": "/a", "content": "é" * 10_000}
    other = {"path": "/a", "content": "é" * 9_999 + "x"}
    home.pre(args=long, call="c1")
    home.pre(args=other, call="c2")
    home.pre(args=copy.deepcopy(long), call="c3")
    first, second, third = home.rows()
    assert len(first["args_json"]) == 4000
    assert first["args_json"] == second["args_json"]
    assert (first["args_cut"], second["repeat_of"], third["repeat_of"]) == (1, None, first["id"])
    hashes = json.loads(first["value_hashes"])
    assert set(hashes) == {"path", "content"}
    assert hashes["path"] == json.loads(second["value_hashes"])["path"]
    assert hashes["content"] != json.loads(second["value_hashes"])["content"]


def test_one_complaint_in_the_log_for_each_kind_of_trouble(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise LookupError("broken")

    monkeypatch.setattr(door, "recorder", broken)
    monkeypatch.setattr(door, "_complained", set())
    caplog.set_level(logging.WARNING)
    for _ in range(5):
        home.pre()
        home.post()
    assert len(caplog.records) == 2


def test_a_complaint_says_what_came_of_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise LookupError("broken")

    monkeypatch.setattr(door, "recorder", broken)
    monkeypatch.setattr(door, "_home", broken)
    monkeypatch.setattr(door, "_complained", set())
    caplog.set_level(logging.WARNING)
    home.pre()
    home.returned("done")
    home.post()
    home.start()
    home.turn(at_once=True)
    door.chat_command("")
    assert [record.getMessage().partition("agent-ledger: ")[2] for record in caplog.records] == [
        "pre_tool_call failed (broken); this call may be missing from the ledger",
        "tool_execution failed (broken); how this call ended may be missing from the ledger",
        "post_tool_call failed (broken); how this call ended may be missing from the ledger",
        "on_session_start failed (broken); no call is lost by it; what waits in the spool may wait longer",
        "pre_llm_call failed (broken); no prompt policy judged this message",
        "pre_llm_call failed (broken); the agent may not have been told in this turn which calls were lost",
        "/ledger failed (broken); nothing was shown; what is recorded is untouched",
    ]


def test_homes_of_one_process_stay_apart(new_home: Callable[[str], Home], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = new_home("a"), new_home("b")
    for n in range(10):
        for home, name in ((first, "a"), (second, "b")):
            monkeypatch.setenv("HERMES_HOME", str(home.folder))
            home.pre(args={"path": f"/{n}"}, call=f"{name}{n}")
    for n in range(10):
        for home, name in ((first, "a"), (second, "b")):
            monkeypatch.setenv("HERMES_HOME", str(home.folder))
            home.post(args={"path": f"/{n}"}, call=f"{name}{n}")
    for home, name in ((first, "a"), (second, "b")):
        assert [row["tool_call_id"] for row in home.rows()] == [f"{name}{n}" for n in range(10)]
        assert set(home.statuses()) == {"CONFIRMED"}
    first.clock.advance(200)
    second.clock.advance(200)
    monkeypatch.setenv("HERMES_HOME", str(first.folder))
    first.pre(call="lost")
    first.clock.advance(200)
    monkeypatch.setenv("HERMES_HOME", str(second.folder))
    assert second.turn() == ""


def test_the_running_host_s_own_answer_names_the_home(
    new_home: Callable[[str], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    named, other = new_home("named"), new_home("environment")
    host = types.ModuleType("hermes_constants")
    monkeypatch.setattr(host, "get_hermes_home", lambda: named.folder, raising=False)
    monkeypatch.setitem(sys.modules, "hermes_constants", host)
    named.pre()
    assert named.statuses() == ["PENDING"]
    assert not other.paths.data.exists()
