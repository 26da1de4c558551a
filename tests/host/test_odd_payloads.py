"""What hosts were reported to send in the field, through the host's own dispatcher: missing ids, doubled hooks."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import MakeHome
from .home import Action, HermesHome

pytestmark = pytest.mark.host


def ids(session: str, call_id: str, **more: str) -> dict[str, str]:
    turn = f"{session}:{session}:00000001" if session else ""
    return {
        "session_id": session,
        "task_id": session,
        "turn_id": turn,
        "tool_call_id": call_id,
        "api_request_id": "",
        **more,
    }


def pre(tool: str, args: dict[str, Any], session: str, call_id: str, then_ms: int = 0, **more: str) -> Action:
    payload = {"tool_name": tool, "args": args, **ids(session, call_id, **more)}
    return {"do": "hook", "name": "pre_tool_call", "payload": payload, "then_ms": then_ms}


def post(tool: str, args: dict[str, Any], session: str, call_id: str, **more: Any) -> Action:
    outcome = {"result": "{}", "status": "ok", "error_type": None, "error_message": None, "duration_ms": 1}
    payload = {"tool_name": tool, "args": args, **ids(session, call_id), **outcome, **more}
    return {"do": "hook", "name": "post_tool_call", "payload": payload}


def ask(session: str, number: int, history: list[dict[str, Any]] | None = None) -> Action:
    said = {"role": "user", "content": f"turn {number}"}
    payload = {
        "session_id": session,
        "task_id": session,
        "turn_id": f"{session}:{session}:{number:08x}",
        "user_message": said["content"],
        "conversation_history": [*(history or []), said],
        "is_first_turn": number == 1,
        "model": "scripted",
        "platform": "cli",
        "sender_id": "",
    }
    return {"do": "hook", "name": "pre_llm_call", "payload": payload}


def contexts(reports: list[dict[str, Any]]) -> list[str]:
    """What our plugin wants said, for every `pre_llm_call` whose dispatch stands in the reports."""
    return ["".join(r["context"] for r in report["returned"] or [] if isinstance(r, dict)) for report in reports]


def old_talk(call_ids: list[str]) -> list[dict[str, Any]]:
    """A history in which these calls have their results."""
    made = [{"id": c, "type": "function", "function": {"name": "memory", "arguments": "{}"}} for c in call_ids]
    results = [{"role": "tool", "tool_call_id": c, "name": "memory", "content": "{}"} for c in call_ids]
    return [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "", "tool_calls": made}, *results]


@pytest.fixture
def home(make_home: MakeHome) -> HermesHome:
    made = make_home("odd")
    made.settings(grace_seconds={"default": 1, "terminal": 1})
    return made


PAUSE: Action = {"do": "wait", "seconds": 1.3}


def test_the_session_of_a_call_may_come_with_its_confirmation(home: HermesHome) -> None:
    args = {"path": "a.txt", "content": "a"}
    home.run(pre("write_file", args, "", "c1"), post("write_file", args, "real", "c1"))
    row = home.row()
    assert (row["status"], row["session_id"]) == ("CONFIRMED", "real")


def test_equal_ids_a_moment_apart_are_one_call(home: HermesHome) -> None:
    args = {"command": "make deploy"}
    home.run(
        pre("terminal", args, "chat", "c1", then_ms=1),
        pre("terminal", args, "chat", "c1"),
        post("terminal", args, "chat", "c1"),
        post("terminal", args, "chat", "c1"),
    )
    row = home.row()
    assert (row["status"], row["seen"], row["later_status"]) == ("CONFIRMED", 2, None)
    assert any("announced this very call 2 times" in remark for remark in row["remarks"])


def test_equal_ids_in_two_chats_are_two_calls(home: HermesHome) -> None:
    args = {"command": "make"}
    home.run(
        pre("terminal", args, "one", "c1"), pre("terminal", args, "two", "c1"), post("terminal", args, "two", "c1")
    )
    assert [(row["session_id"], row["status"]) for row in home.rows()] == [("one", "PENDING"), ("two", "CONFIRMED")]


def test_a_tool_that_this_host_never_confirms_is_learnt(home: HermesHome) -> None:
    names = [f"m{n}" for n in range(20)]
    calls = [pre("memory", {"action": "add", "content": n}, "chat", n) for n in names]
    reports = home.run(*calls, PAUSE, ask("chat", 2, old_talk(names)), ask("other", 1))
    assert contexts(reports[-2:]) == ["", ""]
    rows = home.rows()
    assert len(rows) == 20
    assert {row["state"] for row in rows} == {"pending"}
    assert all("This host never confirms this tool, so silence says nothing here." in row["remarks"] for row in rows)


def test_a_ghost_that_settles_after_all_is_revived_and_the_agent_hears_of_it(home: HermesHome) -> None:
    args = {"action": "create", "name": "nightly"}
    reports = home.run(
        pre("cronjob", args, "chat", "c1"),
        PAUSE,
        ask("chat", 2),
        post("cronjob", args, "chat", "c1"),
        ask("chat", 3),
    )
    ghost, landed = contexts([reports[2], reports[4]])
    assert "nightly" in ghost
    assert "Issued, never confirmed" in ghost
    assert "it did land" in landed
    row = home.row()
    assert (row["status"], row["state"]) == ("CONFIRMED", "revived")
    assert "It had been reported as lost and was settled afterwards." in row["remarks"]


def test_many_ghosts_make_a_short_notice(home: HermesHome) -> None:
    many = [
        pre("write_file", {"path": f"/srv/app/config/{n}.yaml", "content": "x" * 500}, "chat", f"c{n}")
        for n in range(14)
    ]
    reports = home.run(*many, PAUSE, ask("chat", 2))
    (text,) = contexts(reports[-1:])
    assert 0 < len(text) <= 1200
    listed = text.count("write_file")
    assert 1 <= listed <= 10
    assert f"and {14 - listed} more" in text
