"""Delegates and remote tools: the judging by hand-made facts, and the reading by a store put there by hand."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest

from agent_ledger.engine.evidence.delegate import Seen, judge_seen

from .makers import World


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Seen(mine=("It was sent off.",)), "landed"),
        (Seen(), "absent"),
        (Seen(shared=1), "unknown"),
        (Seen(shared=1, taken=1), "absent"),
        (Seen(shared=2, taken=1), "unknown"),
        (Seen(unlike=1), "unknown"),
        (Seen(kept="But the host keeps only the newest of them."), "unknown"),
    ],
)
def test_verdicts(seen: Seen, verdict: str) -> None:
    assert judge_seen(seen, 900.0).verdict == verdict


class Store:
    """A host's store with what is asked of it: `s1` is the session of the calls."""

    def __init__(self, world: World) -> None:
        self.at = world.before
        self.db = sqlite3.connect(world.paths.state, isolation_level=None)
        self.db.executescript(
            "CREATE TABLE sessions(id TEXT PRIMARY KEY, parent_session_id TEXT, started_at REAL, model_config TEXT);"
            "CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,"
            " tool_calls TEXT, timestamp REAL);"
            "CREATE TABLE async_delegations(delegation_id TEXT PRIMARY KEY, parent_session_id TEXT, state TEXT,"
            " dispatched_at REAL, task_json TEXT);"
        )
        self.db.execute("INSERT INTO sessions VALUES('s1', NULL, ?, NULL)", (self.at - 90.0,))
        self.message("s1", "user", "Go on.", -80.0)
        self.message("s1", "assistant", "", -0.1)
        # The agent's own word for every call that a test makes; ids are made of times.
        asked = json.dumps([{"id": f"c{self.at + tenths / 10:.3f}"} for tenths in range(200)])
        self.db.execute("UPDATE messages SET tool_calls = ? WHERE role = 'assistant'", (asked,))

    def message(self, session: str, role: str, content: str, after: float) -> None:
        self.db.execute(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES(?,?,?,?)",
            (session, role, content, self.at + after),
        )

    def batch(self, name: str, after: float, *goals: str, session: str = "s1") -> None:
        task = json.dumps({"goals": goals} if len(goals) > 1 else {"goal": goals[0]})
        self.db.execute(
            "INSERT INTO async_delegations VALUES(?,?,?,?,?)", (name, session, "completed", self.at + after, task)
        )

    def child(self, name: str, after: float, goal: str, marked: str = "s1") -> None:
        config = json.dumps({"_delegate_from": marked})
        self.db.execute("INSERT INTO sessions VALUES(?,?,?,?)", (name, "s1", self.at + after, config))
        self.message(name, "user", goal, after + 0.1)


@pytest.fixture
def store(world: World) -> Store:
    return Store(world)


ONE = {"goal": "Read the file."}


