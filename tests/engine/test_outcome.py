"""What a host's report means: statuses and error types as Hermes 0.19 and 0.22 send them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ledger.engine.outcome import Outcome, judge, unannounced


def report(tool: str = "write_file", result: Any = "{}", **more: Any) -> Outcome:
    payload = {"status": None, "error_type": None, "duration_ms": 3, "redact": True, **more}
    return judge(tool_name=tool, result=result, **payload)


@pytest.mark.parametrize(
    ("status", "error_type", "result", "final", "effect"),
    [
        ("ok", None, '{"bytes_written": 3}', "CONFIRMED", "done"),
        ("ok", "", '{"error": "told as ok by the host"}', "CONFIRMED", "done"),
        ("error", "tool_error", "{}", "ERROR:tool_error", "unknown"),
        ("error", None, "{}", "ERROR:error", "unknown"),
        ("error", "ValueError", "{}", "ERROR:ValueError", "unknown"),
        ("blocked", "plugin_block", "{}", "ERROR:blocked", "none"),
        ("blocked", "guardrail_block", "{}", "ERROR:blocked", "none"),
        ("timeout", "tool_timeout", "{}", "ERROR:timeout", "unknown"),
        ("cancelled", "user_interrupt", "{}", "ERROR:cancelled", "unknown"),
        ("cancelled", "keyboard_interrupt", "{}", "ERROR:cancelled", "unknown"),
        ("error", "invalid_tool_arguments", "{}", "ERROR:invalid_tool_arguments", "none"),
        ("error", "suspected_pruned_tool_arguments", "{}", "ERROR:suspected_pruned_tool_arguments", "none"),
        ("error", "edit_approval_denied", "{}", "ERROR:edit_approval_denied", "none"),
        ("error", "thread_missing_result", None, "ERROR:thread_missing_result", "unknown"),
        (None, None, '{"error": "no such file"}', "ERROR:tool_error", "unknown"),
        (None, None, {"error": "no such file"}, "ERROR:tool_error", "unknown"),
        (None, None, '{"error": null}', "CONFIRMED", "done"),
        (None, None, "plain text with an error in it", "CONFIRMED", "done"),
        (None, "tool_error", "{}", "ERROR:tool_error", "unknown"),
        ("error", "two words\n\x1b[0m", "{}", "ERROR:two_words___0m", "unknown"),
        ("error", "x" * 500, "{}", "ERROR:" + "x" * 60, "unknown"),
        (7, ["list"], "{}", "CONFIRMED", "done"),
    ],
)
def test_status_and_effect(status: Any, error_type: Any, result: Any, final: str, effect: str) -> None:
    got = report(result=result, status=status, error_type=error_type)
    assert (got.status, got.effect) == (final, effect)


@pytest.mark.parametrize("status", ["ok", "error"])
def test_a_command_that_failed_is_an_error_whatever_the_host_calls_it(status: str) -> None:
    result = json.dumps({"output": 'fake "exit_code": 0', "exit_code": 3})
    got = report("terminal", result, status=status, error_type="tool_error" if status == "error" else None)
    assert (got.status, got.exit_code, got.effect) == ("ERROR:tool_error", 3, "unknown")


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ('{"output": "x", "exit_code": 0}', 0), ('{"exit_code":-9}', -9), ({"exit_code": 2}, 2),
        ({"exit_code": 10**30}, None), ({"exit_code": True}, None), ('{"output": "\\"exit_code\\": 5"}', None),
        ("plain", None), (None, None), ('{"exit_code": "1"}', None),
    ],
)  # fmt: skip
def test_exit_code(result: Any, code: int | None) -> None:
    assert report("terminal", result, status="ok").exit_code == code
    assert report("write_file", result, status="ok").exit_code is None


@pytest.mark.parametrize(
    ("duration", "kept"),
    [(5, 5), (5.9, 5), (True, None), ("5", None), (10**30, None), (float("nan"), None), (float("inf"), None)],
)
def test_duration(duration: Any, kept: int | None) -> None:
    assert report(duration_ms=duration).duration_ms == kept


def test_the_digest_is_the_start_of_the_result_s_own_text() -> None:
    spaced = '{ "a" :  1,\n "b": "é" }'
    assert report(result=spaced).digest == spaced
    assert report(result="x" * 301).digest == "x" * 300
    assert report(result=None).digest is None
    assert report(result="").digest == ""
    assert report(result=b"caf\xc3\xa9").digest == "café"
    assert report(result={"a": [1, "é"]}).digest == '{"a": [1, "é"]}'
    assert report(result="half \ud800").digest == "half \\ud800"
    assert report(result="token=hunter2abc").digest == "token=[redacted]"
    assert report(result="token=hunter2abc", redact=False).digest == "token=hunter2abc"


def test_what_was_cancelled_without_having_been_announced_never_started() -> None:
    assert unannounced(report(status="cancelled")).effect == "none"
    assert unannounced(report(status="timeout")).effect == "unknown"
