"""Commands that change how others are read: folders, variables, aliases, and those that run what they are given."""

from __future__ import annotations

from collections.abc import Callable

from .finders import fd, found_by, is_narrow
from .names import names
from .places import normal
from .run import NOTHING, SILENT, Follower, Run, Stream, shown

MOST_ROUNDS = 12
"""Values that are followed one by one: of a loop, of `xargs -I`."""


def _cd(shell: Follower, run: Run, words: list[str]) -> Stream:
    target = next((word for word in run.arguments if not word.startswith("-") or word == "-"), "$HOME")
    shell.folder = "" if target == "-" else normal(target, shell.folder)
    return SILENT


def _eval(shell: Follower, run: Run, words: list[str]) -> Stream:
    text = " ".join(run.arguments)
    if "$(download)" in text:
        shell.note("pipe-to-shell", "CRITICAL", "runs what it downloads, unseen", "", shown(words))
    shell.note("eval", "LOW", "runs a text as a command", "", shown(words))
    return shell.script(text)


def _source(shell: Follower, run: Run, words: list[str]) -> Stream:
    if not run.arguments:
        return SILENT
    if run.arguments[0] == "/dev/stdin":
        return shell.feed(run.stdin, "sh", words)
    return shell.execute_file(run.arguments[0], words)


def _alias(shell: Follower, run: Run, words: list[str]) -> Stream:
    for word in run.arguments:
        name, sign, value = word.partition("=")
        if sign:
            shell.aliases[name] = value
    return SILENT


def _set_variables(shell: Follower, run: Run, words: list[str]) -> Stream:
    for word in run.arguments:
        name, sign, value = word.partition("=")
        if sign and name.isidentifier():
            shell.variables[name] = value
    return SILENT


def _set(shell: Follower, run: Run, words: list[str]) -> Stream:
    rest = run.arguments
    if rest[:1] == ["--"]:
        shell.positional(rest[1:])
    elif rest and rest[0][:1] not in ("-", "+"):
        shell.positional(rest)
    return SILENT


def _trap(shell: Follower, run: Run, words: list[str]) -> Stream:
    rest = [word for word in run.arguments if word != "--"]
    if len(rest) > 1 and not rest[0].startswith("-"):
        shell.at_exit.append(rest[0])
    return SILENT


def _read(shell: Follower, run: Run, words: list[str]) -> Stream:
    names = [word for word in run.arguments if word.isidentifier()]
    pieces = (run.stdin.text or "").split("\n")[0].split(None, max(0, len(names) - 1)) if run.stdin.text else []
    for place, name in enumerate(names):
        if place < len(pieces):
            shell.variables[name] = pieces[place]
        else:
            shell.variables.pop(name, None)
    return SILENT


def _xargs(shell: Follower, run: Run, words: list[str]) -> Stream:
    at, marker, arguments = 0, "", run.arguments
    while at < len(arguments) and arguments[at].startswith("-") and len(arguments[at]) > 1:
        word = arguments[at]
        at += 1
        if word in ("-I", "-i", "-J", "--replace"):
            marker = arguments[at] if word in ("-I", "-J") and at < len(arguments) else "{}"
            at += word in ("-I", "-J")
        elif word.startswith(("-I", "--replace=")):
            marker = word.removeprefix("-I").removeprefix("--replace=")
        elif word in (
            "-n",
            "-P",
            "-L",
            "-d",
            "-s",
            "-a",
            "-E",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "-S",
            "-R",
        ):
            at += 1
        elif word == "--":
            break
    inner = arguments[at:] or ["echo"]
    known = (run.stdin.text or "").replace("\0", "\n").split()[:60] if run.stdin.text else []
    if marker:
        for item in known[:MOST_ROUNDS] or ["$INPUT"]:
            shell.run([word.replace(marker, item) for word in inner], NOTHING, [])
        return Stream(None, run.stdin.origins - {"terminal"})
    return shell.run([*inner, *(known or ["$INPUT"])], NOTHING, [])


_EXECUTING = names("-exec -execdir -ok -okdir")
_REMOVERS = names("rm grm unlink")


