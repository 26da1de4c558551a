"""A plan says every cell, keeps what stands, and never guesses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ledger_tui.routing.further import Further
from ledger_tui.routing.orphans import AMBIGUOUS, CONTESTED, Orphan, find_orphans
from ledger_tui.routing.read import Layout, Store
from ledger_tui.routing.repair.adoption import (
    HIDDEN_MARK,
    JOURNAL_LINK,
    KEEPS_STAMP,
    NO_OBJECT,
    OTHER_PARENT,
    OTHER_PERSON,
    PARENT_TAKEN_OUT,
    adopt,
    applied,
    refusal,
)
from ledger_tui.routing.repair.cells import CHANGEABLE, Cell
from ledger_tui.routing.repair.plan import Findings, Plan, make_plan
from ledger_tui.routing.rows import COLUMNS, Session, markers, session

KEY = "agent:main:telegram:dm:77"
NOW = 9_000.0

Row = dict[str, Any]


def row(number: int, key: str, **given: Any) -> Row:
    """A row of a store as the file holds it."""
    named = {"rowid": number, "id": key, "source": "telegram", "started_at": 1000.0, "message_count": 3, **given}
    return {column: named.get(column) for column in (*COLUMNS, "origin_json")} | {"messages": given.get("messages", 3)}


DONOR = row(
    1, "d", session_key=KEY, chat_id="77", chat_type="dm", user_id="u", display_name="Kim",
    origin_json='{"chat_id": "77"}', last_activity_at=1900.0,
)  # fmt: skip
ORPHAN = row(2, "o", started_at=2000.0, last_activity_at=5000.0)


def as_session(one: Row) -> Session:
    return session([one[column] for column in COLUMNS])._replace(messages=one["messages"])


def as_cells(one: Row) -> dict[str, Cell]:
    return {column: one[column] for column in CHANGEABLE}


def store(
    *rows: Row, recent: bool = True, owner: str | None = "default", routes: Mapping[str, str] | None = None
) -> Store:
    columns = frozenset(COLUMNS) - (frozenset() if recent else {"last_activity_at"})
    sessions = {one["id"]: as_session(one) for one in rows}
    return Store(sessions, owner, Layout(sessions=columns), {}, dict(routes or {}))


def plan(*rows: Row, further: tuple[Further, ...] = (), **given: Any) -> Plan:
    asked = {name: given.pop(name) for name in ("only", "choices", "end") if name in given}
    there = store(*rows, **given)
    findings = Findings(there, find_orphans(there.sessions, there.owner), further)
    return make_plan(findings, {one["id"]: as_cells(one) for one in rows}, now=NOW, **asked)


def changes(one: Plan) -> dict[tuple[str, str], tuple[Cell, Cell]]:
    return {(each.session_id, each.column): (each.before, each.after) for each in one.changes}


def test_the_whole_of_one_adoption() -> None:
    assert changes(plan(DONOR, ORPHAN)) == {
        ("o", "session_key"): (None, KEY),
        ("o", "chat_id"): (None, "77"),
        ("o", "chat_type"): (None, "dm"),
        ("o", "user_id"): (None, "u"),
        ("o", "origin_json"): (None, '{"chat_id": "77"}'),
        ("o", "display_name"): (None, "Kim"),
        ("o", "parent_session_id"): (None, "d"),
        ("o", "model_config"): (None, '{"_reset_from": "d"}'),
        ("d", "ended_at"): (None, NOW),
        ("d", "end_reason"): (None, "superseded_by_repair"),
    }


def test_the_answer_before_and_after() -> None:
    (answer,) = plan(DONOR, ORPHAN).answers
    assert (answer.session_key, answer.before_id, answer.after_id, answer.effective) == (KEY, "d", "o", True)


def test_what_stands_there_stays_even_if_it_is_empty() -> None:
    orphan = {**ORPHAN, "chat_id": "", "user_id": "", "display_name": "K."}
    found = changes(plan(DONOR, orphan))
    assert not {("o", "chat_id"), ("o", "user_id"), ("o", "display_name")} & set(found)


def test_an_empty_key_is_filled() -> None:
    """D5: the host's command retires the donor and stamps nothing."""
    orphan = {**ORPHAN, "session_key": ""}
    seen = Further("o", "empty-key", ("d",), True, "", True)
    found = plan(DONOR, orphan, further=(seen,))
    assert changes(found)["o", "session_key"] == ("", KEY)
    assert found.adoptions[0].evidence == "empty-key"


def test_an_empty_parent_is_none() -> None:
    """D6: the host's command stops half-way at this row."""
    assert changes(plan(DONOR, {**ORPHAN, "parent_session_id": ""}))["o", "parent_session_id"] == ("", "d")


