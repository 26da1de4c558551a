"""More stories, in which what is left looks like another story: backups put back, twins, covered tracks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .commands import BARE, REPO, WHEEL
from .files import FOLDER, LATER, OLD
from .story import NOBODY, Call, Case, Lost, Person, Scene, told

KEPT = Person("mkdir -p @here && sleep 1 && cp -a @here @home/../kept-@name")
RESTORED = Person(LATER + "rm -r @here && cp -a @home/../kept-@name @here")


AHEAD = BARE + " && echo two > a.txt && git commit -qam 'Two'"
AMENDED = REPO + " && echo 2 > a.txt"
SOON = "sleep 7; "
"""So soon somebody can have seen that the agent is gone, and have typed the command again."""

SWAPPED = Person(LATER + "mv @here @here-old && mv @home/../kept-@name @here")
KEPT_DEEP = Person("mkdir -p @here/sub && echo old > @here/sub/app.conf && sleep 1 && cp -a @here @home/../kept-@name")


def twins(tool: str, args: Mapping[str, Any], *first: Person | Call) -> list[list[Case]]:
    """The same call lost twice in different chats, one before its effect and one after."""
    return [
        [told("twin-first", NOBODY, *first, Lost(tool, args, "before"), Call(tool, args, other=True, cut="after"))],
        [told("twin-second", NOBODY, *first, Call(tool, args, other=True, cut="before"), Lost(tool, args, "after"))],
    ]


def _backed_up(name: str, call: Lost, path: str, first: tuple[Call, ...]) -> list[Case]:
    """Somebody puts a file back as it was before the call, its time and all."""
    keep = Person(f"cp -p {path} @home/../kept-@name")
    if path.endswith(".db"):
        copy = f"sqlite3.connect('{path}').backup(sqlite3.connect('@home/../kept-@name'))"
        keep = Person(f'sleep 1; python3 -c "import sqlite3; {copy}"')
    back = Person(LATER + f"rm -f {path}-wal {path}-shm; cp -p @home/../kept-@name {path}")
    return [told(name, NOBODY, *first, keep, call, back)]


def traps(kind: str, scene: Scene) -> list[list[Case]]:
    """Homes of this kind beside those that its own module tells of."""
    made = {"write_file": _write_file, "patch": _patch, "terminal": _terminal, "cron": _cron, "memory": _memory}
    more = {"skill_manage": _skills, "kanban": _kanban, "delegate_task": _delegates}
    return (made | more)[kind](scene) if kind in made | more else []


def _write_file(scene: Scene) -> list[list[Case]]:
    new = {"path": "@here/notes.md", "content": "# Notes\n\nfirst\n"}
    lost = Lost("write_file", new, "after")
    return [
        [
            told("folder-restored", NOBODY, KEPT, lost, RESTORED),
            told(
                "tree-swapped",
                NOBODY,
                KEPT_DEEP,
                Lost("write_file", {**new, "path": "@here/sub/n.md"}, "after"),
                SWAPPED,
            ),
            told(
                "tree-swapped-over",
                NOBODY,
                KEPT_DEEP,
                Lost("write_file", {**new, "path": "@here/sub/app.conf"}, "after"),
                SWAPPED,
            ),
            told("deleted-and-added", NOBODY, FOLDER, lost, Person(LATER + "rm @here/notes.md; touch @here/other.md")),
            told("moved-away", NOBODY, FOLDER, lost, Person(LATER + "mv @here/notes.md @here/better.md")),
            told("moved-out", NOBODY, FOLDER, lost, Person(LATER + "mv @here/notes.md @home/../moved-@name")),
            told("folder-renamed", NOBODY, FOLDER, lost, Person(LATER + "mv @here @here-old && mkdir @here")),
        ],
        *_backed_up_home("file-restored", Lost("write_file", {**new, "path": "@here/app.conf"}, "after"), OLD),
        *twins("write_file", new, FOLDER),
        [
            told(
                "written-by-person",
                NOBODY,
                FOLDER,
                Lost("write_file", new, "before"),
                Person(SOON + "printf '# Notes\\n\\nfirst\\n' > @here/notes.md"),
            )
        ],
    ]


def _backed_up_home(name: str, lost: Lost, first: Person) -> list[list[Case]]:
    path = "@here/app.conf"
    keep = Person(f"sleep 1; cp -p {path} @home/../kept-@name")
    back = Person(LATER + f"cp -p @home/../kept-@name {path}")
    moved = Person(LATER + f"mv @home/../kept-@name {path}")
    return [
        [
            told(name, NOBODY, first, keep, lost, back),
            told(f"{name}-by-moving", NOBODY, first, keep, lost, moved),
        ]
    ]


def _patch(scene: Scene) -> list[list[Case]]:
    mode = {"mode": "replace"} if scene.is_019 else {}
    swap = {**mode, "path": "@here/app.conf", "old_string": "host = old", "new_string": "host = new.example.org"}
    return [*_backed_up_home("file-restored", Lost("patch", swap, "after"), OLD), *twins("patch", swap, OLD)]


def _terminal(scene: Scene) -> list[list[Case]]:
    def lost(command: str, cut: str = "after") -> Lost:
        return Lost("terminal", {"command": command}, cut)

    flag = "touch @here/done.flag"
    pip = "python3 -m pip install --no-index --target @here/site @here/demo_pkg-1.0-py3-none-any.whl"
    push, clone = "cd @here/repo && git push -q origin main", "git clone -q @here/origin.git @here/second"
    commit = "cd @here/repo && git commit -q -am 'Second line'"
    late = Lost("terminal", {"command": "sleep 2; touch @here/late.flag", "background": True}, "after")
    return [
        [
            told("folder-restored", NOBODY, KEPT, lost(flag), RESTORED),
            told("deleted-and-added", NOBODY, FOLDER, lost(flag), Person(LATER + "rm @here/done.flag; touch @here/b")),
            told("uninstalled", NOBODY, Person(WHEEL), lost(pip), Person(LATER + "rm -r @here/site")),
            told("installed-before", NOBODY, Person(WHEEL + f"\n{pip} -q"), lost(pip, "before")),
            told("background", NOBODY, FOLDER, late, Person("sleep 3")),
            told("moved-back", NOBODY, Person("mkdir -p @here && echo a > @here/a"), lost("mv @here/a @here/b"),
                 Person(LATER + "mv @here/b @here/a")),
            told("mode-was-so", NOBODY, Person("mkdir -p @here && touch @here/a && chmod 755 @here/a"),
                 lost("chmod 755 @here/a", "before"), Person(LATER + "touch @here/a")),
        ],
        *twins("terminal", {"command": flag}, FOLDER),
        [
            told("flag-by-person", NOBODY, FOLDER, lost(flag, "before"), Person(SOON + flag)),
            told("install-by-person", NOBODY, Person(WHEEL), lost(pip, "before"), Person(f"{SOON}{pip} -q")),
            told("push-by-person", NOBODY, Person(AHEAD), lost(push, "before"), Person(SOON + push)),
            told("clone-by-person", NOBODY, Person(BARE), lost(clone, "before"), Person(SOON + clone)),
            told("commit-by-person", NOBODY, Person(AMENDED), lost(commit, "before"), Person(SOON + commit)),
        ],
    ]  # fmt: skip


def _cron(scene: Scene) -> list[list[Case]]:
    tool = scene.cron_tool
    create = {"action": "create", "name": "@name", "schedule": "0 7 * * *", "prompt": "Say good morning."}
    there = Call(tool, {**create, "name": "another", "prompt": "Another."})
    lost = Lost(tool, create, "after")
    return [_backed_up("list-restored", lost, "@home/cron/jobs.json", (there,)), *twins(tool, create)]


def _memory(scene: Scene) -> list[list[Case]]:
    fact = {"action": "add", "target": "memory", "content": "Backups run at night (@name)."}
    there = Call("memory", {**fact, "content": "The printer stands on the second floor."})
    lost = Lost("memory", fact, "after")
    return [_backed_up("file-restored", lost, "@home/memories/MEMORY.md", (there,)), *twins("memory", fact)]


def _skills(scene: Scene) -> list[list[Case]]:
    def create(name: str) -> Mapping[str, Any]:
        page = f"---\nname: {name}\ndescription: How {name} is done\n---\n\n# {name}\n\nDo it well.\n"
        op = {"action": "create", "name": name, "content": page}
        return op if scene.is_019 else {"operations": [op]}

    there = Call("skill_manage", create("another"))
    keep = Person("sleep 1; cp -a @home/skills @home/../kept-@name")
    back = Person(LATER + "rm -r @home/skills && cp -a @home/../kept-@name @home/skills")
    lost = Lost("skill_manage", create("@name"), "after")
    return [[told("folder-restored", NOBODY, there, keep, lost, back)], *twins("skill_manage", create("@name"))]


def _kanban(scene: Scene) -> list[list[Case]]:
    create = {"title": "@name", "assignee": "worker", "body": "Do it."}
    there = Call("kanban_create", {**create, "title": "another"})
    lost = Lost("kanban_create", create, "after")
    return [_backed_up("board-restored", lost, "@home/kanban.db", (there,)), *twins("kanban_create", create)]


def _delegates(scene: Scene) -> list[list[Case]]:
    task = {"goal": "[@chat child] Read the file."}
    send = task if scene.is_019 else {"tasks": [task]}
    there = Call("delegate_task", {**send} if scene.is_019 else {"tasks": [{"goal": "[@chat child] Another file."}]})
    lost = Lost("delegate_task", send, "after")
    return [_backed_up("store-restored", lost, "@home/state.db", (there,)), *twins("delegate_task", send)]
