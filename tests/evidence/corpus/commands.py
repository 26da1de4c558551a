"""Stories of `terminal`. The list of what counts as knowable is fixed here, whatever a verifier can do."""

from __future__ import annotations

from .files import LATER
from .story import NOBODY, PARTLY, Call, Case, Lost, Person, Scene, pair, told

FOLDER = "mkdir -p @here"
GIT = "git -C @here/repo -c user.name=Sam -c user.email=sam@example.org"
REPO = (
    "mkdir -p @here && git init -q -b main @here/repo && cd @here/repo && git config user.name Sam"
    " && git config user.email sam@example.org && echo one > a.txt && git add a.txt && git commit -q -m 'Begin'"
)
BARE = (
    f"{REPO} && git init -q --bare -b main @here/origin.git && git remote add origin @here/origin.git"
    " && git push -q origin main"
)
WHEEL = (
    "mkdir -p @here && cd @here && python3 - <<'EOF'\n"
    "import zipfile\n"
    "with zipfile.ZipFile('demo_pkg-1.0-py3-none-any.whl', 'w') as z:\n"
    "    z.writestr('demo_pkg/__init__.py', 'x = 1\\n')\n"
    "    z.writestr('demo_pkg-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: demo-pkg\\nVersion: 1.0\\n')\n"
    "    z.writestr('demo_pkg-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: hand\\n'\n"
    "               'Root-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
    "    z.writestr('demo_pkg-1.0.dist-info/RECORD', '')\n"
    "EOF"
)  # fmt: skip

KNOWABLE: tuple[tuple[str, str, str], ...] = (
    ("mkdir", FOLDER, "mkdir -p @here/build/out"),
    ("touch", FOLDER, "touch @here/done.flag"),
    ("echo", FOLDER, 'echo "port=8080" > @here/app.conf'),
    ("echo-over", FOLDER + " && echo old > @here/app.conf", 'echo "port=8081" > @here/app.conf'),
    ("heredoc", FOLDER, "cat > @here/run.sh <<'EOF'\n#!/bin/sh\necho \"$1\"\nEOF"),
    ("append", FOLDER + " && echo one > @here/log.txt", "echo 'line two' >> @here/log.txt"),
    ("tee", FOLDER, "echo data | tee @here/out.txt"),
    ("cp", FOLDER + " && echo a > @here/a.txt", "cp @here/a.txt @here/b.txt"),
    ("cp-r", FOLDER + "/src && echo a > @here/src/a.txt", "cp -r @here/src @here/copy"),
    ("mv", FOLDER + " && echo a > @here/a.txt", "mv @here/a.txt @here/b.txt"),
    ("rm", FOLDER + " && echo a > @here/old.txt", "rm @here/old.txt"),
    ("rm-rf", FOLDER + "/cache && echo a > @here/cache/x", "rm -rf @here/cache"),
    ("rmdir", FOLDER + "/empty", "rmdir @here/empty"),
    ("ln", FOLDER + " && echo a > @here/v1", "ln -s v1 @here/current"),
    ("chain", FOLDER, "mkdir -p @here/x && echo hi > @here/x/y.txt"),
    ("cd", FOLDER, "cd @here && echo hi > hello.txt"),
    ("unicode", FOLDER, "echo 'größer 世界' > '@here/Über sicht.txt'"),
    ("tar", FOLDER + "/src && echo a > @here/src/a.txt", "tar czf @here/src.tar.gz -C @here src"),
    ("untar", FOLDER + "/src && echo a > @here/src/a.txt && tar czf @here/s.tgz -C @here src && rm -r @here/src",
     "tar xzf @here/s.tgz -C @here"),
    ("git-init", FOLDER, "git init @here/repo"),
    ("git-commit", REPO + " && echo two > b.txt", "cd @here/repo && git add -A && git commit -m 'Add parser'"),
    ("git-commit-am", REPO + " && echo two > a.txt", "cd @here/repo && git commit -am 'Second line'"),
    ("git-tag", REPO, "git -C @here/repo tag v1.2.0"),
    ("git-branch", REPO, "cd @here/repo && git checkout -b feature/login"),
    ("git-push", BARE + " && echo two > a.txt && git commit -qam 'Two'", "cd @here/repo && git push origin main"),
    ("git-clone", BARE, "git clone @here/origin.git @here/second"),
    ("pip-wheel", WHEEL, "python3 -m pip install --no-index --target @here/site @here/demo_pkg-1.0-py3-none-any.whl"),
)  # fmt: skip
"""Name, what somebody prepares, the command."""

_ENDINGS = ("after", "forgotten", "after", "unheard")


