"""Stories of `write_file` and `patch`."""

from __future__ import annotations

from .story import ABSENT, BEFORE, NOBODY, Call, Case, Forget, Lost, Person, Scene, pair, told

LONG = "".join(f"{n:04d} a line of a long report that is longer than the ledger keeps\n" for n in range(120))
SECRET = "token = ghp_R8k2mQ9xT4vB7nL1cZ6wY3hJ5dF0sG2aE8pU\nport = 8080\n"
FOLDER = Person("mkdir -p @here")
OLD = Person("mkdir -p @here && printf 'port = 80\\nhost = old\\nmode = slow\\n' > @here/app.conf")
CONF = "port = 8080\nhost = new\nmode = fast\n"
LATER = "sleep 2.5; "
"""Somebody else comes by a little later, not in the same moment."""


def _write(path: str, content: str) -> dict[str, str]:
    return {"path": path, "content": content}


def write_file(scene: Scene) -> list[list[Case]]:
    """All in one home, each in a folder of its own."""
    tool = "write_file"
    new = _write("@here/notes.md", "# Notes\n\nfirst\n")
    conf = _write("@here/app.conf", CONF)
    same = Person(f"mkdir -p @here && printf '{CONF}' > @here/app.conf".replace("\n", "\\n"))
    cases = [
        *pair("new", tool, new, FOLDER),
        *pair("new-folders", tool, _write("@here/a/b/notes.md", "deep\n"), FOLDER, ending="unheard"),
        *pair("relative", tool, _write("@name/notes.md", "relative\n"), FOLDER, ending="forgotten"),
        *pair("over-other", tool, conf, OLD),
        *pair("over-same", tool, conf, same, ending="unheard"),
        *pair("long", tool, _write("@here/report.txt", LONG), FOLDER),
        *pair(
            "long-over",
            tool,
            _write("@here/report.txt", LONG[::-1]),
            Person("mkdir -p @here && seq 999 > @here/report.txt"),
        ),
        *pair("secret", tool, _write("@here/.env.local", SECRET), FOLDER),
        *pair(
            "secret-over",
            tool,
            _write("@here/settings.ini", SECRET),
            Person("mkdir -p @here && echo x > @here/settings.ini"),
            ending="forgotten",
        ),
        *pair(
            "unicode",
            tool,
            _write("@here/Überblick – 一覧.txt", "Grüße, 世界 \U0001f680\nnaïve\n"),
            FOLDER,
            ending="forgotten",
        ),
        *pair("tilde", tool, _write("~/@name/plan.txt", "at home\n"), Person("mkdir -p ~/@name"), ending="unheard"),
        *pair("empty", tool, _write("@here/.keep", ""), FOLDER),
        *pair("no-newline", tool, _write("@here/VERSION", "1.4.2"), FOLDER, ending="forgotten"),
        *pair("crlf", tool, _write("@here/run.bat", "@echo off\r\necho hi\r\n"), FOLDER),
        *pair(
            "shrunk",
            tool,
            _write("@here/report.txt", "nothing\n"),
            Person("mkdir -p @here && seq 500 > @here/report.txt"),
        ),
        *pair(
            "crlf-over",
            tool,
            _write("@here/run.bat", "@echo on\necho ho\n"),
            Person("mkdir -p @here && printf '@echo off\\r\\n' > @here/run.bat"),
        ),
        *pair("json", tool, _write("@here/data.json", '{"rows": [1, 2, 3]}\n'), FOLDER, ending="unheard"),
        told("folder-there", BEFORE, Person("mkdir -p @here/notes.md"), Lost(tool, new, "before")),
        # Nobody could know: what is left fits both.
        told("deleted-later", NOBODY, FOLDER, Lost(tool, new, "after"), Person(LATER + "rm @here/notes.md")),
        told("busy-folder", NOBODY, FOLDER, Lost(tool, new, "before"), Person(LATER + "touch @here/other.md")),
        told(
            "overwritten-later",
            NOBODY,
            OLD,
            Lost(tool, conf, "after"),
            Person(LATER + "echo 'port = 1' > @here/app.conf"),
        ),
        told(
            "changed-later", NOBODY, OLD, Lost(tool, conf, "before"), Person(LATER + "echo 'port = 2' > @here/app.conf")
        ),
        told("appended-later", NOBODY, FOLDER, Lost(tool, new, "after"), Person(LATER + "echo more >> @here/notes.md")),
        told("same-touched-later", NOBODY, same, Lost(tool, conf, "before"), Person("sleep 8; touch @here/app.conf")),
        told("folder-gone", NOBODY, FOLDER, Lost(tool, new, "after"), Person(LATER + "rm -r @here")),
        told(
            "through-link",
            NOBODY,
            Person("mkdir -p @here/real && echo old > @here/real/app.conf && ln -s real/app.conf @here/app.conf"),
            Lost(tool, conf, "after"),
        ),
        told(
            "link-untouched",
            NOBODY,
            Person("mkdir -p @here/real && echo old > @here/real/app.conf && ln -s real/app.conf @here/app.conf"),
            Lost(tool, conf, "before"),
        ),
        told("repeated", NOBODY, FOLDER, Lost(tool, new, "before"), Call(tool, new)),
        told("repeated-elsewhere", NOBODY, FOLDER, Lost(tool, new, "before"), Call(tool, new, other=True)),
        told(
            "rewritten-by-agent",
            NOBODY,
            FOLDER,
            Lost(tool, new, "after"),
            Call(tool, _write("@here/notes.md", "second\n")),
        ),
        told(
            "removed-by-agent",
            NOBODY,
            FOLDER,
            Lost(tool, new, "after"),
            Call("terminal", {"command": "rm @here/notes.md"}),
        ),
    ]
    return [cases]


