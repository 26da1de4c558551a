"""The tree that a shell text is read into: words of parts, redirections, simple and compound commands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

DEEPEST = 24
"""Levels of nesting that are read; below them the text counts as unreadable."""


UNREAD = "unread"
"""Kind of the compound that stands for commands that nobody read."""


class UnreadableError(Exception):
    """Nested deeper, or longer, than is worth reading."""


@dataclass(slots=True)
class Part:
    """A piece of a word. `kind`: "text", "variable", "command", "process", "arithmetic"."""

    kind: str
    text: str = ""
    quoted: bool = False
    operator: str = ""
    """Of a variable: what stands between the name and the closing brace (`:-`, `#`, `/` …) with its argument."""
    body: list[Pipeline] | None = None
    """Of a command or process substitution: what runs in it."""


Word = list[Part]


@dataclass(slots=True)
class Redirection:
    """`operator` as written without its descriptor; `body` only for here-documents and here-strings."""

    operator: str
    target: Word
    descriptor: str = ""
    body: str | None = None
    literal: bool = False
    """A here-document whose delimiter is quoted: nothing in it is expanded."""


@dataclass(slots=True)
class Simple:
    """Assignments, words and redirections: one command."""

    assignments: list[tuple[str, Word]] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Compound:
    """`kind`: "group", "subshell", "loop", "for", "function", "case", "if". Its parts run in order."""

    kind: str
    bodies: list[list[Pipeline]] = field(default_factory=list)
    name: str = ""
    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


Command = Simple | Compound


@dataclass(slots=True)
class Pipeline:
    commands: list[Command]
    background: bool = False


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_ANSI = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)


def unescape(text: str) -> str:
    """Backslash escapes as `$'…'`, `printf` and `echo -e` read them."""

    def one(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            number = int(code, 16)
            return chr(number) if number < 0x110000 else ""
        if match[4]:
            return chr(int(match[4], 8) & 0xFF)
        return _ESCAPES.get(match[5], match[5])

    return _ANSI.sub(one, text) if "\\" in text else text
