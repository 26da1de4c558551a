"""Stories of `delegate_task`: has the delegate been sent off?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .files import LATER, LONG
from .story import NOBODY, Call, Case, Lost, Person, Scene, pair, told


def _sql(statement: str) -> Person:
    line = f"c = sqlite3.connect('@home/state.db', timeout=5); c.executescript(\"{statement}\"); c.commit()"
    return Person(f"{LATER}python3 - <<'EOF'\nimport sqlite3\n{line}\nEOF")


def delegate_task(scene: Scene) -> list[list[Case]]:
    """All in one home: the store has a row and a session for each."""
    tool = "delegate_task"

    def send(goal: str = "Read the file.", **more: object) -> Mapping[str, Any]:
        task = {"goal": f"[@chat child] {goal}", **more}
        return task if scene.is_019 else {"tasks": [task]}

    many = {"tasks": [{"goal": f"[@chat child] Part {n}."} for n in (1, 2)]}
    stories = (
        ("one", send(), "after"),
        ("context", send(context="The file is a.txt."), "after"),
        ("long", send(context=LONG), "after"),
        ("secret", send("Use ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU."), "after"),
        ("secret-context", send(context="token = ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU"), "forgotten"),
        ("unicode", send("Lies die Datei „größer 世界“."), "after"),
        ("two", many, "after"),
        ("two-forgotten", many, "forgotten"),
        ("unheard", send("Count the lines."), "unheard"),
        ("forgotten", send("Count the words."), "forgotten"),
        ("short", send("Go."), "after"),
        ("lines", send("First this.\nThen that."), "forgotten"),
        ("second", send("Once more."), "after"),
    )
    cases = [case for name, args, ending in stories for case in pair(name, tool, args, ending=ending)]
    row = "DELETE FROM async_delegations"
    alone = (
        told("repeated", NOBODY, Lost(tool, send(), "before"), Call(tool, send())),
        told("repeated-after", NOBODY, Lost(tool, send(), "after"), Call(tool, send())),
        told(
            "rows-removed",
            NOBODY,
            Lost(tool, send(), "after"),
            _sql(row + "; DELETE FROM messages WHERE session_id <> '@chat'; DELETE FROM sessions WHERE id <> '@chat'"),
        ),
        told("row-removed", NOBODY, Lost(tool, send(), "after"), _sql(row)),
        told(
            "store-gone",
            NOBODY,
            Lost(tool, send(), "after"),
            Person(LATER + "rm -f @home/state.db @home/state.db-wal @home/state.db-shm"),
        ),
        told(
            "store-gone-cut",
            NOBODY,
            Lost(tool, send(), "before"),
            Person(LATER + "rm -f @home/state.db @home/state.db-wal @home/state.db-shm"),
        ),
    )
    return [cases, *([case] for case in alone)]
