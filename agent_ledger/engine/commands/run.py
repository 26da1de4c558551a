"""One plain command as a signature sees it, and what flows in and out of commands."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..inert import clip
from .places import normal


@dataclass(frozen=True, slots=True)
class Stream:
    """What flows through a pipe or lies in a file: its text where it is known, and where it comes from."""

    text: str | None = None
    origins: frozenset[str] = frozenset()
    """Among "network", "decoded", "secret", "terminal" (nothing was put in)."""


NOTHING = Stream(None, frozenset({"terminal"}))
SILENT = Stream("")


@dataclass(slots=True)
class Run:
    """One plain command, as a signature sees it."""

    name: str
    arguments: list[str]
    stdin: Stream
    folder: str
    redirected: tuple[tuple[str, str], ...] = ()
    """(operator, path) of what it reads and writes by redirection."""
    chained: bool = False
    """Does its output go to another command?"""
    variables: Mapping[str, str] = field(default_factory=dict)
    found: Mapping[str, bool] = field(default_factory=dict)
    """Patterns that stand for what a finder named before; did it ask for more than everything?"""

    def path(self, word: str) -> str:
        """A word as a path in normal form."""
        return normal(word, self.folder)


class Follower(Protocol):
    """What follows a command line, as far as the commands in it can change how the rest is read."""

    folder: str
    variables: dict[str, str]
    aliases: dict[str, str]
    files: dict[str, Stream]
    """What is known to lie in files that were written before."""
    found: dict[str, bool]
    fetched: list[str]
    at_exit: list[str]

    def note(self, kind: str, severity: str, what: str, target: str, shown: str) -> None: ...

    def script(self, text: str, stdin: Stream = NOTHING) -> Stream: ...

    def run(
        self, words: list[str], stdin: Stream, redirected: list[tuple[str, str]], *, chained: bool = False
    ) -> Stream: ...

    def feed(self, stdin: Stream, name: str, words: list[str]) -> Stream: ...

    def execute_file(self, path: str, words: list[str]) -> Stream: ...

    def positional(self, arguments: list[str], zero: str | None = None) -> None: ...


Found = tuple[str, str, str, str]
"""Kind, severity, what it does, target."""


_SAFE = re.compile(r"[\w@%+=:,./~$*?{}\[\]()…^-]+")


def quote(word: str) -> str:
    """The word as it would be typed."""
    return word if _SAFE.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def shown(words: list[str]) -> str:
    """A command in its normal form, for a sentence."""
    return clip(" ".join(quote(clip(word, 120)) for word in words[:40]), 240)


def together(streams: list[Stream], longest: int = 65_536) -> Stream:
    """What several commands print one after the other."""
    if len(streams) == 1:
        return streams[0]
    origins = frozenset[str]().union(*(stream.origins for stream in streams)) if streams else frozenset()
    if any(stream.text is None for stream in streams):
        return Stream(None, origins)
    return Stream("".join(stream.text or "" for stream in streams)[:longest], origins)


def command_name(word: str) -> str:
    """A command's name without its folder; a pattern counts as the first shell or remover that it can mean."""
    name = word.rpartition("/")[2]
    if any(char in name for char in "?*[") and "/" in word:
        return next(
            (one for one in ("rm", "sh", "bash", "dd", "cat", "curl", "wget") if fnmatch.fnmatchcase(one, name)), name
        )
    return name.removesuffix(".exe") if name.endswith(".exe") else name
