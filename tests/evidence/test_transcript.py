"""The host's transcript: what a stored result proves, and what only looks like one."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from .makers import World

ARGS = {"command": "deploy --all"}
SUCCESS = json.dumps({"output": "ok", "exit_code": 0, "error": None})


class Store:
    """A `state.db` with the columns that the two hosts share."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.db = sqlite3.connect(world.paths.state, isolation_level=None)
        self.db.executescript(
            "CREATE TABLE sessions(id TEXT PRIMARY KEY, parent_session_id TEXT, end_reason TEXT, model_config TEXT);"
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,"
            " tool_calls TEXT, tool_name TEXT, effect_disposition TEXT, timestamp REAL, active INTEGER DEFAULT 1);"
        )

    def asked(self, name: str = "terminal", args: Any = None, *, call: str = "k1", session: str = "s1") -> None:
        function = {"name": name, "arguments": json.dumps(ARGS if args is None else args)}
        calls = json.dumps([{"id": call, "type": "function", "function": function}])
        self.db.execute(
            "INSERT INTO messages(session_id, role, content, tool_calls, timestamp) VALUES(?, 'assistant', '', ?, ?)",
            (session, calls, self.world.before),
        )

    def result(self, content: str = SUCCESS, *, call: str = "k1", session: str = "s1", **cells: Any) -> None:
        row = {
            "session_id": session, "role": "tool", "content": content, "tool_call_id": call, "tool_name": "terminal",
            "timestamp": self.world.before + 2, **cells,
        }  # fmt: skip
        marks = ", ".join("?" * len(row))
        self.db.execute(f"INSERT INTO messages({', '.join(row)}) VALUES({marks})", tuple(row.values()))


@pytest.fixture
def store(world: World) -> Store:
    return Store(world)


@pytest.fixture
def ghost(world: World) -> int:
    return world.call("terminal", ARGS, tool_call_id="k1")


def test_its_own_stored_success_is_the_strongest_sign(world: World, store: Store, ghost: int) -> None:
    assert world.verdict(ghost).verdict == "unknown"
    store.asked()
    store.result()
    assert world.says(ghost).startswith("landed: The host's transcript holds this call's own result")


def test_a_summarised_row_still_counts(world: World, store: Store, ghost: int) -> None:
    store.asked()
    store.result(active=0)
    assert world.verdict(ghost).verdict == "landed"


def test_a_call_that_was_blocked_never_started(world: World, store: Store, ghost: int) -> None:
    store.asked()
    store.result(json.dumps({"error": "not allowed"}), effect_disposition="none")
    assert world.verdict(ghost).verdict == "absent"


def test_a_stored_failure_leaves_it_open_and_is_quoted(world: World, store: Store, ghost: int) -> None:
    store.asked()
    store.result(json.dumps({"output": "", "exit_code": 3, "error": "half\x1b[2J done"}))
    said = world.says(ghost)
    assert said.startswith("unknown: ")
    assert "half" in said
    assert said.isprintable()


@pytest.mark.parametrize(
    "content",
    [
        "[Old tool output cleared to save context space]", "[terminal] ran `deploy --all` -> exit 0, 1 lines output",
        "[Result unavailable — see context summary above]", "", "landed", "null", '{"output": "cut',
        "[Duplicate tool output — same content as a more recent call]",
        "[CONTEXT COMPACTION — REFERENCE ONLY] k1 deploy --all succeeded",
    ],
)  # fmt: skip
def test_what_stands_in_place_of_a_result_proves_nothing(world: World, store: Store, ghost: int, content: str) -> None:
    store.asked()
    store.result(content)
    assert world.verdict(ghost).verdict == "unknown"


def test_a_recovery_note_proves_nothing(world: World, store: Store, ghost: int) -> None:
    store.asked()
    note = "[Orphan recovery: this tool may have executed before Hermes stopped; its effect is UNKNOWN.]"
    store.result(note, effect_disposition="unknown")
    assert world.verdict(ghost).verdict == "unknown"
    store.db.execute("UPDATE messages SET effect_disposition = 'none' WHERE role = 'tool'")
    assert world.verdict(ghost).verdict == "unknown"


@pytest.mark.parametrize(
    "cells",
    [
        {"session": "s2"}, {"call": "k2"}, {"role": "user"}, {"role": "assistant"}, {"tool_name": "write_file"},
        {"timestamp": 1_000.0},
    ],
)  # fmt: skip
def test_a_row_of_something_else_proves_nothing(world: World, store: Store, ghost: int, cells: dict[str, Any]) -> None:
    store.asked()
    store.asked(session="s2")
    store.result(**cells)
    assert world.verdict(ghost).verdict == "unknown"


def test_a_result_that_answers_other_arguments_is_another_call(world: World, store: Store, ghost: int) -> None:
    store.asked(args={"command": "deploy --one"})
    store.result()
    assert world.verdict(ghost).verdict == "unknown"


def test_an_id_used_twice_in_a_session_proves_nothing(world: World, store: Store, ghost: int) -> None:
    world.done("terminal", ARGS, at=world.before + 1, tool_call_id="k1", turn_id="t2")
    store.asked()
    store.result()
    assert world.verdict(ghost).verdict == "unknown"


def test_the_session_may_have_a_new_id_since_its_compaction(world: World, store: Store, ghost: int) -> None:
    store.db.execute("INSERT INTO sessions VALUES('s1', NULL, 'compression', NULL)")
    store.db.execute("INSERT INTO sessions VALUES('s1b', 's1', NULL, NULL)")
    store.asked(session="s1b")
    store.result(session="s1b")
    assert world.verdict(ghost).verdict == "landed"
    store.db.execute("UPDATE sessions SET model_config = ? WHERE id = 's1b'", (json.dumps({"_branched_from": "s1"}),))
    assert world.verdict(ghost).verdict == "unknown", "a branch is another conversation"


def test_a_strange_store_says_so(world: World, ghost: int) -> None:
    world.paths.state.write_bytes(b"no database at all, and long enough to be looked at" * 100)
    found = world.verdict(ghost)
    assert found.verdict == "unknown"
    assert any("cannot be asked" in text for text in found.evidence)
