"""Stories of `mcp__*`: a server far away, of which only the transcript can tell."""

from __future__ import annotations

from .story import ABSENT, AFTER, BEFORE, NOBODY, Call, Case, Forget, Lost, Scene, told


def mcp(scene: Scene) -> list[list[Case]]:
    """None of these counts as knowable, though a stored result may tell."""
    tool = "mcp__notes__add"

    def args(number: int) -> dict[str, object]:
        texts = ("buy milk", "größer 世界", "x" * 6000, "key ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU")
        return {"text": f"{texts[number % 4]} @name", "tags": ["home", number]}

    cases = [
        *(told(f"cut-{n}", BEFORE, Lost(tool, args(n), "before")) for n in range(8)),
        *(
            told(f"refused-{n}", BEFORE, Lost(tool, {**args(n), "fail": True}, "unheard"), truth=ABSENT)
            for n in range(4)
        ),
        *(told(f"heard-{n}", AFTER, Lost(tool, args(n), "unheard")) for n in range(8)),
        *(told(f"killed-{n}", AFTER, Lost(tool, args(n), "after")) for n in range(4)),
        *(told(f"forgotten-{n}", NOBODY, Lost(tool, args(n), "unheard"), Forget()) for n in range(4)),
        told("repeated", NOBODY, Lost(tool, args(0), "before"), Call(tool, args(0))),
        told("repeated-after", NOBODY, Lost(tool, args(0), "after"), Call(tool, args(0))),
    ]
    return [cases]
