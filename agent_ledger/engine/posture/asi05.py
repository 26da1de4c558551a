"""ASI05: a file that the agent wrote or downloaded in one call, and ran in a later one.

Code in a single command (pipes to a shell, `-c`, here-documents …) is judged in `commands`; see `acts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..commands import script_acts
from ..severity import HIGH, LOW, MEDIUM, SEVERITIES
from .acts import looked_at
from .finding import Finding, finding
from .memory import WRITTEN, Session
from .rows import Row

Kept = tuple[str, str, bool]
"""The writing call: its tool, its arguments, were they cut."""


def remember(row_id: int, session: Session, paths: Iterable[str]) -> None:
    """Which files this session wrote; the oldest are forgotten."""
    for path in paths:
        session.written.pop(_name(path), None)
        session.written[_name(path)] = (path, row_id)
    while len(session.written) > WRITTEN:
        del session.written[next(iter(session.written))]


def wrote_one_of(session: Session, paths: Iterable[str]) -> bool:
    """May this session have written one of these files?"""
    return any(_name(path) in session.written for path in paths)


def judge(row: Row, session: Session, paths: Iterable[str], kept: Mapping[int, Kept]) -> list[Finding]:
    """A finding for each file that this call runs and an earlier one wrote; once for each time it was written."""
    found = []
    for path in paths:
        written = session.written.get(_name(path))
        if written is None or not same_file(written[0], path) or written[1] == row.id:
            continue
        del session.written[_name(path)]
        severity, what = _weigh(kept.get(written[1]), written[0])
        text = f"runs {path}, which call {written[1]} {what}"
        found.append(finding("write-then-run", "ASI05", severity, row, text, (written[1], row.id)))
    return found


def _weigh(kept: Kept | None, path: str) -> tuple[str, str]:
    """How bad: by what the file holds, where that is known."""
    if kept is None:
        return LOW, "wrote"
    tool, text, cut = kept
    made = next((one for name, one in looked_at(tool, text, cut)[1].made.items() if same_file(name, path)), None)
    if made is not None and made.network:
        return HIGH, "brought in from the network"
    acts = script_acts(path, made.text) if made is not None else ()
    if acts:
        worst = min(acts, key=lambda act: SEVERITIES.index(act.severity))
        return min(MEDIUM, worst.severity, key=SEVERITIES.index), f"wrote: {worst.text}"
    return (MEDIUM, "wrote; its content was recorded in part") if cut else (LOW, "wrote")


def same_file(written: str, run: str) -> bool:
    """Can both paths mean one file? True where one ends as the other is written: folders are changed meanwhile."""
    one, other = (path.removeprefix("./") for path in (written, run))
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
