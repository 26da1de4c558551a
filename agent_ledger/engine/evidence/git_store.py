"""A git repository read by its own files: references, and their logs (gitrepository-layout(5)). No git is run."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from .facts import COARSE_S, CannotTellError, Facts
from .verdict import quoted

LONGEST_LOG = 4 * 2**20
"""Bytes of a log that are read."""

_LINE = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}\t(.*)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a reference's log: the commit it then named, when, and what did it.

    Git writes whole seconds; `exact`: `at` is finer, by the time of the log itself, whose last line it is.
    """

    commit: str
    at: float
    action: str
    exact: bool = False

    def since(self, moment: float) -> bool | None:
        """Was it done at or after `moment`? None where it was in that very second."""
        if self.exact:
            return self.at >= moment - COARSE_S
        return None if math.floor(moment) <= self.at < moment else self.at >= moment


def since(entries: Sequence[Entry], moment: float) -> list[Entry]:
    """Those that may have been done at or after `moment`; first those that surely were."""
    found = [one for one in entries if one.since(moment) is not False]
    return sorted(found, key=lambda one: one.since(moment) is None)


@dataclass(frozen=True, slots=True)
class Log:
    """A reference and its log. `whole`: does nothing lack in it, and can its times be trusted?

    It ends with what the reference names now, each line begins where the one before ended, and no time in it is before
    the last one's, or far from that of the log itself: the environment can give git another date.
    """

    entries: tuple[Entry, ...]
    whole: bool

    def reaches(self, moment: float) -> bool:
        """Would what was done at `moment` still stand in it? Old entries go first, so an older one says so."""
        return self.whole and (not self.entries or self.entries[0].at < moment)


@dataclass(frozen=True, slots=True)
class Repository:
    """`own`: this work tree's part; `shared`: that of all its work trees."""

    own: Path
    shared: Path


def find(facts: Facts, folder: Path) -> Repository:
    """The repository that a folder lies in. Raises CannotTellError where there is none."""
    for above in (folder, *folder.parents):
        mark = facts.look(above / ".git")
        if mark.kind == "folder":
            return _readable(facts, Repository(mark.path, mark.path))
        if mark.kind == "file":
            text = facts.text(mark.path, limit=4096).strip()
            if not text.startswith("gitdir: "):
                break
            own = Path(above, text.removeprefix("gitdir: "))
            common = facts.look(own / "commondir")
            shared = Path(own, facts.text(common.path, limit=4096).strip()) if common.kind == "file" else own
            return _readable(facts, Repository(own, shared))
        if mark.exists:
            break
        if facts.look(above / "HEAD").kind == "file" and facts.look(above / "refs").kind == "folder":
            return _readable(facts, Repository(above, above))
    raise CannotTellError(f"{quoted(folder)} lies in no repository that can be read.")


def _readable(facts: Facts, repository: Repository) -> Repository:
    """The repository. Raises CannotTellError where its references lie in tables (`reftable`), not in files."""
    if facts.look(repository.shared / "reftable").exists:
        raise CannotTellError(f"The references of {quoted(repository.shared)} are in tables, which are not read.")
    return repository


def reference(facts: Facts, repository: Repository, name: str, depth: int = 0) -> str:
    """The commit that a reference names; empty where it is not there."""
    base = repository.own if name == "HEAD" else repository.shared
    place = facts.look(base / name)
    if place.kind == "file":
        text = facts.text(place.path, limit=4096).strip()
        if not text.startswith("ref: "):
            return text
        return reference(facts, repository, text.removeprefix("ref: "), depth + 1) if depth < 5 else ""
    if place.kind == "link":
        raise CannotTellError(f"{quoted(place.path)} is a link, which is not followed.")
    return packed(facts, repository).get(name, "")


def packed(facts: Facts, repository: Repository) -> dict[str, str]:
    place = facts.look(repository.shared / "packed-refs")
    if not place.exists:
        return {}
    lines = facts.text(place.path).splitlines()
    return {
        name: commit for commit, _, name in (line.partition(" ") for line in lines) if name and commit[:1] not in "#^"
    }


def read_log(facts: Facts, repository: Repository, name: str) -> Log:
    """The log of a reference; no entries where there is none, whole only where the reference is not there, either."""
    base = repository.own if name == "HEAD" else repository.shared
    place = facts.look(base / "logs" / name)
    now = reference(facts, repository, name)
    if not place.exists:
        return Log((), not now)
    lines = facts.text(place.path, limit=LONGEST_LOG).splitlines()
    found = [match for match in map(_LINE.fullmatch, lines) if match]
    entries = tuple(Entry(match[2], float(match[3]), match[4]) for match in found)
    if not entries:
        return Log((), False)
    joined = all(later[1] == earlier[2] and later[3] >= earlier[3] for earlier, later in pairwise(found))
    fits = 0 <= place.modified - entries[-1].at < 2
    if fits:
        entries = (*entries[:-1], replace(entries[-1], at=place.modified, exact=True))
    return Log(entries, joined and fits and len(found) == len(lines) and entries[-1].commit == now)


_PLAIN = frozenset({"url", "fetch", "tagopt", "prune"})
"""Settings of a remote that leave open neither where a push goes nor what it pushes."""


def local_remote(facts: Facts, repository: Repository, folder: Path, remote: str) -> Repository | None:
    """The repository that a remote is, where it lies on this machine by one plain setting; None else."""
    text = facts.text(repository.shared / "config", limit=2**20)
    if re.search(r"(?im)^\s*(\[include|pushinsteadof\b|insteadof\b)", text):
        return None
    section, urls = "", []
    for line in text.splitlines():
        head = re.fullmatch(r'\s*\[remote "([^"]*)"\]\s*', line)
        if head or line.lstrip().startswith("["):
            section = head[1] if head else ""
        name, given, value = line.partition("=")
        if section == remote and given and name.strip().lower() not in _PLAIN:
            return None
        if section == remote and name.strip().lower() == "url":
            urls.append(value.strip().removeprefix("file://"))
    if len(urls) != 1 or re.match(r"[\w+.-]+://|[\w.-]+@?[\w.-]*:", urls[0]):
        return None
    place = Path(folder, urls[0])
    facts.refuse_network(place)
    return find(facts, place) if facts.look(place).kind == "folder" else None
