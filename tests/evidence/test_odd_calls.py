"""Arguments that no tool would take: a verifier says so or nothing, and none of them fails."""

from __future__ import annotations

import json

import pytest

from agent_ledger.engine.evidence import verify

from .makers import World
from .test_delegate import Store
from .test_kanban import Board

ODD: tuple[object, ...] = (
    None,
    0,
    1.5,
    True,
    "",
    " ",
    "\x00",
    "x" * 3000,
    [],
    [1],
    {},
    {"a": 1},
    [{"action": "add"}],
    "[redacted]",
)

ASKED = {
    "cronjob": ("action", "job_id", "prompt", "name", "schedule", "script"),
    "memory": ("action", "target", "content", "old_text", "operations"),
    "skill_manage": ("action", "name", "category", "content", "file_path", "file_content", "old_string", "operations"),
    "kanban_create": ("title", "body", "board", "idempotency_key"),
    "kanban_comment": ("task_id", "body", "board"),
    "kanban_link": ("parent_id", "child_id"),
    "delegate_task": ("goal", "tasks", "action"),
}
USUAL = {
    "cronjob": {"action": "create", "prompt": "Look.", "schedule": "every 30m"},
    "memory": {"action": "add", "target": "memory", "content": "One."},
    "skill_manage": {"action": "create", "name": "tides", "content": "x"},
    "kanban_create": {"title": "First", "assignee": "worker"},
    "kanban_comment": {"task_id": "t_1", "body": "Hm."},
    "kanban_link": {"parent_id": "t_1", "child_id": "t_2"},
    "delegate_task": {"goal": "Read the file."},
}


@pytest.mark.parametrize("tool", ASKED)
def test_no_verifier_fails(world: World, tool: str) -> None:
    Store(world)
    board = Board(world.paths.home / "kanban.db")
    board.card(world.before + 0.5)
    board.comment(world.before + 0.5, "Hm.")
    board.event("linked", world.before + 0.5, "t_2", parent="t_1", child="t_2")
    now = json.dumps([{"id": "3f0c9a1b2c4d", "name": "x", "created_at": "2026-01-01"}, {"id": None, "created_at": 5}])
    for folder, file, text in (
        ("cron", "jobs.json", now),
        ("memories", "MEMORY.md", "One."),
        ("skills/tides", "SKILL.md", "x"),
    ):
        (world.paths.home / folder).mkdir(parents=True)
        (world.paths.home / folder / file).write_text(text)
    calls = [world.call(tool, {**USUAL[tool], name: odd}) for name in ASKED[tool] for odd in ODD]
    calls += [
        world.call(
            tool, args_json=json.dumps(USUAL[tool])[:at], args_cut=1, value_hashes='{"name":"00","operations":"0"}'
        )
        for at in range(0, 40, 3)
    ]
    with world.facts() as facts:
        for call in map(world.recorded, calls):
            told = " ".join(verify(call, facts).evidence)
            assert "verifier failed" not in told, (call.args_text[:200], told)
