"""Verdicts on what real hosts left: jobs, memory, skills, boards. Each tool is called for real; only who knows of it
is made up: the ledger holds some of the calls as lost, and some lost ones that were never made."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_ledger.engine import schema
from agent_ledger.engine.evidence import delegate, opened, recorded
from tests.evidence.makers import World

from .conftest import MakeHome
from .environments import Host
from .home import Action, HermesHome
from .model import call

pytestmark = pytest.mark.host

PAGE = "---\nname: tides\ndescription: Use when tides matter. Says when.\n---\n\n# Tides\n\nLook twice.\n"
JOB, CARD, OTHER = (
    {"from": "job", "key": "job_id"},
    {"from": "card", "key": "task_id"},
    {"from": "other", "key": "task_id"},
)


class Played:
    """A home in which tools were called, and a ledger that holds what the test says of it."""

    def __init__(self, home: HermesHome, folder: Any) -> None:
        self.home = home
        self.world = World(folder)
        home.paths.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.world.db.close()
        self.world.paths = home.paths
        self.world.db = sqlite3.connect(home.paths.ledger, isolation_level=None)
        schema.prepare(self.world.db)

    def play(self, *actions: Action) -> list[int]:
        """Call the tools; the ledger holds each as lost. Returns the rows.

        What two calls did within two seconds to one store cannot be told apart, so time passes before each round.
        """
        time.sleep(2.5)
        done = self.home.run(*actions, script="effects.py")
        for line in done:
            assert '"success": false' not in str(line["result"]).lower(), line
            assert '"error"' not in str(line["result"]), line
        return [self.world.call(line["name"], line["args"], at=line["at"]) for line in done]

    def never(self, name: str, args: Mapping[str, Any]) -> int:
        """A call that was lost before it did anything, now."""
        row = self.world.call(name, dict(args), at=time.time())
        time.sleep(0.1)
        return row

    def said(self, row: int) -> str:
        self.world.now = time.time()
        return self.world.verdict(row).verdict

    def words(self, row: int) -> str:
        self.world.now = time.time()
        return " ".join(self.world.verdict(row).evidence)


@pytest.fixture
def played(make_home: MakeHome, tmp_path: Any, request: pytest.FixtureRequest) -> Played:
    home = make_home(request.node.originalname.removeprefix("test_")[:20])
    home.configure("toolsets: [kanban]\n")
    return Played(home, tmp_path)


def tool(name: str, args: Mapping[str, Any], known_as: str = "") -> Action:
    return {"do": "tool", "name": name, "args": args, "as": known_as}


def skill(host: Host, **op: Any) -> Action:
    return tool("skill_manage", op if host.is_019 else {"operations": [op]})


def cron(host: Host, known_as: str = "", **args: Any) -> Action:
    return tool("cronjob" if host.is_019 else "cronjob_manage", args, known_as)


def test_what_was_done_last_has_landed(host: Host, played: Played) -> None:
    rows = played.play(
        cron(host, "job", action="create", name="look", schedule="every 30m", prompt="Look at the queue."),
        tool("memory", {"action": "add", "target": "memory", "content": "The printer is on floor two."}),
        skill(host, action="create", name="tides", content=PAGE),
        tool("kanban_create", {"title": "First", "assignee": "worker", "body": "Do it."}, "card"),
    )
    assert [played.said(row) for row in rows] == ["landed"] * 4
    assert "no scheduler has ever shown itself" in played.words(rows[0])


def test_what_never_ran_is_absent(host: Host, played: Played) -> None:
    name = "cronjob" if host.is_019 else "cronjob_manage"
    played.play(
        cron(host, "job", action="create", name="look", schedule="every 30m", prompt="Look at the queue."),
        tool("memory", {"action": "add", "target": "memory", "content": "The printer is on floor two."}),
        skill(host, action="create", name="tides", content=PAGE),
        tool("kanban_create", {"title": "First", "assignee": "worker", "body": "Do it."}, "card"),
    )
    job = played.home.run(cron(host, action="list"), script="effects.py")[-1]["result"]
    job_id = job.split('"job_id": "')[1][:12]
    patch = {"action": "patch", "name": "tides", "old_string": "twice", "new_string": "thrice"}
    never = [
        played.never(name, {"action": "create", "name": "other", "schedule": "every 30m", "prompt": "Another."}),
        played.never(name, {"action": "pause", "job_id": job_id}),
        played.never(name, {"action": "remove", "job_id": job_id}),
        played.never("memory", {"action": "add", "target": "memory", "content": "Never written."}),
        played.never("memory", {"action": "remove", "target": "memory", "old_text": "printer"}),
        played.never("skill_manage", patch if host.is_019 else {"operations": [patch]}),
        played.never("kanban_create", {"title": "Never made", "assignee": "worker"}),
    ]
    assert [played.said(row) for row in never] == ["absent"] * len(never)


def test_changes_of_what_is_there(host: Host, played: Played) -> None:
    played.play(
        cron(host, "job", action="create", name="look", schedule="every 30m", prompt="Look."),
        tool("memory", {"action": "add", "target": "user", "content": "Likes tea."}),
        skill(host, action="create", name="tides", content=PAGE),
    )
    job = played.home.run(cron(host, action="list"), script="effects.py")[-1]["result"].split('"job_id": "')[1][:12]
    change = "replace" if host.is_019 else "patch"
    content = "Likes coffee." if host.is_019 else "coffee"
    rows = played.play(
        cron(host, action="update", job_id=job, prompt="Look well."),
        tool("memory", {"action": change, "target": "user", "old_text": "tea", "content": content}),
        skill(host, action="patch", name="tides", old_string="Look twice.", new_string="Look thrice."),
        skill(host, action="write_file", name="tides", file_path="references/a.md", file_content="high\n"),
    )
    assert [played.said(row) for row in rows] == ["landed"] * 4
    (paused,) = played.play(cron(host, action="pause", job_id=job))
    (removed,) = played.play(tool("memory", {"action": "remove", "target": "user", "old_text": "coffee"}))
    assert [played.said(paused), played.said(removed)] == ["landed", "landed"]
    (gone,) = played.play(cron(host, action="remove", job_id=job))
    assert played.said(gone) == "landed"
    assert played.said(paused) == "unknown"  # The job is gone, and with it every trace of it.


def test_a_board_shows_every_change(host: Host, played: Played) -> None:
    rows = played.play(
        tool("kanban_create", {"title": "First", "assignee": "worker"}, "card"),
        tool("kanban_create", {"title": "Second", "assignee": "worker"}, "other"),
        tool("kanban_comment", {"task_id": CARD, "body": "Looks good."}),
        tool("kanban_link", {"parent_id": CARD, "child_id": OTHER}),
        tool("kanban_block", {"task_id": CARD, "reason": "Which colour?"}),
        tool("kanban_unblock", {"task_id": CARD}),
        tool("kanban_complete", {"task_id": CARD, "summary": "Done and tested."}),
        tool("kanban_attach", {"task_id": OTHER, "filename": "a.txt", "content_base64": "YQ=="}),
    )
    assert [played.said(row) for row in rows] == ["landed"] * len(rows)
    time.sleep(1.1)  # The board counts in seconds.
    card = played.world.recorded(rows[2]).args["task_id"]
    never = [
        played.never("kanban_comment", {"task_id": card, "body": "Never said."}),
        played.never("kanban_complete", {"task_id": card, "summary": "Never done."}),
        played.never("kanban_create", {"title": "Third", "assignee": "worker"}),
    ]
    assert [played.said(row) for row in never] == ["absent"] * 3


def test_a_delegate_that_was_sent_off(make_home: MakeHome, host: Host) -> None:
    home = make_home("delegates")
    task = {"goal": "[child] Read the file."}
    home.model.script("[parent]", call("delegate_task", **(task if host.is_019 else {"tasks": [task]})), "done")
    home.run({"do": "turn", "chat": "parent", "text": "[parent] go on", "toolsets": ["delegation"]})
    with opened(home.paths, now=time.time()) as facts:
        ledger = facts.ledger
        assert ledger is not None
        sql, params = recorded.query(schema.COLUMNS, "WHERE tool_name = 'delegate_task'")
        (row,) = facts.ask(ledger, home.paths.ledger, sql, params)
        sent = replace(recorded.from_row(row), status="PENDING", settled_at=None)
        never = replace(sent, id=sent.id + 1, args={"goal": "Never sent."}, args_text="")
        told, other = delegate.judge(sent, facts), delegate.judge(never, facts)
    assert told is not None
    assert other is not None
    assert (told.verdict, other.verdict) == ("landed", "absent")
