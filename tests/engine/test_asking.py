"""Which session is a chat in, by its key and the host's `state.db`?"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from agent_ledger.engine import asking, short_words

from .chats import KEY, OTHER, Store, gateway
from .homes import Home


def test_the_routing_of_the_gateway_comes_first(store: Store) -> None:
    store.session("old", KEY, 10.0, last_activity_at=99.0)
    store.session("new", KEY, 20.0, spoken=False)
    store.route(KEY, "new")
    assert store.of() == ("new",)


def test_without_a_routing_it_is_the_row_that_hermes_would_resume(store: Store) -> None:
    store.session("quiet", KEY, 10.0, last_activity_at=50.0)
    store.session("newer-start", KEY, 20.0, last_activity_at=30.0)
    store.session("never-spoken", KEY, 60.0, spoken=False)
    store.session("another", OTHER, 90.0)
    assert store.of() == ("quiet",)
    assert store.of(OTHER) == ("another",)
    assert store.of("agent:main:telegram:dm:1") == ()


def test_nothing_from_before_a_reset_comes_back(store: Store) -> None:
    store.session("before", KEY, 10.0, last_activity_at=20.0)
    store.session("reset", KEY, 25.0, ended_at=30.0, end_reason="session_reset")
    assert store.of() == ()
    store.session("after", KEY, 40.0, ended_at=50.0, end_reason="agent_close")
    assert store.of() == ("after",)


def test_a_routing_that_names_another_chats_row_is_not_followed(store: Store) -> None:
    store.session("theirs", OTHER, 10.0)
    store.route(KEY, "theirs")
    assert store.of() == ()


def test_a_routing_to_a_row_that_lost_its_key_is_followed(store: Store) -> None:
    store.session("zombie", KEY, 10.0)
    store.session("orphan", None, 20.0)
    store.route(KEY, "orphan")
    assert store.of() == ("orphan",)


def test_two_routings_of_other_places_say_nothing(store: Store) -> None:
    store.route(KEY, "one", scope="/elsewhere")
    store.route(KEY, "two", scope="/somewhere")
    assert store.of() == ()
    store.route(KEY, "ours")
    assert store.of() == ("ours",)


def test_a_rotated_conversation_has_all_its_ids_and_no_branch(store: Store) -> None:
    store.session("first", KEY, 10.0, ended_at=20.0, end_reason="compression")
    store.session("second", None, 20.0, parent_session_id="first", ended_at=30.0, end_reason="compression")
    store.session("third", KEY, 30.0, parent_session_id="second")
    fork = json.dumps({"_branched_from": "second"})
    store.session("branch", KEY, 40.0, parent_session_id="second", model_config=fork)
    store.route(KEY, "first")
    assert store.of() == ("third", "second", "first")


def test_what_came_before_another_chats_row_is_not_shown(store: Store) -> None:
    store.session("first", KEY, 10.0, ended_at=20.0, end_reason="compression")
    store.session("theirs", OTHER, 20.0, parent_session_id="first", ended_at=30.0, end_reason="compression")
    store.session("nameless", "", 30.0, parent_session_id="theirs", ended_at=40.0, end_reason="compression")
    store.session("newest", KEY, 40.0, parent_session_id="nameless")
    store.route(KEY, "newest")
    assert store.of() == ("newest", "nameless")


def test_a_store_that_is_locked_is_no_answer_without_the_ids_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.session("old", KEY, 10.0, ended_at=20.0, end_reason="compression")
    store.session("new", KEY, 20.0, parent_session_id="old")
    assert asking.ids_of_session(store.path, "new") == ("new", "old")
    monkeypatch.setattr(asking, "_BUSY_S", 0.0)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(asking.UnknownChatError):
            asking.ids_of_session(store.path, "new")
        with pytest.raises(asking.UnknownChatError):
            store.of()


def test_a_session_without_a_store_has_its_one_id(home: Home) -> None:
    assert asking.ids_of_session(home.paths.state, "s1") == ("s1",)


def test_a_store_that_cannot_be_read_is_an_error_and_no_answer(home: Home) -> None:
    home.paths.state.write_bytes(b"no database at all, but long enough to be looked at" * 20)
    with pytest.raises(asking.UnknownChatError):
        asking.ids_of_chat(home.paths.state, KEY, "telegram")
    assert gateway() == short_words.TROUBLE