def test_a_batch_with_these_goals(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    two = world.call("delegate_task", {"tasks": [{"goal": "Count."}, {"goal": "Sum."}]}, at=world.before + 1.0)
    never = world.call("delegate_task", {"goal": "Something else."}, at=world.before + 2.0)
    store.batch("deleg_1", 0.2, "Read the file.")
    store.batch("deleg_2", 1.2, "Count.", "Sum.")
    assert [world.verdict(row).verdict for row in (call, two, never)] == ["landed", "landed", "absent"]
    assert "does not say that it finished" in world.verdict(call).evidence[-1]


def test_a_session_of_a_delegate_tells_too(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    store.child("child-1", 0.3, "Read the file.\n\nContext: none")
    assert world.verdict(call).verdict == "landed"


def test_a_branch_of_the_session_is_no_delegate(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    store.child("branch", 0.3, "Read the file.", marked="another")
    assert world.verdict(call).verdict == "absent"


def test_another_session_sent_it(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    store.batch("deleg_1", 0.2, "Read the file.", session="s2")
    assert world.verdict(call).verdict == "absent"


def test_one_from_before_the_call(world: World, store: Store) -> None:
    store.batch("deleg_1", -5.0, "Read the file.")
    assert world.verdict(world.call("delegate_task", ONE)).verdict == "absent"


def test_a_store_that_does_not_know_of_the_call_is_no_proof(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    assert world.verdict(call).verdict == "absent"
    store.db.execute("DELETE FROM messages WHERE role = 'assistant'")
    assert world.verdict(call).verdict == "unknown"


def test_a_store_put_back_from_a_backup_is_no_proof(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    store.db.close()
    os.utime(world.paths.state, (world.before - 30.0, world.before - 30.0))
    assert world.verdict(call).verdict == "unknown"


def test_the_same_again(world: World, store: Store) -> None:
    lost = world.call("delegate_task", ONE)
    world.done("delegate_task", ONE, at=world.before + 5.0, took=0.5)
    store.batch("deleg_2", 5.2, "Read the file.")
    assert world.verdict(lost).verdict == "absent"
    store.batch("deleg_1", 0.2, "Read the file.")
    assert world.verdict(lost).verdict == "landed"


def test_a_delegate_begins_after_its_call_was_confirmed(world: World, store: Store) -> None:
    lost = world.call("delegate_task", ONE)
    world.done("delegate_task", ONE, at=world.before + 5.0, took=0.5)
    store.batch("deleg_2", 5.2, "Read the file.")
    store.child("child-2", 8.0, "Read the file.")
    assert world.verdict(lost).verdict == "absent"
    store.child("child-1", 0.8, "Read the file.")  # The first batch's row is gone, its delegate is not.
    assert world.verdict(lost).verdict == "landed"


def test_tasks_out_of_which_secrets_were_taken_or_that_were_cut(world: World, store: Store) -> None:
    args = {"tasks": [{"goal": "Use [redacted].", "context": "long"}]}
    call = world.call("delegate_task", args, args_redacted=1, value_hashes='{"tasks":"00"}')
    text = '{"tasks": [{"goal": "Read it all.", "context": "0001 a line of a long'
    cut = world.call("delegate_task", args_json=text, args_cut=1, at=world.before + 1.0, value_hashes='{"tasks":"01"}')
    store.batch("deleg_1", 0.2, "Use token 1234.")
    store.batch("deleg_2", 1.2, "Read it all.")
    assert [world.verdict(row).verdict for row in (call, cut)] == ["landed", "landed"]


def test_two_lost_calls_and_one_delegate(world: World, store: Store) -> None:
    calls = [world.call("delegate_task", ONE, at=world.before + n) for n in (0.0, 1.0)]
    store.batch("deleg_1", 1.2, "Read the file.")
    assert [world.verdict(call).verdict for call in calls] == ["unknown", "unknown"]


def test_messages_that_are_missing_right_after_the_call(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    store.child("child-1", 0.3, "Read the file.")
    store.db.execute("DELETE FROM sessions WHERE id = 'child-1'")
    store.db.execute("DELETE FROM messages WHERE session_id = 'child-1'")
    assert world.verdict(call).verdict == "unknown"
    store.message("s1", "user", "Later.", 60.0)
    assert world.verdict(call).verdict == "unknown"


def test_a_gap_long_after_the_call_says_nothing(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    for after in (1.0, 60.0, 70.0):
        store.message("s1", "user", "Later.", after)
    store.db.execute("DELETE FROM messages WHERE timestamp = ?", (store.at + 60.0,))
    assert world.verdict(call).verdict == "absent"


def test_the_host_keeps_only_so_many(world: World, store: Store) -> None:
    call = world.call("delegate_task", ONE)
    for number in range(40):
        store.batch(f"deleg_{number}", 100.0 + number, f"Part {number}.", session="s2")
    told = world.verdict(call)
    assert told.verdict == "unknown"
    assert "But the host keeps only the newest of them." in told.evidence


def test_a_store_that_is_gone_or_lost_the_session(world: World) -> None:
    call = world.call("delegate_task", ONE)
    assert world.verdict(call).verdict == "unknown"
    store = Store(world)
    store.db.execute("DELETE FROM sessions")
    assert world.verdict(call).verdict == "unknown"


def test_speaking_to_a_delegate_leaves_no_trace(world: World, store: Store) -> None:
    for action in ("steer", "stop"):
        call = world.call("delegate_task", {"action": action, "subagent_id": "sa-1"})
        assert world.verdict(call).verdict == "unknown"


def test_goals_of_which_only_the_hash_is_kept(world: World, store: Store) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    key = load_key(world.paths.key)
    hashes = value_hashes(key, {"goal": "Use token 1234."}, lambda name: name)
    call = world.call("delegate_task", {"goal": "Use token ***"}, args_redacted=1, value_hashes=hashes)
    store.batch("deleg_1", 0.2, "Use token 1234.")
    assert world.verdict(call).verdict == "landed"


def test_a_remote_server_is_not_asked(world: World) -> None:
    told = world.verdict(world.call("mcp__notes__add", {"text": "milk"}))
    assert (told.verdict, '"notes"' in told.evidence[-1]) == ("unknown", True)
