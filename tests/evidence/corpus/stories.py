"""All kinds of stories, and their homes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import cards, commands, delegates, files, notes, plans, remote, skills
from .stage import Batch
from .story import Case, Scene
from .traps import traps

KINDS: dict[str, Callable[[Scene], list[list[Case]]]] = {
    "write_file": files.write_file,
    "patch": files.patch,
    "terminal": commands.terminal,
    "cron": plans.cron,
    "delegate_task": delegates.delegate_task,
    "memory": notes.memory,
    "skill_manage": skills.skill_manage,
    "kanban": cards.kanban,
    "mcp": remote.mcp,
}


def batches(scene: Scene, kinds: list[str] | None = None) -> list[Batch]:
    """The homes of these kinds (all, where none are named), their cases told of their kind."""
    found = []
    for kind in kinds or KINDS:
        for number, cases in enumerate((*KINDS[kind](scene), *traps(kind, scene))):
            found.append(Batch(f"{kind}-{number:02d}", [replace(case, kind=kind) for case in cases]))
    return found