def patch(scene: Scene) -> list[list[Case]]:
    """All in one home, each in a folder of its own."""
    tool = "patch"

    def swap(old: str, new: str, path: str = "@here/app.conf", **more: bool) -> dict[str, object]:
        mode = {"mode": "replace"} if scene.is_019 else {}
        return {**mode, "path": path, "old_string": old, "new_string": new, **more}

    one = swap("host = old", "host = new.example.org")
    lines = Person("mkdir -p @here && printf 'alpha\\nbeta\\nalpha\\ngamma\\n' > @here/list.txt")
    code = Person(
        "mkdir -p @here && printf 'def f(x):\\n    return x + 1\\n\\n\\ndef g(x):\\n    return f(x)\\n' > @here/m.py"
    )
    crlf = Person("mkdir -p @here && printf 'a = 1\\r\\nb = 2\\r\\n' > @here/w.ini")
    greek = Person("mkdir -p @here && printf 'größe = 1\\nλ = 2\\n' > @here/ü.txt")
    cases = [
        *pair("one", tool, one, OLD),
        *pair("one-unheard", tool, swap("mode = slow", "mode = fast"), OLD, ending="unheard"),
        *pair("one-forgotten", tool, swap("port = 80\n", "port = 8443\n"), OLD, ending="forgotten"),
        *pair("delete-line", tool, swap("mode = slow\n", ""), OLD),
        *pair("long", tool, swap("mode = slow\n", LONG), OLD),
        *pair("secret", tool, swap("host = old\n", SECRET), OLD, ending="forgotten"),
        *pair("all", tool, swap("alpha", "omega", "@here/list.txt", replace_all=True), lines),
        *pair(
            "code",
            tool,
            swap("    return x + 1\n", "    # One more.\n    return x + 2\n", "@here/m.py"),
            code,
            ending="forgotten",
        ),
        *pair("crlf", tool, swap("b = 2", "b = 3", "@here/w.ini"), crlf),
        *pair("unicode", tool, swap("λ = 2", "λ = 3 – größer", "@here/ü.txt"), greek),
        *pair("relative", tool, swap("host = old", "host = relative", "@name/app.conf"), OLD, ending="unheard"),
        *pair("grow", tool, swap("host = old", "host = old\nhost2 = older"), OLD),
        told("no-file", BEFORE, FOLDER, Lost(tool, one, "before")),
        told("no-match", BEFORE, OLD, Lost(tool, swap("nowhere in it", "x"), "before")),
        told("no-match-ran", BEFORE, OLD, Lost(tool, swap("nowhere in it", "x"), "unheard"), truth=ABSENT),
        told("no-match-killed", BEFORE, OLD, Lost(tool, swap("not there either", "x"), "after"), truth=ABSENT),
        # Nobody could know.
        told("deleted-later", NOBODY, OLD, Lost(tool, one, "after"), Person(LATER + "rm @here/app.conf")),
        told(
            "rewritten-later", NOBODY, OLD, Lost(tool, one, "after"), Person(LATER + "echo 'port = 1' > @here/app.conf")
        ),
        told(
            "reverted-later",
            NOBODY,
            OLD,
            Lost(tool, one, "after"),
            Person("sleep 8; sed -i 's/new.example.org/old/' @here/app.conf"),
        ),
        told(
            "done-by-person",
            NOBODY,
            OLD,
            Lost(tool, one, "before"),
            Person("sleep 8; sed -i 's/old/new.example.org/' @here/app.conf"),
        ),
        told(
            "other-line-later",
            NOBODY,
            OLD,
            Lost(tool, one, "before"),
            Person(LATER + "sed -i 's/slow/slower/' @here/app.conf"),
        ),
        told("repeated", NOBODY, OLD, Lost(tool, one, "before"), Call(tool, one)),
        told(
            "undone-by-agent",
            NOBODY,
            OLD,
            Lost(tool, one, "after"),
            Call(tool, swap("host = new.example.org", "host = old")),
        ),
        told(
            "link",
            NOBODY,
            Person("mkdir -p @here/real && echo 'host = old' > @here/real/a && ln -s real/a @here/app.conf"),
            Lost(tool, one, "after"),
            Forget(),
        ),
    ]
    if scene.is_019:
        cases += _v4a()
    return [cases]


def _v4a() -> list[Case]:
    """The other form, which 0.19 alone offers: several changes in one text."""

    def form(*lines: str) -> dict[str, str]:
        return {"mode": "patch", "patch": "\n".join(("*** Begin Patch", *lines, "*** End Patch"))}

    update = form("*** Update File: @here/app.conf", "@@", " port = 80", "-host = old", "+host = v4a", " mode = slow")
    add = form("*** Add File: @here/added.txt", "+one", "+two")
    delete = form("*** Delete File: @here/app.conf")
    both = form(
        "*** Update File: @here/app.conf", "@@", "-mode = slow", "+mode = v4a", "*** Add File: @here/b.txt", "+b"
    )
    return [
        *pair("v4a-update", "patch", update, OLD),
        *pair("v4a-add", "patch", add, FOLDER),
        *pair("v4a-delete", "patch", delete, OLD),
        *pair("v4a-both", "patch", both, OLD, ending="forgotten"),
        told("v4a-removed-later", NOBODY, FOLDER, Lost("patch", add, "after"), Person(LATER + "rm @here/added.txt")),
    ]