@pytest.mark.parametrize(
    "reason", ["session_reset", "compression", "branched", "cli_close", "superseded_by_repair", "odd"]
)
def test_a_donor_that_ended_on_purpose_keeps_its_stamp(reason: str) -> None:
    """D2: on such a stamp a reset fence or a chain hangs."""
    donor = {**DONOR, "ended_at": 1950.0, "end_reason": reason}
    found = plan(donor, ORPHAN)
    assert {column for key, column in changes(found) if key == "d"} == set()
    assert KEEPS_STAMP in found.adoptions[0].notes


@pytest.mark.parametrize(
    "reason", ["agent_close", "ws_orphan_reap", "superseded_by_resume", "startup_orphan_reap", None]
)
def test_a_donor_that_ended_by_accident_keeps_its_time(reason: str | None) -> None:
    found = changes(plan({**DONOR, "ended_at": 1950.0, "end_reason": reason}, ORPHAN))
    assert found["d", "end_reason"] == (reason, "superseded_by_repair")
    assert ("d", "ended_at") not in found


def test_after_a_compaction_the_row_is_the_continuation() -> None:
    """A mark would cut the chain: it gets its parent and nothing else."""
    for recent in (True, False):
        found = changes(plan({**DONOR, "ended_at": 1950.0, "end_reason": "compression"}, ORPHAN, recent=recent))
        assert found["o", "parent_session_id"] == (None, "d")
        assert ("o", "model_config") not in found


def test_a_compaction_that_nobody_finished_is_ended_as_one() -> None:
    """The reason stands there without a time: the row would still be opened, and the chain hangs on the reason."""
    found = changes(plan({**DONOR, "end_reason": "compression"}, ORPHAN))
    assert found["d", "ended_at"] == (None, NOW)
    assert ("d", "end_reason") not in found
    assert found["o", "parent_session_id"] == (None, "d")


def test_on_a_file_of_a_019_the_parent_stays_empty() -> None:
    found = plan(DONOR, ORPHAN, recent=False)
    assert ("o", "parent_session_id") not in changes(found)
    assert changes(found)["o", "model_config"] == (None, '{"_reset_from": "d"}')
    assert found.adoptions[0].notes == (JOURNAL_LINK,)


def test_on_a_file_of_a_019_a_recorded_parent_moves_into_the_mark() -> None:
    """Its list shows no row with such a parent, and deleting the parent would delete the row (both versions' code)."""
    found = plan(DONOR, {**ORPHAN, "parent_session_id": "d"}, recent=False)
    assert changes(found)["o", "parent_session_id"] == ("d", None)
    assert found.adoptions[0].notes == (PARENT_TAKEN_OUT,)
    assert found.adoptions[0].evidence == "lineage"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"_reset_from": "d"}'),
        (" { } \n", ' {"_reset_from": "d"}'),
        ('{"b": 1.50, "a": [1e400]}', '{"b": 1.50, "a": [1e400], "_reset_from": "d"}'),
        ('{"b":1 }', '{"b":1, "_reset_from": "d"}'),
        ('{"_reset_from": null, "b": 2}', '{"_reset_from": "d", "b": 2}'),
    ],
)
def test_other_settings_of_the_row_stay_as_they_are(before: str, after: str) -> None:
    found = changes(plan(DONOR, {**ORPHAN, "model_config": before}))
    assert found["o", "model_config"] == (before, after)
    assert markers(after)[2] == "d"
    assert set(json.loads(after)) == {*json.loads(before), "_reset_from"}


@pytest.mark.parametrize("mark", ['"x"', '""', "false"])
def test_a_mark_that_stands_there_stays(mark: str) -> None:
    assert ("o", "model_config") not in changes(plan(DONOR, {**ORPHAN, "model_config": f'{{"_reset_from": {mark}}}'}))


@pytest.mark.parametrize("config", ["[]", "null", "3", "no json", '{"a": NaN}', b"{}", 7])
def test_a_setting_that_is_no_object_is_left_alone_and_so_is_the_parent(config: Cell) -> None:
    for parent in (None, "d"):
        for recent in (True, False):
            found = plan(DONOR, {**ORPHAN, "model_config": config, "parent_session_id": parent}, recent=recent)
            assert not {("o", "model_config"), ("o", "parent_session_id")} & set(changes(found))
            assert NO_OBJECT in found.adoptions[0].notes


