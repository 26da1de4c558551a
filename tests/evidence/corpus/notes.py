"""Stories of `memory`. Few share a home: every change rewrites the one file of all entries."""

from __future__ import annotations

from .files import LATER
from .story import ABSENT, AFTER, BEFORE, NOBODY, Call, Case, Forget, Lost, Person, Scene, told

SECRET = "The staging token is ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU (@name)"


def memory(scene: Scene) -> list[list[Case]]:
    """Homes of two: a call that landed, then one that was cut before."""
    change = "replace" if scene.is_019 else "patch"

    def add(text: str, target: str = "memory") -> dict[str, object]:
        return {"action": "add", "target": target, "content": text}

    known = Call("memory", add("The server of @name listens on port 80."))
    other = Call("memory", add("The printer stands on the second floor (@name)."))
    new = "The server of @name listens on port 8080."
    swap: dict[str, object] = {
        "action": change,
        "target": "memory",
        "old_text": "The server of @name listens on port 80.",
        "content": new,
    }
    gone: dict[str, object] = {"action": "remove", "target": "memory", "old_text": "server of @name listens"}
    batch: dict[str, object] = {
        "target": "memory",
        "operations": [
            {"action": "add", "content": "First of two (@name)."},
            {"action": "add", "content": "Second of two (@name)."},
        ],
    }
    both: dict[str, object] = {
        "target": "memory",
        "operations": [
            {"action": "remove", "old_text": "server of @name listens"},
            {"action": "add", "content": "No server any more (@name)."},
        ],
    }
    stories: tuple[tuple[str, dict[str, object], tuple[Call, ...]], ...] = (
        ("add", add("Backups run at night (@name)."), ()),
        ("add-user", add("Prefers short answers (@name).", "user"), ()),
        ("add-second", add("Deploys happen on Tuesdays (@name)."), (known,)),
        ("add-unicode", add("Größe zählt – 世界 (@name)"), ()),
        ("add-secret", add(SECRET), ()),
        ("add-lines", add("Two lines (@name):\n- one\n- two"), (other,)),
        ("change", swap, (known,)),
        ("change-one-of-two", swap, (known, other)),
        ("remove", gone, (known, other)),
        ("remove-last", gone, (known,)),
        ("batch", batch, ()),
        ("batch-mixed", both, (known,)),
    )
    homes = []
    for number, (name, args, first) in enumerate(stories):
        ending = ("after", "unheard", "after", "forgotten")[number % 4]
        lost = Lost("memory", args, "after" if ending == "after" else "unheard")
        last = (Forget(),) if ending == "forgotten" else ()
        homes.append(
            [
                told(f"{name}-{ending}", AFTER, *first, lost, *last),
                told(f"{name}-before", BEFORE, *first, Lost("memory", args, "before")),
            ]
        )
    fact = add("Backups run at night (@name).")
    notes = "@home/memories/MEMORY.md"
    homes.append(
        [
            told(
                "no-such-entry",
                BEFORE,
                known,
                Lost("memory", {**gone, "old_text": "nowhere in it"}, "after"),
                truth=ABSENT,
            )
        ]
    )
    homes.append([told("full-unheard", BEFORE, known, Lost("memory", add("x" * 9000), "unheard"), truth=ABSENT)])
    nobody = (
        told("deleted-by-hand", NOBODY, Lost("memory", fact, "after"), Person(LATER + f": > {notes}")),
        told(
            "edited-by-hand",
            NOBODY,
            known,
            Lost("memory", fact, "before"),
            Person(LATER + f"sed -i 's/80/81/' {notes}"),
        ),
        told(
            "added-by-hand",
            NOBODY,
            known,
            Lost("memory", fact, "before"),
            Person(LATER + f"printf '\\n§\\nBackups run at night (@name).' >> {notes}"),
        ),
        told("repeated", NOBODY, Lost("memory", fact, "before"), Call("memory", fact)),
        told(
            "removed-by-agent",
            NOBODY,
            known,
            Lost("memory", fact, "after"),
            Call("memory", {"action": "remove", "target": "memory", "old_text": "Backups run at night (@name)"}),
        ),
        told("was-there", NOBODY, Call("memory", fact), Lost("memory", fact, "before")),
        told("home-emptied", NOBODY, Lost("memory", fact, "after"), Person(LATER + "rm -r @home/memories")),
    )
    return [*homes, *([case] for case in nobody)]
