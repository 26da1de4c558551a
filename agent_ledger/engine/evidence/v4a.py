"""Patches in the V4A form (`*** Begin Patch` …), read as Hermes' own `patch_parser` reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADER = re.compile(r"\*\*\*\s*(Update|Add|Delete) File:\s*(.+)")
_MOVE = re.compile(r"\*\*\*\s*Move File:\s*(.+?)\s*->\s*(.+)")
_BEGIN = re.compile(r"\*\*\*\s*Begin\s+Patch\s*$")
_END = re.compile(r"\*\*\*\s*End\s+Patch\s*$")


@dataclass(slots=True)
class Change:
    """`kind`: "update", "add", "delete", "move". `hunks`: (text before, text after) of each."""

    kind: str
    path: str
    target: str = ""
    hunks: list[tuple[list[str], list[str]]] = field(default_factory=list)

    @property
    def added(self) -> str:
        """The content of a file that is added."""
        return "\n".join(line for _, after in self.hunks for line in after)


def read(patch: str) -> list[Change]:
    """The changes in order; none where there are none. Never raises."""
    found: list[Change] = []
    fresh = True
    for line in _body(patch):
        move, header = _MOVE.match(line), _HEADER.match(line)
        if move:
            found.append(Change("move", move[1].strip(), move[2].strip()))
        elif header:
            found.append(Change(header[1].lower(), header[2].strip()))
            fresh = True
        elif line.startswith("@@"):
            fresh = True
        elif found and line and found[-1].kind in ("update", "add"):
            fresh = _line(found[-1], line, fresh)
    return found


def _line(change: Change, line: str, fresh: bool) -> bool:
    """Put one line of a hunk where it belongs; whether the next one begins a hunk of its own."""
    mark, text = (line[0], line[1:]) if line[0] in "+- \\" else (" ", line)
    if mark == "\\":
        return fresh
    if fresh and not (change.kind == "add" and change.hunks):
        change.hunks.append(([], []))
    before, after = change.hunks[-1]
    if mark != "+":
        before.append(text)
    if mark != "-":
        after.append(text)
    return False


def _body(patch: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in patch.split("\n")]
    begin = next((at for at, line in enumerate(lines) if _BEGIN.match(line)), -1)
    end = next((at for at, line in enumerate(lines) if _END.match(line)), len(lines))
    return lines[begin + 1 : end]
