"""Stories of `skill_manage`: a folder for each skill, in a category of its own where it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .files import LATER, LONG
from .story import ABSENT, AFTER, BEFORE, NOBODY, Call, Case, Lost, Person, Scene, pair, told

SECRET = "Use the token ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU."


def page(body: str) -> str:
    return f"---\nname: @name\ndescription: How @name is done\n---\n\n# @name\n\n{body}\n"


def skill_manage(scene: Scene) -> list[list[Case]]:
    """Each call that landed in a home with the same one cut before: how a skill's folder looks tells of all in it."""
    tool = "skill_manage"

    def one(action: str, **more: object) -> Mapping[str, Any]:
        op = {"action": action, "name": "@name", **more}
        return op if scene.is_019 else {"operations": [op]}

    def create(body: str = "Do it well.") -> Mapping[str, Any]:
        return one("create", content=page(body), category="cat-@name")

    there = Call(tool, create())
    helper = Call(tool, one("write_file", file_path="references/help.md", file_content="Read me first.\n"))
    edit = one("edit" if scene.is_019 else "patch", content=page("Done anew."))
    swap = one("patch", old_string="Do it well.", new_string="Do it very well.")

    def text(content: str) -> Mapping[str, Any]:
        return one("write_file", file_path="references/help.md", file_content=content)

    cases = [
        *pair("create", tool, create()),
        *pair("create-long", tool, create(LONG)),
        *pair("create-secret", tool, create(SECRET), ending="forgotten"),
        *pair("create-unicode", tool, create("Größe, 世界"), ending="unheard"),
        *pair("edit", tool, edit, there),
        *pair("swap", tool, swap, there),
        *pair(
            "swap-unheard", tool, one("patch", old_string="Do it well.", new_string="Do it."), there, ending="unheard"
        ),
        *pair(
            "swap-secret", tool, one("patch", old_string="Do it well.", new_string=SECRET), there, ending="forgotten"
        ),
        *pair("file", tool, text("Read me.\n"), there),
        *pair("file-long", tool, text(LONG), there, ending="forgotten"),
        *pair("file-over", tool, text("Read me last.\n"), there, helper),
        *pair("file-gone", tool, one("remove_file", file_path="references/help.md"), there, helper),
        *pair("delete", tool, one("delete"), there),
        *pair("delete-unheard", tool, one("delete"), there, helper, ending="unheard"),
        told("no-such-skill", BEFORE, Lost(tool, one("delete"), "after"), truth=ABSENT),
        told(
            "swap-nowhere",
            BEFORE,
            there,
            Lost(tool, one("patch", old_string="not in it", new_string="x"), "after"),
            truth=ABSENT,
        ),
        # Nobody could know.
        told("deleted-by-hand", NOBODY, Lost(tool, create(), "after"), Person(LATER + "rm -r @home/skills/cat-@name")),
        told(
            "edited-by-hand",
            NOBODY,
            there,
            Lost(tool, swap, "after"),
            Person(
                LATER
                + "cd @home/skills/cat-@name/@name && echo '# Anew' >> SKILL.md && sed -i 's/very well/badly/' SKILL.md"
            ),
        ),
        told(
            "done-by-hand",
            NOBODY,
            there,
            Lost(tool, one("delete"), "before"),
            Person(LATER + "rm -r @home/skills/cat-@name/@name"),
        ),
        told(
            "swapped-by-hand",
            NOBODY,
            there,
            Lost(tool, swap, "before"),
            Person("sleep 8; sed -i 's/it well/it very well/' @home/skills/cat-@name/@name/SKILL.md"),
        ),
        told("repeated", NOBODY, Lost(tool, create(), "before"), Call(tool, create())),
        told("undone-by-agent", NOBODY, Lost(tool, create(), "after"), Call(tool, one("delete"))),
        told(
            "restored-by-hand",
            NOBODY,
            there,
            Lost(tool, one("delete"), "after"),
            Person(
                LATER + "mkdir -p @home/skills/cat-@name/@name && echo '# Back' > @home/skills/cat-@name/@name/SKILL.md"
            ),
        ),
    ]
    if not scene.is_019:
        two = {
            "operations": [
                {"action": "write_file", "name": "@name", "file_path": f"references/{n}.md", "file_content": f"{n}\n"}
                for n in (1, 2)
            ]
        }
        cases += pair("two-operations", tool, two, there)
    return _homes(cases)


def _homes(cases: list[Case]) -> list[list[Case]]:
    """Two of one name in a home, the cut one last; all others alone."""
    homes: list[list[Case]] = []
    for case in cases:
        if case.group == AFTER and homes[-1][0].group == BEFORE:
            homes[-1].insert(0, case)
        else:
            homes.append([case])
    return homes
