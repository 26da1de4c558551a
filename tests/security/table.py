"""The table of docs/security.md as something that an event can be held against."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import code, page, sections, table

ALL = "all"

ELSEWHERE = "what a recorded call named, and Hermes' lists and boards"
SPOOL_ELSEWHERE = "<tmp>/agent-ledger-<user>-<home>/"


@dataclass(frozen=True)
class Row:
    """One line of the table: the names, and who may do what."""

    names: tuple[str, ...]
    mode: str
    writers: frozenset[str]
    readers: frozenset[str]
    link: str

    @property
    def everybody_reads(self) -> bool:
        return ALL in self.readers

    def means(self, name: str) -> bool:
        """Is this file, named below the home or below `<tmp>`, one of this line? A folder's name ends in a slash."""
        return any(_means(pattern, name) for pattern in self.names)


def _means(pattern: str, name: str) -> bool:
    folder = "plugins/agent-ledger/"
    if pattern == f"{folder}*":  # However deep.
        return name.startswith(folder) and name != folder and not name.endswith("/")
    if pattern == folder:
        return name.startswith(folder) and name.endswith("/")
    return fnmatch.fnmatchcase(name, pattern) and name.count("/") == pattern.count("/")


def rows() -> list[Row]:
    found = []
    for what, mode, writers, readers, link in table(sections(page("security.md"))["The files"]):
        names = tuple(code(what)) if what != ELSEWHERE else (what,)
        found.append(Row(names, mode, frozenset(code(writers)), _readers(readers), link))
    return found


def _readers(cell: str) -> frozenset[str]:
    return frozenset({ALL}) if cell == ALL else frozenset(code(cell))


_BESIDE = (
    re.compile(r"^\.(?P<name>.+)\.[0-9a-f]{8}(?:\.part)?$"),
    re.compile(r"^\.(?P<name>ignored\.json)\.[a-z0-9_]{8}$"),
    re.compile(r"^(?P<name>hash\.key)\.\d+\.[0-9a-f]{8}$"),
)
"""Names under which a file is written before it takes its own."""

_INSTALLING = re.compile(r"^\.agent-ledger-[0-9a-f]{8}(?:\.old)?(?=/|$)")


def plain(name: str) -> str:
    """A name below the home as the table has it: what is written beside its place counts as its place."""
    name = _INSTALLING.sub("plugins/agent-ledger", name)
    folder, slash, last = name.rpartition("/")
    for form in _BESIDE:
        found = form.match(last)
        if found:
            last = found["name"]
    return f"{folder}{slash}{last}"


def below(path: str, home: Path, temporary: Path) -> str | None:
    """The name of a path below the home, or below `<tmp>/` with our own folder there by its common name; else None."""
    for top, start in ((home, ""), (temporary, "<tmp>/")):
        if path.startswith(f"{top}/"):
            name = start + path[len(f"{top}/") :]
            return re.sub(r"^<tmp>/agent-ledger-\d+-[0-9a-f]{16}(?=/|$)", SPOOL_ELSEWHERE.rstrip("/"), name)
    return None
