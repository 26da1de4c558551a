"""Which ids are one conversation, read from a host's store that may hold anything."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.lineage import DEPTH, conversation


def store(folder: Path, *rows: tuple[Any, ...]) -> Path:
    """(id, parent, end reason, source, model_config)"""
    path = folder / "state.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, parent_session_id TEXT, end_reason TEXT,"
            " model_config TEXT)"
        )
        db.executemany(
            "INSERT INTO sessions(id,parent_session_id,end_reason,source,model_config) VALUES(?,?,?,?,?)", rows
        )
    db.close()
    return path


def child(config: Any = None, source: str = "telegram") -> tuple[Any, ...]:
    return (
        "child",
        "parent",
        None,
        source,
        config if config is None or isinstance(config, str) else json.dumps(config),
    )


PARENT = ("parent", None, "compression", "telegram", None)


def test_a_chain_of_compactions(tmp_path: Path) -> None:
    path = store(
        tmp_path,
        ("a", None, "compression", "cli", None),
        ("b", "a", "compression", "cli", None),
        ("c", "b", None, "cli", None),
    )
    assert conversation(path, "c") == (("c", "b", "a"), True)
    assert conversation(path, "b") == (("b", "a"), True)


@pytest.mark.parametrize("reason", [None, "session_reset", "branched", "user_exit", "superseded_by_repair"])
def test_a_parent_that_ended_otherwise_is_another_conversation(tmp_path: Path, reason: str | None) -> None:
    path = store(tmp_path, ("parent", None, reason, "telegram", None), child())
    assert conversation(path, "child") == (("child",), True)


@pytest.mark.parametrize(
    "config",
    [
        {"_delegate_from": "parent"}, {"_branched_from": "parent"}, {"_reset_from": "parent"},
        {"_delegate_from": "__orphaned__"}, {"_delegate_from": ""}, {"_branched_from": False},
    ],
)  # fmt: skip
def test_a_fork_is_another_conversation(tmp_path: Path, config: Any) -> None:
    assert conversation(store(tmp_path, PARENT, child(config)), "child") == (("child",), True)


@pytest.mark.parametrize(
    "config",
    [
        {"_delegate_from": "grandparent"}, {"_branched_from": None}, {"model": "m"}, "not json", "[1]", "null", "7",
    ],
)  # fmt: skip
def test_an_inherited_or_unreadable_marker_says_nothing(tmp_path: Path, config: Any) -> None:
    assert conversation(store(tmp_path, PARENT, child(config)), "child") == (("child", "parent"), True)


def test_a_tool_row_is_another_conversation(tmp_path: Path) -> None:
    assert conversation(store(tmp_path, PARENT, child(source="tool")), "child") == (("child",), True)


def test_cycles_end(tmp_path: Path) -> None:
    path = store(
        tmp_path,
        ("a", "b", "compression", "cli", None),
        ("b", "a", "compression", "cli", None),
        ("s", "s", "compression", "cli", None),
    )
    assert conversation(path, "a") == (("a", "b"), True)
    assert conversation(path, "s") == (("s",), True)


def test_two_hundred_deep_and_no_deeper_than_the_limit(tmp_path: Path) -> None:
    rows = [(f"n{n}", f"n{n - 1}" if n else None, "compression", "cli", None) for n in range(DEPTH + 50)]
    path = store(tmp_path, *rows)
    assert conversation(path, "n199")[0] == tuple(f"n{n}" for n in range(199, -1, -1))
    assert len(conversation(path, f"n{DEPTH + 49}")[0]) == DEPTH


def test_a_parent_that_is_missing(tmp_path: Path) -> None:
    assert conversation(store(tmp_path, child()), "child") == (("child",), True)


def test_what_cannot_be_told_is_the_session_alone(tmp_path: Path) -> None:
    assert conversation(tmp_path / "none.db", "s") == (("s",), False)
    assert conversation(store(tmp_path), "s") == (("s",), False)
    assert conversation(tmp_path / "state.db", "") == (("",), False)
    (tmp_path / "garbage.db").write_bytes(b"no database" * 100)
    assert conversation(tmp_path / "garbage.db", "s") == (("s",), False)
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    assert conversation(tmp_path / "empty.db", "s") == (("s",), False)
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE sessions(id TEXT, parent_session_id TEXT)")
    db.close()
    assert conversation(tmp_path / "other.db", "s") == (("s",), False)


def test_a_store_with_odd_signs_in_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "a b#c?d%20"
    folder.mkdir()
    assert conversation(store(folder, PARENT, child()), "child") == (("child", "parent"), True)


def test_a_locked_store_is_not_waited_for_and_not_touched(tmp_path: Path) -> None:
    path = store(tmp_path, PARENT, child())
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    before = sorted(entry.name for entry in tmp_path.iterdir())
    assert conversation(path, "child") == (("child",), False)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before
    holder.execute("INSERT INTO sessions(id) VALUES('x')")
    holder.execute("COMMIT")
    holder.close()
    assert conversation(path, "child") == (("child", "parent"), True)


def test_a_schema_damaged_into_bytes_that_are_no_text(tmp_path: Path) -> None:
    """SQLite quotes it in its error, which Python then cannot decode: strange, as any other damage."""
    store = tmp_path / "state.db"
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE sessions(id TEXT, parent_session_id TEXT, end_reason TEXT)")
    store.write_bytes(store.read_bytes().replace(b"CREATE TABLE sessions", b"CREATE TABL\x80 sessions"))
    assert conversation(store, "s1") == (("s1",), False)