def test_a_chain_is_mended_in_one_go() -> None:
    """D7: the middle row gets the identity, gives it on, and is retired like any donor."""
    upper = ORPHAN
    lower = row(3, "p", started_at=6000.0, last_activity_at=7000.0, parent_session_id="o")
    seen = Further("p", "chain", ("o",), True, "", True)
    for rows in ((DONOR, upper, lower), (lower, upper, DONOR)):
        found = plan(*rows, further=(seen,))
        assert [(one.orphan_id, one.donor_id) for one in found.adoptions] == [("o", "d"), ("p", "o")]
        assert changes(found)["p", "session_key"] == (None, KEY)
        assert changes(found)["o", "end_reason"] == (None, "superseded_by_repair")
        (answer,) = found.answers
        assert (answer.before_id, answer.after_id, answer.effective) == ("d", "p", True)


def test_a_chain_hangs_on_its_first_link() -> None:
    lower = row(3, "p", started_at=6000.0, last_activity_at=7000.0, parent_session_id="o")
    seen = Further("p", "chain", ("o",), True, "", True)
    found = plan(DONOR, ORPHAN, lower, further=(seen,), only=["p"])
    assert found.adoptions == ()
    reasons = {one.orphan_id: one.reason for one in found.skipped}
    assert reasons["o"] == "left out by --only"
    assert "no routing key" in reasons["p"]


def test_two_donors_or_two_claims_are_nobodys() -> None:
    second = {**DONOR, "rowid": 3, "id": "e", "session_key": KEY + "8"}
    assert [(one.orphan_id, one.reason) for one in plan(DONOR, second, ORPHAN).skipped] == [("o", AMBIGUOUS)]
    rival = {**ORPHAN, "rowid": 3, "id": "q"}
    found = plan(DONOR, ORPHAN, rival)
    assert found.adoptions == ()
    assert {one.reason for one in found.skipped} == {CONTESTED}


def test_a_person_may_choose_where_the_evidence_does_not() -> None:
    second = {**DONOR, "rowid": 3, "id": "e", "session_key": KEY + "8"}
    found = plan(DONOR, second, ORPHAN, choices={"o": "e"})
    (one,) = found.adoptions
    assert (one.donor_id, one.evidence, one.chosen) == ("e", "choice", True)
    assert changes(found)["o", "session_key"] == (None, KEY + "8")


def test_who_is_not_chosen_loses_the_contest() -> None:
    rival = {**ORPHAN, "rowid": 3, "id": "q"}
    third = {**DONOR, "rowid": 4, "id": "e", "session_key": KEY + "8", "last_activity_at": 100.0}
    found = plan(DONOR, third, ORPHAN, rival, choices={"o": "d"})
    assert [one.orphan_id for one in found.adoptions] == ["o"]
    both = plan(DONOR, ORPHAN, rival, choices={"o": "d", "q": "d"})
    assert both.adoptions == ()


@pytest.mark.parametrize(
    ("orphan", "donor", "words"),
    [
        ({}, {"source": "discord"}, "different platforms"),
        ({"profile_name": "work"}, {}, "different profiles"),
        ({}, {"profile_name": "work"}, "different profiles"),
        ({"session_key": "k"}, {}, "has a routing key already"),
        ({}, {"session_key": None}, "no routing key to give"),
        ({}, {"session_key": ""}, "no routing key to give"),
    ],
)
def test_what_even_a_person_may_not_choose(orphan: Row, donor: Row, words: str) -> None:
    found = plan({**DONOR, **donor}, {**ORPHAN, **orphan}, choices={"o": "d"})
    assert found.adoptions == ()
    assert [words in one.reason for one in found.skipped if one.orphan_id == "o"] == [True]


def test_a_row_that_is_not_there_and_a_row_itself() -> None:
    one = as_session(DONOR)
    assert refusal(None, one, None) == refusal(one, None, None) == "one of the two rows does not exist"
    assert refusal(one, one, None) == "a row cannot take back itself"


def test_without_an_owner_profiles_fence_nothing_off() -> None:
    found = plan({**DONOR, "profile_name": "a"}, {**ORPHAN, "profile_name": "b"}, owner=None, choices={"o": "d"})
    assert len(found.adoptions) == 1


def test_what_the_person_should_know() -> None:
    other = plan(DONOR, {**ORPHAN, "user_id": "v"}, choices={"o": "d"})
    assert OTHER_PERSON in other.adoptions[0].notes
    marked = plan(DONOR, {**ORPHAN, "model_config": '{"_delegate_from": "x"}'}, choices={"o": "d"})
    assert HIDDEN_MARK in marked.adoptions[0].notes
    kept = plan(DONOR, {**ORPHAN, "parent_session_id": "x"}, choices={"o": "d"})
    assert OTHER_PARENT in kept.adoptions[0].notes
    assert ("o", "parent_session_id") not in changes(kept)


