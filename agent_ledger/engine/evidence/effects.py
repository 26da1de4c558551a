"""What a shell command would leave behind, where its words alone tell: files made, changed, removed. Nothing is run.

Only plain lists of plain commands are read (`a && b; c > f`). Whatever depends on something that the words do not
hold (variables, patterns, conditions, unknown programs) makes the reading unclear, and an unclear reading proves
nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..commands import expand, wrappers
from ..commands.names import names
from ..commands.syntax import parse
from ..commands.tree import Pipeline, Redirection, Simple, UnreadableError, Word
from ..inert import clip

LONGEST = 16_384
"""Characters of a command that are read."""

LOOKING = names(
    """ls cat pwd head tail wc grep egrep fgrep rg ps df du which whoami date uptime stat file id uname free tree echo
    printf true : test [ sleep diff cmp uniq cut tr basename dirname readlink realpath type seq nl tac rev column less
    more md5sum sha1sum sha256sum sha512sum cksum hostname nproc printenv jq sort find clear history
    arch tty groups cal expr lsof ss getent locale"""
)
"""Programs that leave no file behind by themselves, but for options that `_looks` knows."""

_GIT_LOOKS = names(
    """status diff log show rev-parse ls-files ls-tree blame describe shortlog reflog cat-file rev-list for-each-ref
    grep remote config whatchanged help version"""
)


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that would be different afterwards.

    `kind`: "write" (whole content), "append", "touch", "folder", "remove", "move", "copy", "link", "mode", "edit",
    "unpack", "git", "install". Paths as they are on disk; one without a `/` in front is relative to an unknown folder.
    """

    kind: str
    path: str
    source: str = ""
    """Move, copy: from where. Link: what it names."""
    text: str | None = None
    """Write, append: the content, where the words hold it. Mode: the mode as written."""
    words: tuple[str, ...] = ()
    """Git, install: the command's own words."""
    parents: bool = False
    """Folder: `-p`. Remove, copy: a folder with all that is in it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`why` says what is not clear; empty where everything is."""

    effects: tuple[Effect, ...] = ()
    why: str = ""
    folders: tuple[str, ...] = ()
    """Those that it goes to, and would stay out of where they are not there, while its other parts go on."""

    @property
    def clear(self) -> bool:
        return not self.why


class _UnclearError(Exception):
    pass


def read(command: str, folder: str = "") -> Reading:
    """The effects of a command that starts in `folder` (empty: not known). Never raises."""
    reader = _Reader(folder)
    if len(command) > LONGEST:
        return Reading(why="the command is longer than what is read")
    if "||" in command:
        return Reading(why="it takes another way where a part of it fails")
    try:
        for pipeline in parse(command):
            reader.pipeline(pipeline)
    except (_UnclearError, UnreadableError) as error:
        return Reading(tuple(reader.effects), str(error) or "it cannot be read")
    except RecursionError:
        return Reading(why="it is nested too deeply")
    goes_on = ";" in command or "\n" in command
    return Reading(tuple(reader.effects), folders=tuple(reader.gone_to) if goes_on else ())


@dataclass(slots=True)
class _Command:
    name: str
    """Without its folder."""
    arguments: list[str]
    printed: str | None
    """What flows in, where that is known."""
    options: set[str] = field(default_factory=set)
    plain: list[str] = field(default_factory=list)
    program: str = ""
    """As it was written."""


class _Reader:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.effects: list[Effect] = []
        self.gone_to: list[str] = []

    def pipeline(self, pipeline: Pipeline) -> None:
        if pipeline.background:
            raise _UnclearError("a part of it goes on in the background")
        flow: str | None = None
        for command in pipeline.commands:
            if not isinstance(command, Simple):
                raise _UnclearError("it holds conditions, loops or groups")
            if command.assignments:
                raise _UnclearError("it sets variables, which programs heed")
            flow = self.simple(command, flow)

    def simple(self, command: Simple, flow: str | None) -> str | None:
        words = [_plain(word) for word in command.words]
        writes: list[tuple[str, str, str]] = []
        for one in command.redirections:
            flow = self.redirect(one, flow, writes)
        printed = self.run(words, flow) if words else ""
        for operator, path, descriptor in writes:
            text = printed if descriptor in ("", "1") else None
            self.effects.append(Effect("append" if operator in (">>", "&>>") else "write", self.place(path), text=text))
        return "" if any(descriptor in ("", "1") for _, _, descriptor in writes) else printed

    def redirect(self, one: Redirection, flow: str | None, writes: list[tuple[str, str, str]]) -> str | None:
        if one.operator == "<<":
            body = one.body or ""
            if not one.literal and any(mark in body for mark in "$`\\"):
                raise _UnclearError("its text depends on variables")
            return body
        target = _plain(one.target)
        if one.operator == "<<<":
            return target + "\n"
        if one.operator in ("<", "<>"):
            return None
        if one.operator in (">&", "<&") and (target.isdigit() or target == "-"):
            return flow
        if target not in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            writes.append((one.operator, target, one.descriptor if one.operator not in ("&>", "&>>", ">&") else "1"))
        return flow

    def run(self, words: list[str], flow: str | None) -> str | None:
        """Note what one plain command leaves behind; what it prints, where that is known."""
        while words and words[0] in wrappers.IN_PLACE and len(words) > 1:
            if words[1].startswith("-"):
                raise _UnclearError(f"`{words[0]}` has options of its own")
            words = words[1:]
        command = _Command(posixpath.basename(words[0]), words[1:], flow, program=words[0])
        ended = False
        for word in command.arguments:
            if not ended and word == "--":
                ended = True
            elif not ended and word.startswith("-") and len(word) > 1:
                command.options |= {word} if word.startswith("--") else set(word[1:])
            else:
                command.plain.append(word)
        if command.name == "cd":
            self.folder = self.moved(command)
            return ""
        doing = _DOING.get(command.name)
        if doing is not None:
            self.effects += doing(self, command)
            return flow if command.name == "tee" else None
        if not _looks(command):
            raise _UnclearError(f"`{clip(command.name, 40)}` may do anything")
        return _printed(command)

    def moved(self, command: _Command) -> str:
        if len(command.plain) != 1 or command.plain[0] == "-":
            raise _UnclearError("it goes to a folder that its words do not name")
        folder = posixpath.normpath(self.place(command.plain[0]))  # Other than all else, `cd` does not follow links.
        self.gone_to.append(folder)
        return folder

    def place(self, word: str) -> str:
        if not word:
            raise _UnclearError("a path in it is empty")
        return _tidy(word if word.startswith("/") or not self.folder else f"{self.folder}/{word}")


def _tidy(path: str) -> str:
    """Without empty parts. `..` stays: behind a link it is not the folder in front of it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts) or "."


def _plain(word: Word) -> str:
    """A word whose text is certain. Raises _UnclearError for patterns, variables, substitutions, a tilde."""
    text = ""
    for part in word:
        if part.kind != "text":
            raise _UnclearError("it depends on variables or on what another command prints")
        if not part.quoted and (any(mark in part.text for mark in "*?[{") or (not text and part.text.startswith("~"))):
            raise _UnclearError("it depends on which files a pattern finds")
        text += part.text
    if "\0" in text:
        raise _UnclearError("it holds a null character")
    return text


def _looks(command: _Command) -> bool:
    if command.name == "git":
        words = command.plain
        listing = words in (
            ["branch"],
            ["tag"],
            ["branch", "list"],
            ["tag", "list"],
            ["stash", "list"],
            ["stash", "show"],
        )
        return bool(words) and ((words[0] in _GIT_LOOKS and not command.options & {"d", "D"}) or listing)
    if command.name not in LOOKING:
        return False
    if command.name == "find":
        return not any(word.startswith(("-delete", "-exec", "-ok", "-fprint", "-fls")) for word in command.arguments)
    if command.name == "sort":
        return "o" not in command.options and not any(option.startswith("--output") for option in command.options)
    return not (command.name == "date" and command.options & {"s", "--set"})


def _printed(command: _Command) -> str | None:
    if command.name == "echo":
        return expand.echo(command.arguments)
    if command.name == "printf":
        return expand.printf(command.arguments)
    if command.name in ("true", ":", "test", "[", "sleep"):
        return ""
    return command.printed if command.name == "cat" and not command.plain and not command.options else None


# -- commands that leave something behind ------------------------------------------------------------------------------


def _allow(command: _Command, letters: str, *, least: int = 1, most: int = 200) -> list[str]:
    """The plain words, if only options of these letters stand there. Raises _UnclearError else."""
    odd = command.options - set(letters)
    if odd:
        raise _UnclearError(f"`{command.name}` has the option {clip(sorted(odd)[0], 20)}")
    if not least <= len(command.plain) <= most:
        raise _UnclearError(f"`{command.name}` names no place that can be looked at")
    return command.plain


def _touch(reader: _Reader, command: _Command) -> Iterator[Effect]:
    for word in _allow(command, ""):
        yield Effect("touch", reader.place(word))


def _mkdir(reader: _Reader, command: _Command) -> Iterator[Effect]:
    for word in _allow(command, "pv"):
        yield Effect("folder", reader.place(word), parents="p" in command.options)


def _rm(reader: _Reader, command: _Command) -> Iterator[Effect]:
    whole = bool(command.options & {"r", "R", "--recursive"})
    command.options -= {"--recursive", "--force"}
    for word in _allow(command, "rRfvd"):
        yield Effect("remove", reader.place(word), parents=whole)


def _rmdir(reader: _Reader, command: _Command) -> Iterator[Effect]:
    for word in _allow(command, "v"):
        yield Effect("remove", reader.place(word))


def _move(reader: _Reader, command: _Command) -> Iterator[Effect]:
    source, target = _allow(command, "fv", least=2, most=2)
    if target.endswith("/"):
        target += posixpath.basename(source.rstrip("/"))
    yield Effect("move", reader.place(target), source=reader.place(source))


def _copy(reader: _Reader, command: _Command) -> Iterator[Effect]:
    source, target = _allow(command, "fvprRa", least=2, most=2)
    if target.endswith("/"):
        target += posixpath.basename(source.rstrip("/"))
    whole = bool(command.options & set("rRa"))
    yield Effect("copy", reader.place(target), source=reader.place(source), parents=whole)


def _link(reader: _Reader, command: _Command) -> Iterator[Effect]:
    named, target = _allow(command, "sfnv", least=2, most=2)
    if "s" not in command.options:
        raise _UnclearError("a hard link looks like any other name of its file")
    if target.endswith("/"):
        target += posixpath.basename(named.rstrip("/"))
    yield Effect("link", reader.place(target), source=named)


def _mode(reader: _Reader, command: _Command) -> Iterator[Effect]:
    mode, *places = _allow(command, "v", least=2)
    for word in places:
        yield Effect("mode", reader.place(word), text=mode)


def _tee(reader: _Reader, command: _Command) -> Iterator[Effect]:
    kind = "append" if "a" in command.options else "write"
    for word in _allow(command, "a"):
        yield Effect(kind, reader.place(word), text=command.printed)


def _sed(reader: _Reader, command: _Command) -> Iterator[Effect]:
    edits = [option for option in command.options if option == "i" or option.startswith("--in-place")]
    if not edits:
        return
    if command.options - {"i", "E", "r", "--in-place"} or len(command.plain) < 2:
        raise _UnclearError("`sed` has options that are not followed")
    for word in command.plain[1:]:
        yield Effect("edit", reader.place(word))


def _tar(reader: _Reader, command: _Command) -> Iterator[Effect]:
    """`tar czf ARCHIVE …` and `tar xzf ARCHIVE [-C FOLDER]`, the letters in one word, with a dash or without."""
    letters, *rest = command.arguments or [""]
    letters = letters.removeprefix("-")
    doing = set(letters) & {"c", "x"}
    folders = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word == "-C"]
    plain = [word for at, word in enumerate(rest) if word != "-C" and (at == 0 or rest[at - 1] != "-C")]
    odd = set(letters) - set("cxzjJvfp") or any(word.startswith("-") for word in plain)
    if len(doing) != 1 or odd or not letters.endswith("f") or not plain or len(folders) > 1:
        raise _UnclearError("`tar` has options that are not followed")
    if "c" in doing:
        yield Effect("write", reader.place(plain[0]), words=("tar",))
    elif len(plain) > 1:
        raise _UnclearError("`tar` unpacks a part only")
    else:
        folder = reader.place(folders[0]) if folders else reader.folder
        yield Effect("unpack", folder, source=reader.place(plain[0]))


def _git(reader: _Reader, command: _Command) -> Iterator[Effect]:
    if _looks(command):
        return
    words = command.arguments
    folder = reader.folder
    while words[:1] == ["-c"] and len(words) > 2 and words[1].startswith("user."):
        words = words[2:]
    if words[:1] == ["-C"] and len(words) > 2:
        folder, words = reader.place(words[1]), words[2:]
    if words[:1] not in (
        ["commit"],
        ["tag"],
        ["push"],
        ["branch"],
        ["checkout"],
        ["switch"],
        ["init"],
        ["add"],
        ["clone"],
    ):
        raise _UnclearError(f"`git {clip(' '.join(words[:1]), 40)}` is not followed")
    yield Effect("git", folder, words=tuple(words))


def _install(reader: _Reader, command: _Command) -> Iterator[Effect]:
    if command.arguments[:1] not in (["install"], ["i"], ["add"]) and command.arguments[:3] != ["-m", "pip", "install"]:
        raise _UnclearError(f"`{command.name} {clip(' '.join(command.arguments[:1]), 40)}` is not followed")
    yield Effect("install", reader.folder, words=(command.program, *command.arguments))


_DOING: dict[str, Callable[[_Reader, _Command], Iterator[Effect]]] = {
    "touch": _touch, "mkdir": _mkdir, "rm": _rm, "unlink": _rm, "rmdir": _rmdir, "mv": _move, "cp": _copy,
    "ln": _link, "chmod": _mode, "tee": _tee, "sed": _sed, "tar": _tar, "git": _git, "npm": _install, "pip": _install,
    "pip3": _install, "python": _install, "python3": _install,
}  # fmt: skip
