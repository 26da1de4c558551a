"""Whole turns through the reference host: the plugin's own door, and what a host makes of its answer."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

import agent_ledger
from agent_ledger.engine.prompts import guard, rules
from ledger_tui.demo.reference_host import ReferenceHost, Turn
from ledger_tui.demo.turn_start import EXIT_REASON, MARKER

from .conftest import RULE, Home


def host(**more: Any) -> ReferenceHost:
    return ReferenceHost(callbacks=[agent_ledger.pre_llm_call], **more)


def test_a_refused_turn_ends_with_the_rules_message_and_no_request(home: Home) -> None:
    home.policy()
    chat = host()
    assert chat.turn("about KD-123456, please") == Turn(RULE["message"], 0, EXIT_REASON, failed=False)
    assert (chat.requests, chat.auxiliary, chat.memory, chat.warnings) == ([], [], [], [])
    assert [(one["role"], one["content"]) for one in chat.messages] == [
        ("user", MARKER),
        ("assistant", RULE["message"]),
    ]
    turn_id = "reference:reference:00000000"
    assert home.decisions() == [("reference", turn_id, "customer-number", "enforce", "blocked")]


def test_the_next_turns_read_the_marker(home: Home) -> None:
    home.policy()
    chat = host()
    chat.turn("about KD-123456, please")
    for number in range(8):
        chat.turn(f"turn {number}")
    everything = json.dumps([chat.requests, chat.auxiliary, chat.memory])
    assert "KD-123456" not in everything
    assert MARKER in everything
    assert chat.search("KD-123456") == []
    assert any(kind == "summary" for kind, _ in chat.auxiliary)
    resumed = host(messages=chat.messages)
    assert resumed.turn("and on").api_calls == 1


def test_a_refused_turn_is_not_the_one_that_compacts(home: Home) -> None:
    home.policy()
    chat = host()
    for number in range(6):
        chat.turn(f"turn {number}")
    before = list(chat.messages)
    assert (len(before), [kind for kind, _ in chat.auxiliary]) == (12, ["title"])
    chat.turn("about KD-123456, please")
    assert chat.messages[:12] == before
    assert (len(chat.messages), len(chat.auxiliary), len(chat.memory)) == (14, 1, 12)
    chat.turn("and on")
    assert [kind for kind, _ in chat.auxiliary] == ["title", "summary"]


def test_no_hook_reads_in_the_history_what_was_withheld(home: Home) -> None:
    home.policy()
    heard: list[Any] = []
    chat = ReferenceHost(callbacks=[agent_ledger.pre_llm_call, lambda **payload: heard.append(payload)])
    chat.turn("about KD-123456, please")
    chat.turn("hello")
    assert [one["content"] for one in heard[1]["conversation_history"]] == [MARKER, RULE["message"], "hello"]
    assert "KD-123456" not in json.dumps(heard[1])


def test_only_rule_time_session_and_turn_are_kept(home: Home) -> None:
    home.policy()
    host().turn("about KD-123456, please")
    assert home.decisions()
    for file in home.paths.data.rglob("*"):
        assert not file.is_file() or b"KD-123456" not in file.read_bytes()


def test_a_dry_run_lets_the_turn_pass_and_counts(home: Home) -> None:
    home.policy(mode="dry_run")
    chat = host()
    assert chat.turn("about KD-123456").final_response == "done"
    assert chat.requests == [[{"role": "user", "content": "about KD-123456"}]]
    assert [row[2:] for row in home.decisions()] == [("customer-number", "dry_run", "would-block")]


@pytest.mark.parametrize("mode", ["off", None])
def test_switched_off_nothing_is_judged(home: Home, mode: str | None) -> None:
    home.policy(mode=mode or "off")
    if mode is None:
        home.paths.prompt_policy_mode.unlink()
    assert host().turn("about KD-123456").final_response == "done"
    assert home.decisions() == []


def test_files_are_read_again_when_they_change(home: Home) -> None:
    home.policy(mode="off")
    chat = host()
    assert chat.turn("KD-123456").api_calls == 1
    home.mode("enforce")
    assert chat.turn("KD-123456").api_calls == 0
    home.policy({**RULE, "shapes": ["ZZ-####"]})
    assert chat.turn("KD-123456").api_calls == 1
    assert chat.turn("ZZ-1234").api_calls == 0


def test_an_unknown_mode_leaves_the_last_valid_one_in_force(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    home.policy()
    chat = host()
    assert chat.turn("KD-123456").api_calls == 0
    home.mode("enforced")
    with caplog.at_level(logging.WARNING):
        assert chat.turn("KD-123456").api_calls == 0
    assert "enforce stays in force" in caplog.text
    home.mode("off")
    assert chat.turn("KD-123456").api_calls == 1


@pytest.mark.parametrize("text", ["{", '{"rules": [{}]}', None])
def test_a_policy_that_cannot_be_used_refuses_and_says_how_to_get_out(home: Home, text: str | None) -> None:
    home.policy()
    if text is None:
        home.paths.prompt_policy.unlink()
    else:
        home.paths.prompt_policy.write_text(text, encoding="utf-8")
    done = host().turn("hello")
    assert (done.api_calls, done.turn_exit_reason) == (0, EXIT_REASON)
    assert str(home.paths.prompt_policy) in done.final_response
    assert f"write the word off into {home.paths.prompt_policy_mode}" in done.final_response


def test_an_error_of_our_own_is_a_block(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.policy()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("text of the message")

    monkeypatch.setattr(rules.PromptPolicy, "decide", broken)
    done = host().turn("hello")
    assert (done.api_calls, done.turn_exit_reason) == (0, EXIT_REASON)
    assert "RuntimeError" in done.final_response
    assert "text of the message" not in done.final_response
    assert [row[2] for row in home.decisions()] == ["cannot-decide"]


def test_what_cannot_be_recorded_is_refused_all_the_same(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError

    home.policy()
    monkeypatch.setattr(agent_ledger.recorder().keeper, "ask", broken)
    assert host().turn("KD-123456").final_response == RULE["message"]


def test_a_refusal_waits_while_the_ledger_cannot_be_written(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.policy()
    chat = host()
    with monkeypatch.context() as patch:
        patch.setattr(agent_ledger.recorder().keeper, "ask", lambda _: None)
        assert chat.turn("KD-123456").api_calls == 0
    assert home.decisions() == []
    assert chat.turn("KD-654321").api_calls == 0
    assert [row[1] for row in home.decisions()] == ["reference:reference:00000000", "reference:reference:00000002"]


def test_under_dry_run_an_error_of_our_own_lets_the_turn_pass(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.policy(mode="dry_run")
    monkeypatch.setattr(guard, "read", lambda _: 1 / 0)
    assert host().turn("hello").api_calls == 1


def test_256_kib_are_judged_and_one_byte_more_is_too_long(home: Home) -> None:
    home.policy()
    agent_ledger.recorder().guard._mono = lambda: 0.0
    chat = host()
    assert chat.turn("x" * 262_144).api_calls == 1
    assert chat.turn("x" * 262_135 + " KD-12345").api_calls == 1
    assert chat.turn("x" * 262_134 + " KD-123456").final_response == RULE["message"]
    assert "too long to check" in chat.turn("x" * 262_145).final_response
    assert "too long to check" in chat.turn("ä" * 131_073).final_response
    assert chat.turn("ä" * 131_072).api_calls == 1


def test_parts_with_text_are_judged_and_pictures_pass_unless_told(home: Home) -> None:
    home.policy()
    chat = host()
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert chat.turn([{"type": "text", "text": "hello"}, picture]).api_calls == 1
    assert chat.turn([picture, {"type": "text", "text": "KD-123456"}]).api_calls == 0
    home.policy(unreadable_parts={"action": "block", "message": "No pictures here."})
    assert chat.turn([{"type": "text", "text": "hello"}, picture]).final_response == "No pictures here."
    assert chat.turn([{"type": "text", "text": "hello"}]).api_calls == 1


# Hosts that ignore a block


@pytest.mark.parametrize("version", ["0.22.2.post1", "0.19.0", "0.22.5", None])
def test_a_host_that_may_ignore_a_block_is_told_more(
    home: Home, version: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    home.version = version
    home.policy()
    with caplog.at_level(logging.WARNING):
        answer = agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:1", task_id="s", user_message="KD-123456")
        agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:2", task_id="s", user_message="KD-123456")
    assert answer is not None
    assert (answer["action"], answer["message"]) == ("block", RULE["message"])
    assert "advisory on this host" in answer["context"]
    assert [row[2:] for row in home.decisions()] == [("customer-number", "enforce", "advisory")] * 2
    assert caplog.text.count("advisory on this host") == 1


def test_tools_are_refused_in_such_a_turn_and_in_no_other(home: Home) -> None:
    home.version = "0.22.2"
    home.policy()
    agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:1", task_id="s", user_message="KD-123456")
    agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:2", task_id="s", user_message="hello")
    for tool in ("terminal", "read_file"):
        ids = {"session_id": "s", "task_id": "s", "tool_call_id": "c1"}
        refused = agent_ledger.pre_tool_call(tool, {"command": "ls"}, turn_id="s:s:1", **ids)
        assert refused is not None
        assert refused["action"] == "block"
        assert "customer-number" in refused["message"]
        assert agent_ledger.pre_tool_call(tool, {"command": "ls"}, turn_id="s:s:2", **ids) is None


@pytest.mark.parametrize("turn_id", [["s:s:1"], {"a": 1}, None, 7])
def test_odd_turn_ids_stop_no_tool(home: Home, turn_id: Any) -> None:
    home.version = "0.22.2"
    home.policy()
    agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:1", task_id="s", user_message="KD-123456")
    assert agent_ledger.pre_tool_call("read_file", {}, turn_id=turn_id) is None


@pytest.mark.parametrize(("version", "times"), [("0.22.2", 1), ("0.22.6", 0)])
def test_that_it_is_advisory_is_logged_when_a_session_starts(
    home: Home, version: str, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    home.version = version
    home.policy()
    with caplog.at_level(logging.WARNING):
        agent_ledger.on_session_start(session_id="s")
        agent_ledger.on_session_start(session_id="s2")
        agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:1", task_id="s", user_message="hello")
    assert caplog.text.count("advisory on this host") == times


def test_where_the_block_is_honoured_tools_are_nobodys_business(home: Home) -> None:
    home.policy()
    agent_ledger.pre_llm_call(session_id="s", turn_id="s:s:1", task_id="s", user_message="KD-123456")
    assert agent_ledger.pre_tool_call("terminal", {}, "s", "s", "c", "s:s:1") is None


# The notice about lost calls


def lose_a_call(home: Home) -> None:
    home.paths.settings.write_text(json.dumps({"grace_seconds": {"default": 0, "cronjob": 0}}), encoding="utf-8")
    agent_ledger.recorder()._settings._asked = float("-inf")  # They are asked for once a second.
    agent_ledger.pre_tool_call("cronjob", {"action": "create", "name": "evening"}, "reference", "reference", "c1", "t0")


def test_a_refused_turn_without_a_name_refuses_no_other_calls(home: Home) -> None:
    """A host that names no turn: its calls could be of any chat."""
    home.version = "0.22.2"
    home.policy()
    refused = agent_ledger.pre_llm_call(session_id="s", turn_id="", user_message="about KD-123456, please")
    assert refused is not None
    assert refused["action"] == "block"
    assert agent_ledger.pre_tool_call("terminal", {"command": "ls"}, session_id="other", turn_id="") is None


def test_a_notice_that_was_due_in_a_refused_turn_is_given_in_the_next(home: Home) -> None:
    home.policy()
    lose_a_call(home)
    chat = host()
    assert chat.turn("about KD-123456").api_calls == 0
    chat.turn("hello")
    assert "evening" in chat.requests[0][-1]["content"]
    chat.turn("and?")
    assert "evening" not in chat.requests[1][-1]["content"]


def test_a_notice_in_a_turn_that_another_policy_refuses_is_given_again(home: Home) -> None:
    def other(user_message: str = "", **_: Any) -> dict[str, str] | None:
        return {"action": "block", "message": "not here"} if "forbidden" in user_message else None

    lose_a_call(home)
    chat = ReferenceHost(callbacks=[agent_ledger.pre_llm_call, other])
    assert chat.turn("forbidden").final_response == "not here"
    chat.turn("hello")
    assert "evening" in chat.requests[0][-1]["content"]


# What a host does with answers, ours or not


def test_the_first_block_wins_and_an_empty_one_is_ignored() -> None:
    answers = [{"context": "more"}, {"action": "block"}, {"action": "block", "message": " "}]
    blocks = [{"action": "block", "message": "first"}, {"action": "block", "message": "second"}]
    chat = ReferenceHost(callbacks=[lambda one=one, **_: one for one in [*answers, *blocks]])
    assert chat.turn("hello").final_response == "first"
    chat = ReferenceHost(callbacks=[lambda one=one, **_: one for one in answers])
    assert chat.turn("hello") == Turn("done", 1)
    assert chat.requests[0][-1]["content"] == "hello\n\nmore"


def test_the_host_fails_open() -> None:
    def raises(**_: Any) -> None:
        raise RuntimeError

    def sleeps(**_: Any) -> dict[str, str]:
        time.sleep(0.5)
        return {"action": "block", "message": "too late"}

    chat = ReferenceHost(callbacks=[raises, sleeps], hook_timeout_s=0.05)
    assert chat.turn("hello").api_calls == 1
    assert chat.warnings == ["pre_llm_call hook failed: RuntimeError", "pre_llm_call hook timed out"]


def test_a_folder_in_the_policys_place_is_a_mistake_too(home: Home, tmp_path: Path) -> None:
    home.policy()
    home.paths.prompt_policy.unlink()
    home.paths.prompt_policy.mkdir()
    assert "it is no file" in host().turn("hello").final_response
