"""Stories of the kanban tools: one board, a card for each story."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from .files import LATER, LONG
from .story import ABSENT, BEFORE, NOBODY, Call, Case, Lost, Person, Scene, pair, told

SECRET = "The key is ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU."


def _sql(statement: str) -> Person:
    """Somebody changes the board behind everybody's back."""
    line = f"c = sqlite3.connect('@home/kanban.db', timeout=5); c.execute(\"{statement}\"); c.commit()"
    return Person(f"{LATER}python3 - <<'EOF'\nimport sqlite3\n{line}\nEOF")


def kanban(scene: Scene) -> list[list[Case]]:
    """All on one board."""

    def create(title: str = "@name", **more: object) -> Mapping[str, Any]:
        return {"title": title, "assignee": "worker", "body": "Do it.", **more}

    def on(**more: object) -> Callable[[Scene], Mapping[str, Any]]:
        return lambda place: {"task_id": place.card("@name"), **more}

    def link(place: Scene) -> Mapping[str, Any]:
        return {"parent_id": place.card("@name"), "child_id": place.card("@name child")}

    there, child = Call("kanban_create", create()), Call("kanban_create", create("@name child"))
    blocked = Call("kanban_block", on(reason="Waiting."))
    file = base64.b64encode(b"a short report\n").decode()
    cases = [
        *pair("create", "kanban_create", create()),
        *pair("create-long", "kanban_create", create(body=LONG), ending="unheard"),
        *pair("create-secret", "kanban_create", create(body=SECRET), ending="forgotten"),
        *pair("create-unicode", "kanban_create", create("@name größer 世界")),
        *pair("create-again", "kanban_create", create(body="The second."), there, ending="forgotten"),
        *pair("complete", "kanban_complete", on(summary="Done and tested."), there),
        *pair("complete-secret", "kanban_complete", on(summary=SECRET), there, ending="forgotten"),
        *pair("block", "kanban_block", on(reason="Which colour?"), there),
        *pair("unblock", "kanban_unblock", on(), there, blocked),
        *pair("comment", "kanban_comment", on(body="Looks good."), there),
        *pair("comment-long", "kanban_comment", on(body=LONG), there, ending="forgotten"),
        *pair("comment-secret", "kanban_comment", on(body=SECRET), there),
        *pair("comment-unheard", "kanban_comment", on(body="Second look."), there, ending="unheard"),
        *pair("link", "kanban_link", link, there, child),
        *pair("attach", "kanban_attach", on(filename="report.txt", content_base64=file), there),
        told("heartbeat-before", BEFORE, there, Lost("kanban_heartbeat", on(note="Half way."), "before")),
        told(
            "heartbeat-not-running",
            BEFORE,
            there,
            Lost("kanban_heartbeat", on(note="Half way."), "after"),
            truth=ABSENT,
        ),
        told(
            "no-such-card",
            BEFORE,
            Lost("kanban_comment", {"task_id": "t_00000000", "body": "Hello?"}, "after"),
            truth=ABSENT,
        ),
        # Nobody could know.
        told(
            "card-deleted",
            NOBODY,
            Lost("kanban_create", create(), "after"),
            _sql("DELETE FROM tasks WHERE title = '@name'"),
        ),
        told(
            "comment-deleted",
            NOBODY,
            there,
            Lost("kanban_comment", on(body="Gone soon."), "after"),
            _sql("DELETE FROM task_comments WHERE body = 'Gone soon.'"),
        ),
        told("repeated", NOBODY, Lost("kanban_create", create(), "before"), Call("kanban_create", create())),
        told(
            "same-comment-again",
            NOBODY,
            there,
            Lost("kanban_comment", on(body="Again."), "before"),
            Call("kanban_comment", on(body="Again.")),
        ),
        told(
            "blocked-again",
            NOBODY,
            there,
            Lost("kanban_block", on(reason="Why?"), "before"),
            Call("kanban_block", on(reason="Why?")),
        ),
    ]
    gone = told(
        "board-removed",
        NOBODY,
        Lost("kanban_create", create(), "after"),
        Person(LATER + "rm -f @home/kanban.db @home/kanban.db-wal @home/kanban.db-shm"),
    )
    return [cases, [gone]]
