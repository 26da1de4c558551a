"""The language of the corpus: a case is a short story around one lost call, told in steps.

Whoever writes a story knows what became of the call, since the story says where it was cut: no verifier is asked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LANDED, ABSENT, PARTLY = "landed", "absent", "partly"
"""What became of a call. `PARTLY`: some of it; both plain answers are wrong then."""

BEFORE, AFTER, NOBODY = "before", "after", "nobody"
"""Cut before the effect, after it, or so that what is left does not tell: the last alone counts as not knowable."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the stories of one home play. `root` is invented and the same in every making."""

    root: Path
    is_019: bool

    @property
    def home(self) -> Path:
        return self.root / "hermes-home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def cron_tool(self) -> str:
        return "cronjob" if self.is_019 else "cronjob_manage"

    def job(self, name: str) -> str:
        """Id of the newest job of that name."""
        jobs = json.loads((self.home / "cron" / "jobs.json").read_text(encoding="utf-8"))["jobs"]
        return str(next(job["id"] for job in reversed(jobs) if job.get("name") == name))

    def card(self, title: str) -> str:
        """Id of the card of that title."""
        connection = sqlite3.connect(f"file:{self.home / 'kanban.db'}?mode=ro", uri=True, timeout=5)
        try:
            (found,) = connection.execute("SELECT id FROM tasks WHERE title = ?", (title,)).fetchone()
        finally:
            connection.close()
        return str(found)


Arguments = Mapping[str, Any] | Callable[[Scene], Mapping[str, Any]]
"""Arguments of a call; a function is asked when the model is, for ids that the host gave meanwhile."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is made and confirmed, or lost as well where there is a `cut`. `other`: in a chat of its own."""

    tool: str
    args: Arguments
    other: bool = False
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """The call of the story. `cut`: "before", "after" (killed), or "unheard" (the confirmation dropped)."""

    tool: str
    args: Arguments
    cut: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody else's shell command, run in the folder of the work."""

    command: str


@dataclass(frozen=True, slots=True)
class Forget:
    """The chat's results leave the host's transcript."""


Step = Call | Lost | Person | Forget


@dataclass(frozen=True, slots=True)
class Case:
    """One story. `name` is unique within its kind, and the name of its chat."""

    name: str
    group: str
    steps: tuple[Step, ...]
    truth: str
    kind: str = ""

    @property
    def knowable(self) -> bool:
        return self.group != NOBODY and self.kind != "mcp"

    @property
    def lost(self) -> Lost:
        return next(step for step in self.steps if isinstance(step, Lost))

    @property
    def nth(self) -> int:
        """Which call of its tool in its chat the lost one is, from 1."""
        mine = [step for step in self.steps if isinstance(step, Call | Lost) and step.tool == self.lost.tool]
        return 1 + [step for step in mine if not (isinstance(step, Call) and step.other)].index(self.lost)


def told(name: str, group: str, *steps: Step, truth: str = "") -> Case:
    """A case; where it is not said, the place of the cut says what became of the call."""
    (lost,) = [step for step in steps if isinstance(step, Lost)]
    return Case(name, group, steps, truth or (ABSENT if lost.cut == "before" else LANDED))


ENDINGS = ("after", "unheard", "forgotten")
"""Ways to lose the word of an effect: killed; unheard with the result in the transcript; unheard and that gone too."""


def pair(name: str, tool: str, args: Arguments, *first: Step, ending: str = "after") -> list[Case]:
    """The same call, once cut before its effect and once after."""
    lost = Lost(tool, args, "after" if ending == "after" else "unheard")
    last = (Forget(),) if ending == "forgotten" else ()
    return [
        told(f"{name}-before", BEFORE, *first, Lost(tool, args, "before")),
        told(f"{name}-{ending}", AFTER, *first, lost, *last),
    ]
