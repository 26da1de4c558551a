"""Which session a chat is in: new, again, after a restart, after a reset, and when writes fail."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ledger_tui.routing.hardened import INCIDENT, Fault, Routed
from ledger_tui.routing.orphans import find_orphans
from ledger_tui.routing.read import read_sessions

from .hardened_stores import KIM, Desk, desk, says


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Desk]:
    made = desk(tmp_path)
    yield made
    made.connection.close()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# -- finding a session ------------------------------------------------------------------------------------------------


def test_a_chat_gets_a_session_and_keeps_it(one: Desk) -> None:
    routes = one.routes()
    assert routes.session_for(KIM, one.new_id) == Routed("s1", new=True)
    assert routes.session_for(KIM, one.new_id) == Routed("s1")
    assert one.store.routes("here") == {KIM.session_key: "s1"}


def test_after_a_restart_the_route_is_found_or_the_row_by_its_key(one: Desk) -> None:
    one.routes().session_for(KIM, one.new_id)
    one.store.append("s1", KIM, says("one"))
    assert one.routes().session_for(KIM, one.new_id) == Routed("s1", resumed=True)
    one.connection.execute("DELETE FROM gateway_routing")
    assert one.routes().session_for(KIM, one.new_id) == Routed("s1", resumed=True)
    one.connection.execute("UPDATE sessions SET session_key = NULL")  # Only the chat's own ids are left.
    one.connection.execute("DELETE FROM gateway_routing")
    assert one.routes().session_for(KIM, one.new_id) == Routed("s1", resumed=True)
    assert one.given == ["s1"]
    assert one.cells("s1", "session_key") == (KIM.session_key,)


def test_a_route_nested_deeper_than_python_reads_names_no_session(one: Desk) -> None:
    one.routes().session_for(KIM, one.new_id)
    one.connection.execute("UPDATE gateway_routing SET entry_json = ?", ("[" * 100_000,))
    assert one.store.routes("here") == {}


def test_a_row_without_messages_is_better_than_a_new_id(one: Desk) -> None:
    one.store.create("empty", KIM)
    assert one.routes().session_for(KIM, one.new_id) == Routed("empty", resumed=True)
    assert one.given == []


def test_the_row_that_was_used_last_wins_and_not_the_one_that_started_last(one: Desk) -> None:
    one.store.append("old", KIM, says("one"))
    one.at(100)
    one.store.append("young", KIM, says("two"))
    one.at(200)
    one.store.append("old", KIM, says("three"))
    assert one.routes().session_for(KIM, one.new_id).session_id == "old"


def test_an_accidental_end_is_taken_back_and_its_times_are_kept(one: Desk) -> None:
    one.store.append("a", KIM, says("one"))
    one.store.end("a", "agent_close")
    one.at(900)
    assert one.routes().session_for(KIM, one.new_id) == Routed("a", resumed=True)
    assert one.cells("a", "ended_at", "end_reason", "last_activity_at") == (None, None, 1_900_000_000.0)


def test_nothing_comes_back_from_before_a_reset(one: Desk) -> None:
    one.store.append("a", KIM, says("one"))
    one.store.end("a", "agent_close")
    one.at(60)
    one.store.create("b", KIM)
    one.store.end("b", "session_reset")
    assert one.routes().session_for(KIM, one.new_id) == Routed("s1", new=True)


def test_a_route_to_a_row_that_has_ended_is_looked_up_again(one: Desk) -> None:
    routes = one.routes()
    routes.session_for(KIM, one.new_id)
    one.store.append("s1", KIM, says("one"))
    one.store.compress("s1", "child", KIM, [says("[one]")])
    assert routes.session_for(KIM, one.new_id) == Routed("child", resumed=True)
    assert one.routes().session_for(KIM, one.new_id) == Routed("child", resumed=True)
    assert one.store.routes("here") == {KIM.session_key: "child"}


def test_a_row_of_another_profile_is_not_entered(one: Desk) -> None:
    key = "agent:work:telegram:dm:70010123"
    one.store.append("theirs", replace(KIM, session_key=key), says("one"))
    assert one.routes().session_for(replace(KIM, session_key=key), one.new_id) == Routed("s1", new=True)


def test_a_search_that_fails_mints_nothing(one: Desk) -> None:
    one.store.append("a", KIM, says("one"))
    routes = one.routes()
    one.connection.execute("ALTER TABLE messages RENAME COLUMN session_id TO lost")
    with pytest.raises(sqlite3.OperationalError):
        routes.session_for(KIM, one.new_id)
    assert one.given == []


# -- resets -----------------------------------------------------------------------------------------------------------


def test_a_reset_switches_the_chat_and_its_route(one: Desk) -> None:
    routes = one.routes()
    routes.session_for(KIM, one.new_id)
    one.store.append("s1", KIM, says("one"))
    one.at(60)
    assert routes.reset(KIM, one.new_id) == "s2"
    assert routes.session_for(KIM, one.new_id) == Routed("s2")
    assert one.cells("s2", "parent_session_id") == ("s1",)
    # The new one has no messages yet, the old one has; the boundary keeps the old one out all the same.
    assert one.routes().session_for(KIM, one.new_id) == Routed("s2", resumed=True)
    one.connection.execute("DELETE FROM gateway_routing")
    assert one.routes().session_for(KIM, one.new_id) == Routed("s2", resumed=True)


def test_a_reset_right_after_a_start_ends_the_session_of_before(one: Desk) -> None:
    one.routes().session_for(KIM, one.new_id)
    one.store.append("s1", KIM, says("one"))
    one.at(60)
    assert one.routes().reset(KIM, one.new_id) == "s2"
    assert one.cells("s1", "end_reason") == ("session_reset",)
    assert one.routes().session_for(KIM, one.new_id) == Routed("s2", resumed=True)


def test_a_reset_of_a_session_that_was_never_written(one: Desk) -> None:
    routes = one.routes()
    with closing(one.held()):
        routes.session_for(KIM, one.new_id)
    assert routes.reset(KIM, one.new_id) == "s2"
    assert one.cells("s1", "end_reason", "session_key") == ("session_reset", KIM.session_key)
    assert one.cells("s2", "parent_session_id") == ("s1",)


def test_a_chat_without_a_session_has_nothing_to_reset(one: Desk) -> None:
    assert one.routes().reset(KIM, one.new_id) is None
    assert one.given == []


def test_a_reset_that_cannot_be_written_switches_nothing_and_says_so(
    one: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    routes = one.routes()
    routes.session_for(KIM, one.new_id)
    with closing(one.held()):
        assert routes.reset(KIM, one.new_id) == "s1"
    assert warnings(caplog) == [
        "The reset of agent:main:telegram:dm:70010123 could not be written (database is locked):"
        " the chat stays in session s1; nothing was switched"
    ]
    assert routes.session_for(KIM, one.new_id) == Routed("s1")
    assert one.ids() == ["s1"]


# -- writes that fail -------------------------------------------------------------------------------------------------


def test_a_first_row_that_cannot_be_written_is_warned_of_and_made_by_the_next_message(
    one: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    routes = one.routes()
    with closing(one.held()):
        assert routes.session_for(KIM, one.new_id) == Routed("s1", new=True)
    assert warnings(caplog) == [
        "The first row of session s1 for agent:main:telegram:dm:70010123 could not be written (database is locked):"
        " after a restart the chat may go on in another session, until the next message writes it again"
    ]
    assert one.ids() == []
    assert routes.session_for(KIM, one.new_id) == Routed("s1")
    assert one.cells("s1", "session_key", "chat_id", "user_id") == (KIM.session_key, KIM.chat_id, KIM.user_id)


def test_a_refresh_that_cannot_be_written_is_warned_of(one: Desk, caplog: pytest.LogCaptureFixture) -> None:
    routes = one.routes()
    routes.session_for(KIM, one.new_id)
    with closing(one.held()):
        assert routes.session_for(KIM, one.new_id) == Routed("s1")
    (said,) = warnings(caplog)
    assert said.startswith("The identity of session s1 for ")


def test_every_message_heals_a_row_that_lost_its_identity(one: Desk) -> None:
    routes = one.routes()
    routes.session_for(KIM, one.new_id)
    one.connection.execute("UPDATE sessions SET session_key = NULL, chat_id = NULL")
    routes.session_for(KIM, one.new_id)
    assert one.cells("s1", "session_key", "chat_id") == (KIM.session_key, KIM.chat_id)


# -- the old faults ---------------------------------------------------------------------------------------------------


def test_fault_the_table_is_switched_before_the_write(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = desk(tmp_path, frozenset({Fault.TABLE_FIRST}))
    routes = made.routes()
    routes.session_for(KIM, made.new_id)
    with closing(made.held()):
        assert routes.reset(KIM, made.new_id) == "s2"
    assert warnings(caplog) == [
        "The reset of agent:main:telegram:dm:70010123 could not be written (database is locked): session s1 stays open"
        " and may be resumed after a restart, until the next message writes s2"
    ]
    assert made.cells("s1", "ended_at") == (None,)
    assert made.ids() == ["s1"]


def test_fault_a_failed_rotation_is_swallowed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = desk(tmp_path, frozenset({Fault.SWALLOWED_WRITES}))
    routes = made.routes()
    routes.session_for(KIM, made.new_id)
    with closing(made.held()):
        assert routes.reset(KIM, made.new_id) == "s2"
    assert warnings(caplog) == []
    assert made.ids() == ["s1"]


def test_fault_a_refresh_leaves_a_missing_row_missing(tmp_path: Path) -> None:
    made = desk(tmp_path, frozenset({Fault.UPDATE_ONLY_REFRESH}))
    routes = made.routes()
    with closing(made.held()):
        routes.session_for(KIM, made.new_id)
    routes.session_for(KIM, made.new_id)
    made.store.refresh("s1", KIM)
    assert made.ids() == []


def test_fault_the_row_that_started_last_wins_over_one_that_was_used_last(tmp_path: Path) -> None:
    made = desk(tmp_path, frozenset({Fault.RESOLVE_BY_START}))
    made.store.append("old", KIM, says("one"))
    made.at(100)
    made.store.append("young", KIM, says("two"))
    made.at(200)
    made.store.append("old", KIM, says("three"))
    assert made.routes().session_for(KIM, made.new_id).session_id == "young"


def test_fault_a_reset_fences_nothing_off(tmp_path: Path) -> None:
    made = desk(tmp_path, frozenset({Fault.RESOLVE_BY_START}))
    made.store.append("a", KIM, says("one"))
    made.store.end("a", "agent_close")
    made.at(60)
    made.store.create("b", KIM)
    made.store.end("b", "session_reset")
    assert made.routes().session_for(KIM, made.new_id) == Routed("a", resumed=True)


def incident(made: Desk) -> str:
    """Twelve messages, a rotation while somebody holds the file, five more messages, a crash, and the next message:
    the session it lands in."""
    routes = made.routes()
    first = routes.session_for(KIM, made.new_id).session_id
    for number in range(12):
        made.store.append(first, KIM, says(f"old {number}"))
    made.at(60)
    with closing(made.held()):
        routes.reset(KIM, made.new_id)
    for number in range(5):
        made.at(100 + number)
        current = routes.session_for(KIM, made.new_id).session_id
        made.store.append(current, KIM, says(f"new {number}"))
    del routes  # The gateway crashes, and its table with it.
    return made.routes().session_for(KIM, made.new_id).session_id


def test_the_faults_together_are_the_incident(tmp_path: Path) -> None:
    made = desk(tmp_path, INCIDENT)
    assert incident(made) == "s1"
    assert made.cells("s1", "message_count", "ended_at") == (12, None)
    assert made.cells("s2", "message_count", "session_key", "chat_id", "user_id") == (5, None, None, None)
    (found,) = find_orphans(read_sessions(made.connection, "default").sessions, "default")
    assert (found.orphan_id, found.donor_id, found.evidence, found.adoptable) == ("s2", "s1", "contiguity", True)


FAILED = frozenset({Fault.SWALLOWED_WRITES, Fault.TABLE_FIRST})


@pytest.mark.parametrize(
    "mended", [{Fault.BARE_LAZY_ROWS}, {Fault.UPDATE_ONLY_REFRESH}, FAILED], ids=["lazy", "refresh", "rotation"]
)
def test_each_remedy_alone_saves_the_day(tmp_path: Path, mended: frozenset[Fault]) -> None:
    made = desk(tmp_path, INCIDENT - mended)
    assert made.store.transcript(incident(made))[-1] == says("new 4")


def test_a_warning_alone_saves_nothing_but_tells(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = desk(tmp_path, INCIDENT - {Fault.SWALLOWED_WRITES})
    assert incident(made) == "s1"
    (said,) = warnings(caplog)
    assert "session s1 stays open and may be resumed after a restart" in said


def test_a_stale_route_does_not_beat_the_row_that_was_used_later(one: Desk) -> None:
    one.routes().session_for(KIM, one.new_id)
    one.store.append("s1", KIM, says("one"))
    one.at(60)
    one.store.append("later", KIM, says("two"))
    assert one.routes().session_for(KIM, one.new_id) == Routed("later", resumed=True)


def test_hardened_the_same_day_loses_nothing(one: Desk) -> None:
    assert one.store.transcript(incident(one))[-1] == says("new 4")
    assert find_orphans(read_sessions(one.connection, "default").sessions, "default") == ()