def _find(shell: Follower, run: Run, words: list[str]) -> Stream | None:
    """`find … -exec COMMAND` runs COMMAND on what it finds; its own `-delete` is judged by its signature."""
    patterns = found_by(run)
    shell.found.update(dict.fromkeys(patterns, is_narrow(run.arguments)))
    at = 0
    arguments = run.arguments
    while at < len(arguments):
        if arguments[at] in _EXECUTING:
            end = at + 1
            while (
                end < len(arguments)
                and arguments[end] != ";"
                and not (arguments[end] == "+" and arguments[end - 1] == "{}")
            ):
                end += 1
            inner = arguments[at + 1 : end]
            if arguments[at].startswith("-ok") and "terminal" in run.stdin.origins:
                # It asks, and nothing answers in the person's place: what it removes is worth a remark, no more.
                inner = [inner[0], "-i", *inner[1:]] if inner and inner[0] in _REMOVERS else []
                inner = [word for word in inner if word not in ("-f", "--force")]
            for pattern in patterns[:4] if inner else []:
                shell.run([word.replace("{}", pattern) for word in inner], NOTHING, [])
            at = end
        at += 1
    return None


def _fd(shell: Follower, run: Run, words: list[str]) -> Stream | None:
    """`fd … -x COMMAND` does the same; where COMMAND has no place for a name, it comes last."""
    looking = fd(run.arguments)
    shell.found.update(dict.fromkeys(looking.patterns, looking.narrow))
    command = looking.command
    if command and not any("{}" in word for word in command):
        command = [*command, "{}"]
    for pattern in looking.patterns[:4] if command else []:
        shell.run([word.replace("{}", pattern) for word in command], NOTHING, [])
    return SILENT if command else None


def _parallel(shell: Follower, run: Run, words: list[str]) -> Stream:
    cut = next((i for i, word in enumerate(run.arguments) if word.startswith(":::")), len(run.arguments))
    command = [word for word in run.arguments[:cut] if not word.startswith("-")]
    items = run.arguments[cut + 1 :][:MOST_ROUNDS] or ["$INPUT"]
    for item in items:
        text = " ".join(command)
        shell.script(text.replace("{}", item) if "{}" in text else f"{text} {item}")
    return Stream()


def _tee(shell: Follower, run: Run, words: list[str]) -> Stream | None:
    for word in run.arguments:
        if not word.startswith("-"):
            shell.files[word] = run.stdin
    return None


def _git(shell: Follower, run: Run, words: list[str]) -> Stream | None:
    """Git runs commands of its own: aliases with `!`, `bisect run`, `rebase --exec`, `submodule foreach`."""
    arguments = run.arguments
    for place, word in enumerate(arguments):
        if (place and arguments[place - 1] in ("-c", "config")) or word.startswith("alias."):
            _, sign, value = word.partition("=")
            value = value if sign else " ".join(arguments[place + 1 : place + 2])
            if "alias." in word and value.startswith("!"):
                shell.script(value[1:])
        elif word in ("--exec", "-x") and place + 1 < len(arguments) and "rebase" in arguments[:place]:
            shell.script(arguments[place + 1])
        elif word.startswith("--exec=") and "rebase" in arguments[:place]:
            shell.script(word.partition("=")[2])
        elif word == "run" and arguments[place - 1] == "bisect":
            shell.run(arguments[place + 1 :], NOTHING, [])
            break
        elif word == "foreach" and arguments[place - 1] == "submodule":
            shell.script(" ".join(word for word in arguments[place + 1 :] if not word.startswith("--")))
            break
    return None


def _schedule(shell: Follower, run: Run, words: list[str]) -> Stream | None:
    if run.stdin.text and not any(word in ("-l", "-d", "-r") for word in run.arguments):
        shell.script(run.stdin.text)
    return None


SPECIAL: dict[str, Callable[[Follower, Run, list[str]], Stream | None]] = {
    "cd": _cd, "pushd": _cd, "eval": _eval, "source": _source, ".": _source, "alias": _alias, "set": _set,
    "trap": _trap, "export": _set_variables, "declare": _set_variables, "typeset": _set_variables,
    "local": _set_variables, "readonly": _set_variables, "read": _read, "xargs": _xargs, "gxargs": _xargs,
    "find": _find, "fd": _fd, "fdfind": _fd, "parallel": _parallel, "tee": _tee, "at": _schedule,
    "batch": _schedule, "git": _git,
}  # fmt: skip
