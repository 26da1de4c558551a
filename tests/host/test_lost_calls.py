"""Calls that were never confirmed: a killed host, a compaction, a new session id. Who is told, when, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import MakeHome
from .home import Action, HermesHome, Row
from .model import call, text_of

pytestmark = pytest.mark.host

NOTICE = "[agent-ledger notice"
KILL = "echo landed >> landed.txt; kill -9 $(cat host.pid); sleep 5"
BIG = "data " * 6000
"""Six turns that write and read this much come close to the context limit of the test's model."""


def turn(chat: str, text: str, **more: Any) -> Action:
    return {"do": "turn", "chat": chat, "text": text, **more}


def notices(home: HermesHome, marker: str) -> dict[str, str]:
    """Our notice in each turn of a conversation, empty where there was none; by the turn's text, in order.

    After a kill Hermes 0.22 sends the unanswered message and the next one as one; the last one names the turn.
    """
    by_turn: dict[str, str] = {}
    for message in home.model.user_messages(marker):
        said, head, told = message.partition(NOTICE)
        by_turn[said.rstrip("\n").rpartition("\n\n")[2]] = head + told
    return by_turn


def system_prompts(home: HermesHome, marker: str) -> set[str]:
    bodies = home.model.requests_of(marker)
    return {text_of(message) for body in bodies for message in body["messages"] if message["role"] == "system"}


@pytest.fixture(scope="module")
def killed(make_home: MakeHome) -> tuple[HermesHome, Row]:
    """A host killed inside a command, then two more processes on the same home. And the row right after the kill."""
    home = make_home("killed")
    home.settings(grace_seconds={"default": 1, "terminal": 1})
    home.model.script("[lost]", call("terminal", command=KILL))
    home.run(turn("lost", "[lost] first"), killed=True)
    after_kill = home.row()
    home.run(
        turn("bystander", "[bystander] hello"),
        turn("lost", "[lost] second"),
        turn("lost", "[lost] third"),
        turn("bystander", "[bystander] again"),
    )
    home.run(turn("lost", "[lost] fourth"))
    return home, after_kill


def test_a_killed_host_leaves_the_pending_row(killed: tuple[HermesHome, Row]) -> None:
    _, row = killed
    assert (row["tool_name"], row["status"], row["session_id"]) == ("terminal", "PENDING", "lost")
    assert row["args"] == {"command": KILL}
    assert (row["state"], row["writer_dead"]) == ("overdue", True)
    gone = "The process that issued this call is gone: no confirmation can come but one that waits in the spool."
    assert gone in row["remarks"]


def test_the_agent_is_told_in_the_very_next_turn_and_once(killed: tuple[HermesHome, Row]) -> None:
    home, row = killed
    first, second, third, fourth = notices(home, "[lost]").values()
    assert first == third == fourth == ""
    assert f"#{row['id']} terminal" in second
    assert "echo landed >> landed.txt" in second
    assert len(second) <= 1200
    assert home.row("lost")["status"] == "GHOST_REPORTED"
    assert home.row("lost")["state"] == "ghost"


def test_the_notice_is_no_part_of_the_system_prompt(killed: tuple[HermesHome, Row]) -> None:
    home, _ = killed
    prompts = system_prompts(home, "[lost]")
    assert prompts
    assert not any("agent-ledger" in prompt for prompt in prompts)


def test_another_chat_hears_nothing(killed: tuple[HermesHome, Row]) -> None:
    home, _ = killed
    assert list(notices(home, "[bystander]").values()) == ["", ""]


def long_talk(home: HermesHome, chat: str, numbers: range) -> list[Action]:
    """Turns that each write and read a large file, with their scripts."""
    for n in numbers:
        path = str(home.work / f"{chat}{n}.txt")
        home.model.script(f"[{chat} {n}]", call("write_file", path=path, content=BIG), call("read_file", path=path))
    return [turn(chat, f"[{chat} {n}] go") for n in numbers]


@pytest.fixture(scope="module", params=["in place", "new id"])
def compacted(request: pytest.FixtureRequest, make_home: MakeHome) -> tuple[str, HermesHome]:
    """A call lost by a kill, in a conversation that is then compacted; a push done before and repeated after."""
    home = make_home("compacted")
    home.settings(grace_seconds={"default": 1, "terminal": 1})
    home.configure(compression="" if request.param == "in place" else "  in_place: false\n")
    push = call("terminal", command="echo push >> pushed.txt")
    home.model.script("[talk 1]", push)
    before = long_talk(home, "talk", range(1, 7))
    # Just before the limit: the next process finds the conversation too long.
    home.model.script("[talk 6]", call("terminal", command=KILL))
    home.run(*before, killed=True)
    after = long_talk(home, "talk", range(7, 10))
    home.model.script("[talk 9]", push)
    home.run(turn("other", "[other] hello"), *after, turn("talk", "[talk 10] go"), turn("other", "[other] again"))
    return request.param, home


