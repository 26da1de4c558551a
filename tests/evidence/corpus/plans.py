"""Stories of the cron tool. Few share a home: every change rewrites the one file of all jobs."""

from __future__ import annotations

from typing import Any

from .files import LATER, LONG
from .story import ABSENT, AFTER, BEFORE, NOBODY, Call, Case, Forget, Lost, Person, Scene, told

_JOBS = "python3 - <<'EOF'\nimport json\npath = '@home/cron/jobs.json'\ndata = json.load(open(path))\n"
_SAVE = "\njson.dump(data, open(path, 'w'), indent=2)\nEOF"


def _by_hand(change: str) -> Person:
    """Somebody edits the file of the jobs; `jobs` is the list, `mine` those of this story."""
    head = "jobs = data['jobs']\nmine = [job for job in jobs if job['name'] == '@name']\n"
    return Person(LATER + _JOBS + head + change + _SAVE)


def cron(scene: Scene) -> list[list[Case]]:
    """Homes of two: a call that landed, then one that was cut before."""
    tool = scene.cron_tool

    def create(**more: object) -> dict[str, object]:
        return {"action": "create", "name": "@name", "schedule": "0 7 * * *", "prompt": "Say good morning.", **more}

    def act(action: str, **more: object) -> Any:
        return lambda place: {"action": action, "job_id": place.job("@name"), **more}

    there = Call(tool, create())
    paused = Call(tool, act("pause"))
    once = create(schedule="2031-05-01T09:00:00")
    secret = create(prompt="Call the service with token ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU and report.")
    stories: tuple[tuple[str, Any, tuple[Call, ...]], ...] = (
        ("create", create(), ()),
        ("create-every", create(schedule="every 2h", prompt="Look at the queue."), ()),
        ("create-once", once, ()),
        ("create-long", create(prompt=LONG), ()),
        ("create-secret", secret, ()),
        ("create-unicode", create(prompt="Grüße an 世界 senden"), ()),
        ("create-again", create(prompt="The second of that name."), (there,)),
        ("create-unnamed", {"action": "create", "schedule": "30 6 * * 1", "prompt": "Water the plants of @name."}, ()),
        ("pause", act("pause"), (there,)),
        ("resume", act("resume"), (there, paused)),
        ("remove", act("remove"), (there,)),
        ("update", act("update", schedule="0 9 * * *"), (there,)),
        ("update-prompt", act("update", prompt="Say good evening."), (there,)),
        ("run", act("run"), (there,)),
    )
    homes = []
    for number, (name, args, first) in enumerate(stories):
        ending = ("after", "unheard", "after", "forgotten")[number % 4]
        lost = Lost(tool, args, "after" if ending == "after" else "unheard")
        last = (Forget(),) if ending == "forgotten" else ()
        home = [
            told(f"{name}-{ending}", AFTER, *first, lost, *last),
            told(f"{name}-before", BEFORE, *first, Lost(tool, args, "before")),
        ]
        # Of what is gone, the file tells only until it is written again, and two of it at once tell of neither.
        homes += [[case] for case in home] if name == "remove" else [home]
    homes.append(
        [
            told(
                "no-such-job",
                BEFORE,
                there,
                Lost(tool, {"action": "pause", "job_id": "000000000000"}, "after"),
                truth=ABSENT,
            )
        ]
    )
    nobody = (
        told(
            "removed-by-hand",
            NOBODY,
            Lost(tool, create(), "after"),
            _by_hand("data['jobs'] = [j for j in jobs if j not in mine]"),
        ),
        told(
            "touched-by-hand",
            NOBODY,
            there,
            Lost(tool, create(prompt="Another."), "before"),
            _by_hand("mine[0]['prompt'] = 'By hand.'"),
        ),
        told(
            "resumed-by-hand",
            NOBODY,
            there,
            Lost(tool, act("pause"), "after"),
            _by_hand("mine[0].update(enabled=True, state='scheduled', paused_at=None)"),
        ),
        told("repeated", NOBODY, Lost(tool, create(), "before"), Call(tool, create())),
        told("undone-by-agent", NOBODY, Lost(tool, create(), "after"), Call(tool, act("remove"))),
        told(
            "updated-since",
            NOBODY,
            there,
            Lost(tool, act("update", schedule="0 9 * * *"), "after"),
            Call(tool, act("update", schedule="0 10 * * *")),
        ),
        told("already-paused", NOBODY, there, paused, Lost(tool, act("pause"), "before")),
    )
    return [*homes, *([case] for case in nobody)]