def terminal(scene: Scene) -> list[list[Case]]:
    """What is knowable, then what is knowable but for what others did, then commands that can do anything."""
    known: list[Case] = []
    for number, (name, prepared, command) in enumerate(KNOWABLE):
        known += pair(name, "terminal", {"command": command}, Person(prepared), ending=_ENDINGS[number % 4])
    there = {"command": "echo 'in the folder' > made.txt", "workdir": "@here"}
    apart = pair("workdir", "terminal", there, Person(FOLDER), ending="forgotten")
    apart += pair("relative", "terminal", {"command": "echo x > @name/moved.txt"}, Person(FOLDER), ending="unheard")
    return [known, apart, _later(), *_anything()]


def _later() -> list[Case]:
    def lost(command: str, cut: str) -> Lost:
        return Lost("terminal", {"command": command}, cut)

    flag = "touch @here/done.flag"
    return [
        told("deleted-later", NOBODY, Person(FOLDER), lost(flag, "after"), Person(LATER + "rm @here/done.flag")),
        told("busy-folder", NOBODY, Person(FOLDER), lost(flag, "before"), Person(LATER + "touch @here/other")),
        told(
            "removed-by-person",
            NOBODY,
            Person(FOLDER + " && touch @here/old"),
            lost("rm @here/old", "before"),
            Person(LATER + "rm @here/old"),
        ),
        told(
            "came-back",
            NOBODY,
            Person(FOLDER + " && touch @here/old"),
            lost("rm @here/old", "after"),
            Person(LATER + "touch @here/old"),
        ),
        told(
            "committed-by-person",
            NOBODY,
            Person(REPO + " && echo two > b.txt"),
            lost("cd @here/repo && git add -A && git commit -m 'Add parser'", "before"),
            Person(LATER + "cd @here/repo && git add -A && git commit -q -m 'Add parser'"),
        ),
        told(
            "reset-by-person",
            NOBODY,
            Person(REPO + " && echo two > b.txt"),
            lost("cd @here/repo && git add -A && git commit -m 'Add parser'", "after"),
            Person(
                LATER
                + "cd @here/repo && git reset -q --hard HEAD~1"
                + " && git reflog expire --expire=now --all && git gc -q --prune=now"
            ),
        ),
        told(
            "tag-deleted",
            NOBODY,
            Person(REPO),
            lost("git -C @here/repo tag v2.0.0", "after"),
            Person(LATER + "git -C @here/repo tag -d v2.0.0"),
        ),
        told("repeated", NOBODY, Person(FOLDER), lost(flag, "before"), Call("terminal", {"command": flag})),
        told("mkdir-was-there", NOBODY, Person(FOLDER + "/build"), lost("mkdir -p @here/build", "after")),
        told("mkdir-was-there-cut", NOBODY, Person(FOLDER + "/build"), lost("mkdir -p @here/build", "before")),
        told("rm-was-gone", NOBODY, Person(FOLDER), lost("rm -f @here/nothing", "before")),
        told(
            "long-heredoc",
            NOBODY,
            Person(FOLDER),
            lost("cat > @here/long.txt <<'EOF'\n" + "words and words\n" * 400 + "EOF", "after"),
        ),
        told(
            "long-heredoc-cut",
            NOBODY,
            Person(FOLDER),
            lost("cat > @here/long.txt <<'EOF'\n" + "words and words\n" * 400 + "EOF", "before"),
        ),
        told(
            "half", NOBODY, Person(FOLDER), lost("touch @here/one && false && touch @here/two", "after"), truth=PARTLY
        ),
        told(
            "killed-inside",
            NOBODY,
            Person(FOLDER),
            Lost("terminal", {"command": "echo a > @here/a; kill -9 $PPID; echo b > @here/b"}, "after"),
            truth=PARTLY,
        ),
        told("failed", NOBODY, Person(FOLDER), lost("cp @here/missing.txt @here/copy.txt", "after"), truth="absent"),
    ]


def _anything() -> list[list[Case]]:
    """Commands of which nobody can tell what they did; each in a home of its own, so that it darkens no other."""
    script = FOLDER + ' && printf \'open("@here/made.txt", "w").write("x")\\n\' > @here/job.py'
    commands = (
        ("script", script, "python3 @here/job.py", "after"),
        ("script-cut", script, "python3 @here/job.py", "before"),
        ("variable", FOLDER + "/t", 'T=@here/t; rm -rf "$T"', "after"),
        ("shell-c", FOLDER, "sh -c 'touch @here/x'", "before"),
        ("nothing", FOLDER, "true", "after"),
        ("remote", FOLDER, "curl -sS -m 2 -X POST http://127.0.0.1:9/deploy || echo failed", "after"),
        ("silent", FOLDER, "sleep 0.1", "before"),
        ("shown", FOLDER, "echo all good", "before"),
    )
    first, second = commands[:4], commands[4:]
    return [
        [
            told(name, NOBODY, Person(prepared), Lost("terminal", {"command": command}, cut))
            for name, prepared, command, cut in part
        ]
        for part in (first, second)
    ]