@pytest.mark.parametrize(
    ("rows", "routes", "after"),
    [
        ([{**DONOR, "rowid": 5, "id": "n", "last_activity_at": 8000.0, "ended_at": None}], {}, "n"),
        ([{**DONOR, "rowid": 5, "id": "n", "ended_at": 6000.0, "end_reason": "session_reset"}], {}, None),
        ([{**DONOR, "rowid": 5, "id": "n", "session_key": "other"}], {KEY: '{"session_id": "n"}'}, "o"),
    ],
)
def test_an_ineffective_repair_says_so(rows: list[Row], routes: dict[str, str], after: str | None) -> None:
    """A newer row of the chat, a later reset, and a routing table that names another open row."""
    found = plan(DONOR, ORPHAN, *rows, routes=routes, choices={"o": "d"})
    (answer,) = found.answers
    assert (answer.after_id, answer.effective) == (after, False)
    assert answer.text.startswith("Without effect on the chat")


def test_a_person_may_end_a_row_whose_talk_is_over() -> None:
    """As a reset by the chat's user: nothing from before comes back, whatever lies there."""
    older = {
        **DONOR,
        "rowid": 5,
        "id": "older",
        "last_activity_at": 500.0,
        "ended_at": 600.0,
        "end_reason": "agent_close",
    }
    found = plan(DONOR, older, end=["d"])
    assert changes(found) == {("d", "ended_at"): (None, NOW), ("d", "end_reason"): (None, "session_reset")}
    (answer,) = found.answers
    assert (answer.before_id, answer.after_id, answer.effective) == ("d", None, True)
    assert (found.decided, found.empty, plan(DONOR).empty) == (True, False, True)


@pytest.mark.parametrize(
    "given", [{"ended_at": 5.0}, {"session_key": None}, {"session_key": ""}, {"source": "cli"}, {"id": "x"}]
)
def test_what_nobody_needs_to_end(given: Row) -> None:
    found = plan({**DONOR, **given}, end=["d"])
    assert (found.endings, {one.orphan_id for one in found.skipped}) == ((), {"d"})


def test_a_donor_that_is_retired_needs_no_end() -> None:
    found = plan(DONOR, ORPHAN, end=["d"])
    assert (len(found.adoptions), found.endings) == (1, ())


def test_ending_what_was_just_brought_back_begins_anew() -> None:
    """Both were asked for: the conversation gets its key and is over."""
    (answer,) = plan(DONOR, ORPHAN, end=["o"]).answers
    assert (answer.after_id, answer.effective) == (None, False)


def test_rows_without_a_key_by_nature_are_not_spoken_of() -> None:
    command_line = row(3, "c", source="cli", started_at=2000.0)
    assert plan(DONOR, command_line).skipped == ()


def test_cells_that_are_gone_are_not_made_up() -> None:
    there = store(DONOR, ORPHAN)
    findings = Findings(there, find_orphans(there.sessions, there.owner), ())
    found = make_plan(findings, {"o": as_cells(ORPHAN)}, now=NOW)
    assert (found.adoptions, [one.reason for one in found.skipped]) == ((), ["the row changed while it was read"])


def test_would_be_rows_read_like_rows_from_the_file() -> None:
    before = as_session(ORPHAN)
    assert applied(before, "model_config", '{"_reset_from": "d"}').reset_from == "d"
    assert applied(before, "ended_at", 3).ended_at == 3
    assert applied(before, "user_id", b"\xff").user_id == "\udcff"
    assert applied(before, "origin_json", "{}") == before


def test_ids_that_are_no_text_are_no_mark() -> None:
    donor, orphan = as_session({**DONOR, "id": "d\udcff"}), as_session(ORPHAN)
    written, notes = adopt(orphan, donor, as_cells(ORPHAN), as_cells(DONOR), recent=True, now=NOW)
    assert {one.column for one in written} & {"model_config", "parent_session_id"} == set()
    assert NO_OBJECT in notes


def test_the_hosts_records_come_first() -> None:
    """A finding of ours about a record that the host would adopt does not take it away, unless its donor has no key."""
    spoken = Further("o", "spoken-again", ("d",), False, "spoken again", True)
    assert [one.evidence for one in plan(DONOR, ORPHAN, further=(spoken,)).adoptions] == ["contiguity"]
    empty = Further("o", "empty-donor", (), False, "nobody", True)
    assert plan(DONOR, ORPHAN, further=(empty,)).adoptions == ()
    assert isinstance(find_orphans(store(DONOR, ORPHAN).sessions, None)[0], Orphan)
