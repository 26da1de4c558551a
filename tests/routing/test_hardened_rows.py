"""What the hardened store writes into rows: identity, ends, compressions, transcripts."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.routing.hardened import CompressionError, Fault, Identity, Origin, TranscriptReadError

from .hardened_stores import KIM, NOON, Desk, desk, says

ROUTE = ("session_key", "user_id", "chat_id", "chat_type", "thread_id", "display_name", "origin_json")
OF_KIM = (KIM.session_key, KIM.user_id, KIM.chat_id, "dm", None, "Kim", KIM.origin_json)
NOTHING = (None,) * 7


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Desk]:
    made = desk(tmp_path)
    yield made
    made.connection.close()


# -- identity at the insert -------------------------------------------------------------------------------------------


def test_a_new_row_has_its_whole_identity(one: Desk) -> None:
    one.store.create("a", KIM, Origin(model="m", cwd="/srv/harbour"))
    assert one.cells("a", *ROUTE) == OF_KIM
    assert one.cells("a", "source", "created_source", "profile_name", "model", "cwd", "started_at") == (
        "telegram", "telegram", "default", "m", "/srv/harbour", NOON,
    )  # fmt: skip


def test_a_second_writer_fills_gaps_and_replaces_nothing(one: Desk) -> None:
    one.store.create("a", replace(KIM, chat_type=None, display_name=None, origin_json=None), Origin(model="first"))
    other = Identity("discord", "agent:main:discord:dm:9", "9", "9", "group", "t", "Other", "{}", "bot-2")
    one.at(60)
    one.store.create("a", other, Origin(model="second", cwd="/srv"))
    assert one.cells("a", *ROUTE) == (KIM.session_key, KIM.user_id, KIM.chat_id, "group", "t", "Other", "{}")
    assert one.cells("a", "source", "created_source", "transport_profile", "model", "cwd", "started_at") == (
        "telegram", "telegram", "bot-2", "first", "/srv", NOON,
    )  # fmt: skip


def test_a_persons_id_is_not_filled_in_later(one: Desk) -> None:
    one.store.create("a", replace(KIM, user_id=None))
    one.store.create("a", KIM)
    assert one.cells("a", "user_id", "chat_id") == (None, KIM.chat_id)


def test_an_unknown_source_is_replaced_by_a_real_one_and_a_real_one_stays(one: Desk) -> None:
    one.store.create("a", Identity("unknown"))
    one.store.create("a", KIM)
    one.store.create("a", Identity("cli"))
    assert one.cells("a", "source", "created_source") == ("telegram", "unknown")


def test_a_lone_mark_of_a_reset_is_merged_into_the_configuration_that_comes_later(one: Desk) -> None:
    one.store.create("old", KIM)
    one.store.create("a", KIM, Origin(parent="old", model_config={"_reset_from": "old"}))
    one.store.create("a", KIM, Origin(model_config={"effort": "high"}))
    one.store.create("a", KIM, Origin(model_config={"effort": "low", "voice": "soft"}))
    assert json.loads(*one.cells("a", "model_config")) == {"effort": "high", "_reset_from": "old"}


def test_a_configuration_nested_deeper_than_python_reads_stays(one: Desk) -> None:
    one.store.create("a", KIM)
    deep = "[" * 100_000
    one.connection.execute("UPDATE sessions SET model_config = ?", (deep,))
    one.store.create("a", KIM, Origin(model_config={"effort": "high"}))
    assert one.cells("a", "model_config") == (deep,)


def test_a_row_outside_the_profiles_tree_is_nobodys(one: Desk) -> None:
    one.store.owner = None
    one.store.create("a", KIM)
    assert one.cells("a", "profile_name") == (None,)


# -- the refresh ------------------------------------------------------------------------------------------------------


def test_a_refresh_makes_a_missing_row_with_all_of_it(one: Desk) -> None:
    one.store.refresh("a", KIM)
    assert one.cells("a", *ROUTE, "profile_name") == (*OF_KIM, "default")


def test_a_refresh_heals_a_bare_row_and_takes_nulls_but_keeps_name_and_origin(one: Desk) -> None:
    one.store.create("a", Identity("telegram"))
    one.store.refresh("a", KIM)
    assert one.cells("a", *ROUTE) == OF_KIM
    one.store.refresh("a", replace(KIM, user_id=None, display_name=None, origin_json=None))
    assert one.cells("a", *ROUTE) == (KIM.session_key, None, KIM.chat_id, "dm", None, "Kim", KIM.origin_json)


def test_a_refresh_says_who_it_is_for_and_nothing_else(one: Desk) -> None:
    one.connection.execute("INSERT INTO sessions(id, source, started_at) VALUES('a', 'telegram', 1.0)")
    one.store.refresh("a", KIM)
    assert one.cells("a", "profile_name", "created_source", "started_at") == (None, None, 1.0)


def test_without_a_key_or_an_id_nothing_is_refreshed(one: Desk) -> None:
    one.store.refresh("a", replace(KIM, session_key=None))
    one.store.refresh("", KIM)
    assert one.ids() == []


# -- rows that the agent makes late -----------------------------------------------------------------------------------


def test_a_row_that_the_first_message_makes_carries_the_identity(one: Desk) -> None:
    one.store.append("a", KIM, says("Good morning."))
    assert one.cells("a", *ROUTE) == OF_KIM
    assert one.cells("a", "message_count", "last_activity_at") == (1, NOON)


def test_fault_a_late_row_is_bare(tmp_path: Path) -> None:
    made = desk(tmp_path, frozenset({Fault.BARE_LAZY_ROWS}))
    made.store.append("a", KIM, says("Good morning."))
    assert made.cells("a", *ROUTE) == NOTHING
    assert made.cells("a", "source", "message_count") == ("telegram", 1)


# -- ends -------------------------------------------------------------------------------------------------------------


def test_the_first_end_stands(one: Desk) -> None:
    one.store.create("a", KIM)
    assert one.store.end("a", "compression")
    one.at(5)
    assert not one.store.end("a", "agent_close")
    assert one.cells("a", "ended_at", "end_reason") == (NOON, "compression")


@pytest.mark.parametrize(
    ("ended", "becomes"),
    [
        (None, "session_reset"),
        ("agent_close", "session_reset"),
        ("ws_orphan_reap", "session_reset"),
        ("superseded_by_resume", "session_reset"),
        ("startup_orphan_reap", "session_reset"),
        ("compression", "compression"),
        ("idle", "idle"),
        ("superseded_by_repair", "superseded_by_repair"),
    ],
)
def test_a_boundary_is_drawn_over_open_rows_and_accidents_only(one: Desk, ended: str | None, becomes: str) -> None:
    one.store.create("a", KIM)
    if ended:
        one.store.end("a", ended)
    assert one.store.promote("a") is (becomes == "session_reset")
    assert one.cells("a", "end_reason") == (becomes,)


def test_a_reset_is_a_boundary_and_a_child_in_one_commit(one: Desk) -> None:
    one.store.create("a", KIM)
    one.store.end("a", "agent_close")
    one.at(60)
    one.store.rotate("a", "b", KIM, "daily", Origin(model_config={"effort": "high"}))
    assert one.cells("a", "ended_at", "end_reason") == (NOON + 60, "daily")
    assert one.cells("b", "parent_session_id", *ROUTE) == ("a", *OF_KIM)
    assert json.loads(*one.cells("b", "model_config")) == {"effort": "high", "_reset_from": "a"}


def test_fault_a_reset_leaves_no_trace_of_what_came_before(tmp_path: Path) -> None:
    made = desk(tmp_path, frozenset({Fault.RESET_WITHOUT_PARENT}))
    made.store.create("a", KIM)
    made.store.rotate("a", "b", KIM)
    assert made.cells("a", "end_reason") == ("session_reset",)
    assert made.cells("b", "parent_session_id", "model_config") == (None, None)


def test_of_a_reset_that_fails_half_way_nothing_remains(one: Desk) -> None:
    one.store.create("a", KIM)
    one.connection.execute("CREATE TRIGGER no BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'full'); END")
    with pytest.raises(sqlite3.IntegrityError):
        one.store.rotate("a", "b", KIM)
    assert one.ids() == ["a"]
    assert one.cells("a", "ended_at", "end_reason") == (None, None)


# -- compression ------------------------------------------------------------------------------------------------------


def test_a_compression_is_one_commit(one: Desk) -> None:
    one.store.append("a", KIM, says("one"), says("two"))
    one.at(60)
    calls = [{"id": "c1", "name": "terminal", "arguments": "{}"}, {"id": "c2", "name": "terminal", "arguments": "{}"}]
    handoff: list[dict[str, Any]] = [says("[summary]"), {"role": "assistant", "content": "", "tool_calls": calls}]
    one.store.compress("a", "b", Identity("telegram"), handoff)
    assert one.cells("a", "ended_at", "end_reason", "message_count") == (NOON + 60, "compression", 2)
    # The child was given no identity of its own, and takes its parent's.
    assert one.cells("b", "parent_session_id", *ROUTE) == ("a", *OF_KIM)
    assert one.cells("b", "message_count", "tool_call_count", "last_activity_at") == (2, 2, NOON + 60)


@pytest.mark.parametrize("statement", ["INSERT ON sessions", "INSERT ON messages", "UPDATE ON sessions"])
def test_a_compression_that_fails_at_any_step_leaves_the_parent_alive(one: Desk, statement: str) -> None:
    one.store.append("a", KIM, says("one"))
    before = list(one.connection.iterdump())
    one.connection.execute(f"CREATE TRIGGER no BEFORE {statement} BEGIN SELECT RAISE(ABORT, 'full'); END")
    with pytest.raises(sqlite3.IntegrityError):
        one.store.compress("a", "b", KIM, [says("[summary]")])
    one.connection.execute("DROP TRIGGER no")
    assert list(one.connection.iterdump()) == before


def test_what_cannot_be_compressed(one: Desk) -> None:
    one.store.create("a", KIM)
    with pytest.raises(CompressionError, match="nothing is handed over to b"):
        one.store.compress("a", "b", KIM, [])
    with pytest.raises(CompressionError, match="there is no session z"):
        one.store.compress("z", "b", KIM, [says("x")])
    one.store.end("a", "session_reset")
    with pytest.raises(CompressionError, match="a ended for session_reset"):
        one.store.compress("a", "b", KIM, [says("x")])
    assert one.ids() == ["a"]


@pytest.mark.parametrize("reason", ["tui_shutdown", "ws_disconnect", "idle_timeout", "lru_evict", "agent_close"])
def test_an_end_that_nobody_meant_does_not_stop_a_compression(one: Desk, reason: str) -> None:
    one.store.create("a", KIM)
    one.store.end("a", reason)
    one.store.compress("a", "b", KIM, [says("x")])
    assert one.cells("a", "end_reason") == ("compression",)


@pytest.mark.parametrize(
    ("config", "inherits"),
    [
        (None, True),
        ({"_delegate_from": "a"}, False),
        ({"_branched_from": "a"}, False),
        ({"_delegate_from": "elsewhere"}, True),  # Copied along with the rest of the configuration.
    ],
)
def test_who_inherits_the_identity_of_a_compressed_parent(
    one: Desk, config: dict[str, str] | None, inherits: bool
) -> None:
    one.store.create("a", KIM, Origin(cwd="/srv", git_repo_root="/srv"))
    one.store.end("a", "compression")
    one.store.create("b", Identity("telegram"), Origin(parent="a", model_config=config))
    assert one.cells("b", *ROUTE) == (OF_KIM if inherits else NOTHING)
    assert one.cells("b", "cwd", "git_repo_root", "profile_name") == ("/srv", "/srv", "default")


def test_the_child_of_an_open_row_inherits_the_place_and_no_identity(one: Desk) -> None:
    one.store.create("a", KIM, Origin(cwd="/srv"))
    one.store.create("b", Identity("telegram"), Origin(parent="a"))
    assert one.cells("b", "cwd", *ROUTE) == ("/srv", *NOTHING)


# -- transcripts ------------------------------------------------------------------------------------------------------


def test_a_transcript_comes_back_as_it_was_said(one: Desk) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "How high is the tide?", "api_content": "How high is the tide?\n\nnotice"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "terminal", "arguments": "{}"}]},
        {"role": "tool", "content": "3.1 m", "name": "terminal", "tool_call_id": "c1"},
        {"role": "assistant", "content": "3.1 m."},
        {"role": "user", "content": "[summary]", "_compressed_summary": True},
    ]
    one.store.append("a", KIM, *messages)
    assert one.store.transcript("a") == messages


def test_a_transcript_follows_its_compressions_and_no_branch(one: Desk) -> None:
    one.store.append("a", KIM, says("one"))
    one.store.compress("a", "b", KIM, [says("[one]")])
    one.store.compress("b", "c", KIM, [says("[two]")])
    one.at(60)
    one.store.create("d", KIM, Origin(parent="a", model_config={"_branched_from": "a"}))
    assert one.store.transcript("a") == [says("[two]")]


def test_a_chain_that_bites_its_tail_ends(one: Desk) -> None:
    one.store.append("a", KIM, says("one"))
    one.store.compress("a", "b", KIM, [says("[one]")])
    one.store.end("b", "compression")
    one.connection.execute("UPDATE sessions SET parent_session_id = 'b' WHERE id = 'a'")
    assert one.store.transcript("a") == [says("[one]")]


def test_what_was_rewound_or_folded_is_no_longer_part_of_it(one: Desk) -> None:
    one.store.append("a", KIM, says("one"), says("two"))
    one.connection.execute("UPDATE messages SET active = 0 WHERE content = 'one'")
    assert one.store.transcript("a") == [says("two")]


def test_an_empty_history_is_valid(one: Desk) -> None:
    one.store.create("a", KIM)
    assert one.store.transcript("a") == []
    assert one.store.transcript("never made") == []


def test_a_failed_read_is_an_error_and_said_loudly(one: Desk, caplog: pytest.LogCaptureFixture) -> None:
    one.store.append("a", KIM, says("one"))
    one.connection.execute("ALTER TABLE messages RENAME COLUMN content TO lost")
    with pytest.raises(TranscriptReadError, match="session a: no such column: content"):
        one.store.transcript("a")
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.ERROR,
            "The transcript of session a cannot be read and is not taken for empty: no such column: content",
        )
    ]


def test_calls_nested_deeper_than_python_reads_are_a_failed_read(one: Desk) -> None:
    one.store.append("a", KIM, says("one"))
    one.connection.execute("UPDATE messages SET tool_calls = ?", ("[" * 100_000,))
    with pytest.raises(TranscriptReadError, match="session a: "):
        one.store.transcript("a")


def test_fault_a_failed_read_is_an_empty_conversation(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = desk(tmp_path, frozenset({Fault.EMPTY_ON_ERROR}))
    made.store.append("a", KIM, says("one"))
    made.connection.execute("ALTER TABLE messages RENAME COLUMN content TO lost")
    assert made.store.transcript("a") == []
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []
