"""Kanban: the judging by hand-made facts, and the reading by boards put there by hand."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.evidence.kanban import Seen, judge_seen

from .makers import World


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Seen("it", mine=("The board shows it.",)), "landed"),
        (Seen("it", mine=("The board shows it.",), whole=False), "landed"),
        (Seen("it"), "absent"),
        (Seen("it", whole=False), "unknown"),
        (Seen("it", shared=1), "unknown"),
        (Seen("it", shared=1, taken=1), "absent"),
        (Seen("it", shared=2, taken=1), "unknown"),
        (Seen("it", unlike=1), "unknown"),
        (Seen("it", later=1), "unknown"),
        (Seen("it", before="A card with the key was there."), "unknown"),
    ],
)
def test_verdicts(seen: Seen, verdict: str) -> None:
    assert judge_seen(seen, 900.0).verdict == verdict


class Board:
    """A board with the tables that are asked, as both hosts make them."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(
            "CREATE TABLE tasks(id TEXT PRIMARY KEY, title TEXT, body TEXT, idempotency_key TEXT, created_at INTEGER);"
            "CREATE TABLE task_comments(id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT, author TEXT, body TEXT,"
            " created_at INTEGER);"
            "CREATE TABLE task_events(id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT, run_id INTEGER, kind TEXT,"
            " payload TEXT, created_at INTEGER);"
        )

    def event(self, kind: str, at: float, task: str = "t_1", **payload: Any) -> None:
        self.db.execute(
            "INSERT INTO task_events(task_id, kind, payload, created_at) VALUES(?,?,?,?)",
            (task, kind, json.dumps(payload) if payload else None, int(at)),
        )

    def card(self, at: float, task: str = "t_1", title: str = "First", **more: Any) -> None:
        self.db.execute(
            "INSERT INTO tasks VALUES(?,?,?,?,?)", (task, title, more.get("body"), more.get("key"), int(at))
        )  # fmt: skip
        self.event("created", at, task)

    def comment(self, at: float, body: str, task: str = "t_1") -> None:
        self.db.execute(
            "INSERT INTO task_comments(task_id, author, body, created_at) VALUES(?,?,?,?)", (task, "me", body, int(at))
        )
        self.event("commented", at, task, author="me", len=len(body))


@pytest.fixture
def board(world: World) -> Board:
    return Board(world.paths.home / "kanban.db")


CARD = {"title": "First", "assignee": "worker"}


def test_a_card_made_right_after_the_call(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    other = world.call("kanban_create", {**CARD, "title": "Second"}, at=world.before + 30.0)
    board.card(world.before + 0.5)
    assert world.verdict(call).verdict == "landed"
    assert world.verdict(other).verdict == "absent"


def test_a_card_of_that_title_from_before_is_none_of_it(world: World, board: Board) -> None:
    board.card(world.before - 5.0)
    assert world.verdict(world.call("kanban_create", CARD)).verdict == "absent"


def test_a_card_that_came_later_may_be_somebody_elses(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    board.card(world.before + 30.0)
    assert world.verdict(call).verdict == "unknown"


def test_a_deleted_event_leaves_a_gap(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    board.card(world.before + 0.5)
    board.card(world.before + 60.0, "t_2", "Second")
    board.db.execute("DELETE FROM task_events WHERE task_id = 't_1'")
    board.db.execute("DELETE FROM tasks WHERE id = 't_1'")
    told = world.verdict(call)
    assert told.verdict == "unknown"
    assert "events since the call were deleted" in told.evidence[0]


def test_a_board_put_back_from_a_backup_is_no_proof(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    board.card(world.before - 90.0, title="Another")
    assert world.verdict(call).verdict == "absent"
    board.db.close()
    os.utime(world.paths.home / "kanban.db", (world.before - 30.0, world.before - 30.0))
    assert world.verdict(call).verdict == "unknown"


def test_the_last_event_deleted_is_noticed_too(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    board.card(world.before + 0.5)
    board.db.execute("DELETE FROM task_events")
    assert world.verdict(call).verdict == "unknown"


def test_a_card_whose_row_was_deleted_cannot_be_compared(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    board.card(world.before + 0.5)
    board.db.execute("DELETE FROM tasks")
    assert world.verdict(call).verdict == "unknown"


def test_a_confirmed_call_has_a_card_of_its_own(world: World, board: Board) -> None:
    call = world.call("kanban_create", CARD)
    world.done("kanban_create", {**CARD, "title": "Second"}, at=world.before + 0.9, took=0.3)
    board.card(world.before + 0.5)
    board.card(world.before + 1.0, "t_2", title="Second")
    board.db.execute("DELETE FROM tasks WHERE id = 't_1'")
    assert world.verdict(call).verdict == "unknown"


def test_a_key_that_was_there_gives_back_the_old_card(world: World, board: Board) -> None:
    board.card(world.before - 90.0, key="weekly")
    call = world.call("kanban_create", {**CARD, "idempotency_key": "weekly"})
    told = world.verdict(call)
    assert (told.verdict, "was there before the call" in told.evidence[0]) == ("unknown", True)


def test_an_identical_confirmed_call_takes_the_one_event(world: World, board: Board) -> None:
    args = {"task_id": "t_1", "body": "Again."}
    lost = world.call("kanban_comment", args, at=world.before)
    world.done("kanban_comment", args, at=world.before + 1.2, took=0.3)
    board.card(world.before - 90.0)
    board.comment(world.before + 1.3, "Again.")
    assert world.verdict(lost).verdict == "absent"
    board.comment(world.before + 0.2, "Again.")
    assert world.verdict(lost).verdict in ("landed", "unknown")


def test_two_lost_calls_and_one_event(world: World, board: Board) -> None:
    args = {"task_id": "t_1", "reason": "Why?"}
    first = world.call("kanban_block", args, at=world.before)
    second = world.call("kanban_block", args, at=world.before + 0.3)
    board.card(world.before - 90.0)
    board.event("blocked", world.before + 0.5)
    assert [world.verdict(call).verdict for call in (first, second)] == ["unknown", "unknown"]


def test_of_two_lost_calls_the_card_is_that_of_the_one_that_asked_for_it(world: World, board: Board) -> None:
    first = world.call("kanban_create", CARD, at=world.before)
    second = world.call("kanban_create", {**CARD, "title": "Second"}, at=world.before + 0.3)
    board.card(world.before + 0.5, title="Second")
    assert [world.verdict(call).verdict for call in (first, second)] == ["absent", "landed"]


def test_only_events_of_the_card_that_was_named_count(world: World, board: Board) -> None:
    board.card(world.before - 90.0)
    board.event("completed", world.before + 0.5, "t_2")
    assert world.verdict(world.call("kanban_complete", {"task_id": "t_1", "summary": "Done."})).verdict == "absent"
    assert world.verdict(world.call("kanban_complete", {"task_id": "t_2", "summary": "Done."})).verdict == "landed"


def test_a_comment_out_of_which_the_host_took_a_secret(world: World, board: Board) -> None:
    board.card(world.before - 90.0)
    board.comment(world.before + 0.5, "The key is ***.")
    call = world.call("kanban_comment", {"task_id": "t_1", "body": "The key is 1234."})
    assert world.verdict(call).verdict == "unknown"


def test_a_link_and_an_attachment(world: World, board: Board) -> None:
    board.card(world.before - 90.0)
    board.event("linked", world.before + 0.5, "t_2", parent="t_1", child="t_2")
    board.event("attached", world.before + 0.5, "t_2", filename="a.txt", size=1)
    asked = (
        ("kanban_link", {"parent_id": "t_1", "child_id": "t_2"}, "landed"),
        ("kanban_link", {"parent_id": "t_3", "child_id": "t_2"}, "absent"),
        ("kanban_attach", {"task_id": "t_2", "filename": "a.txt", "content_base64": "YQ=="}, "landed"),
        ("kanban_attach", {"task_id": "t_1", "filename": "a.txt", "content_base64": "YQ=="}, "absent"),
    )
    for tool, args, verdict in asked:
        call = world.call(tool, args)
        assert world.verdict(call).verdict == verdict, (tool, args)
        world.db.execute("DELETE FROM ledger WHERE id = ?", (call,))


def test_no_board_is_no_proof(world: World) -> None:
    told = world.verdict(world.call("kanban_create", CARD))
    assert (told.verdict, told.evidence[0]) == ("unknown", "There is no kanban board in this home.")


def test_every_board_is_looked_at(world: World, board: Board) -> None:
    second = Board(world.paths.home / "kanban" / "boards" / "garden" / "kanban.db")
    call = world.call("kanban_create", CARD)
    named = world.call("kanban_create", {**CARD, "board": "garden"}, at=world.before + 30.0)
    assert world.verdict(call).verdict == "absent"
    second.card(world.before + 0.5)
    assert world.verdict(call).verdict == "landed"
    board.card(world.before + 30.2)
    assert world.verdict(named).verdict == "absent"


def test_a_file_that_is_no_board(world: World) -> None:
    (world.paths.home / "kanban.db").write_text("not a database, but long enough to look like one" * 40)
    assert world.verdict(world.call("kanban_create", CARD)).verdict == "unknown"


def test_a_card_of_which_only_the_hash_is_kept(world: World, board: Board) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    key = load_key(world.paths.key)
    hashes = value_hashes(key, {**CARD, "body": "The key is 1234."}, lambda name: name)
    args = {**CARD, "body": "The key is ***"}
    call = world.call("kanban_create", args, args_redacted=1, value_hashes=hashes)
    board.card(world.before + 0.5, body="The key is 1234.")
    assert world.verdict(call).verdict == "landed"


def test_a_long_comment_whose_last_line_end_the_host_stripped(world: World, board: Board) -> None:
    from agent_ledger.engine.fingerprint import load_key, value_hashes

    args = {"task_id": "t_1", "body": "Long.\n" * 900}
    hashes = value_hashes(load_key(world.paths.key), args, lambda name: name)
    call = world.call("kanban_comment", {"task_id": "t_1"}, args_cut=1, value_hashes=hashes)
    board.card(world.before - 90.0)
    board.comment(world.before + 0.5, args["body"].strip())
    assert world.verdict(call).verdict == "landed"


def test_a_worker_that_names_no_card(world: World, board: Board) -> None:
    call = world.call("kanban_complete", {"summary": "Done."})
    assert world.verdict(call).verdict == "absent"
    board.event("completed", world.before + 0.5)
    assert world.verdict(call).verdict == "unknown"