def talk_sessions(home: HermesHome) -> list[str]:
    """Session ids that the conversation had, in order."""
    return list(dict.fromkeys(report["session_id"] for report in home.reports if report.get("chat") == "talk"))


def test_a_real_compaction_took_place(compacted: tuple[str, HermesHome]) -> None:
    mode, home = compacted
    assert max(report["compressions"] for report in home.reports if report["chat"] == "talk") >= 1
    ids = talk_sessions(home)
    if mode == "in place":
        assert ids == ["talk"]
    else:
        assert len(ids) >= 2
        assert [home.sessions()[later] for later in ids[1:]] == ids[:-1]


def test_the_lost_call_reaches_its_conversation_through_the_compaction(compacted: tuple[str, HermesHome]) -> None:
    _, home = compacted
    told = notices(home, "[talk")
    (ghost,) = [row for row in home.rows() if row["args"] == {"command": KILL}]
    assert [text for text, notice in told.items() if "landed.txt" in notice] == ["[talk 7] go"]
    assert f"#{ghost['id']} terminal" in told["[talk 7] go"]
    assert (ghost["status"], ghost["session_id"]) == ("GHOST_REPORTED", "talk")
    assert list(notices(home, "[other]").values()) == ["", ""]


def test_work_done_before_the_compaction_is_pointed_out(compacted: tuple[str, HermesHome]) -> None:
    _, home = compacted
    first, again = [row for row in home.rows(tool="terminal") if "pushed.txt" in row["args"]["command"]]
    assert (first["status"], again["status"]) == ("CONFIRMED", "CONFIRMED")
    assert again["repeat_of"] == first["id"]
    assert again["session_id"] == talk_sessions(home)[-1]
    assert any("pushed.txt" in notice and f"#{first['id']} " in notice for notice in notices(home, "[talk").values())


def test_a_repeat_is_pointed_out_in_the_next_turn(make_home: MakeHome) -> None:
    home = make_home("repeat")
    twice = call("terminal", command="echo snapshot >> shots.txt")
    home.model.script("[again]", twice, twice, twice, "taken", "seen")
    home.run(turn("again", "[again] one"), turn("again", "[again] two"), turn("again", "[again] three"))
    first, second, third = home.rows("again")
    assert [first["repeat_of"], second["repeat_of"], third["repeat_of"]] == [None, first["id"], first["id"]]
    one, two, three = notices(home, "[again]").values()
    assert (one, three) == ("", "")
    assert "echo snapshot" in two
    assert "3 times" in two
    assert (home.work / "shots.txt").read_text() == "snapshot\n" * 3


def test_a_delegates_ghost_does_not_reach_the_parents_chat(make_home: MakeHome) -> None:
    home = make_home("delegates")
    home.settings(grace_seconds={"default": 1, "terminal": 1, "delegate_task": 600})
    home.model.script("[boss]", call("delegate_task", goal="[child] work", tasks=[{"goal": "[child] work"}]))
    home.model.script("[child]", call("terminal", command=KILL))
    home.run(
        turn("boss", "[boss] one", toolsets=["file", "terminal", "delegation"]),
        {"do": "wait", "seconds": 20},
        killed=True,
    )
    lost = home.row(tool="terminal")
    assert (lost["status"], home.sessions()[lost["session_id"]]) == ("PENDING", "boss")
    home.run(turn("boss", "[boss] two"))
    assert notices(home, "[boss]")["[boss] two"] == ""
    assert home.row(tool="terminal")["status"] == "PENDING"


def test_a_call_lost_inside_a_script_is_told_beside_the_script(make_home: MakeHome) -> None:
    home = make_home("scripts")
    home.settings(grace_seconds={"default": 1, "terminal": 1})
    code = f"from hermes_tools import terminal\nprint(terminal(command={KILL!r}))\n"
    home.model.script("[script]", call("execute_code", code=code))
    home.run(turn("script", "[script] one", toolsets=["terminal", "code_execution"]), killed=True)
    home.run(turn("script", "[script] two"), turn("script", "[script] three"))
    outer, inner = home.rows("script")
    assert [(row["tool_name"], row["status"]) for row in (outer, inner)] == [
        ("execute_code", "GHOST_REPORTED"),
        ("terminal", "GHOST_REPORTED"),
    ]
    assert inner["nested_in"] == outer["id"]
    told = notices(home, "[script]")
    assert f"#{outer['id']} execute_code" in told["[script] two"]
    assert f"#{inner['id']} terminal" in told["[script] two"]
    assert told["[script] three"] == ""
