"""What `status` says of several homes: a table of all, then each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from ledger_tui.commands.output import amount, table
from ledger_tui.commands.place import Place

COUNTED = ("rows", "pending", "overdue", "ghost", "error")
"""Of the ledger's counts, those that stand in the table."""

HEAD = ("NAME", "CALLS", *(name.upper() for name in COUNTED[1:]), "LOST SESSIONS", "GATEWAY")

Found = Sequence[tuple[Place, Mapping[str, Any] | None]]
"""Each home with its `status --json`, or None where it could not be read."""

_RUNNING = {True: "running", False: "not running", None: "unknown"}


def overview(found: Found, *, width: int) -> list[str]:
    """The table: a line a home, in the order in which they were asked for. `?` is what nobody could tell.

    Where not all of it fits, the last columns are left out; each home says the same below.
    """
    rows = [(place.name, *(_cells(shape) if shape else ("?",) * (len(HEAD) - 1))) for place, shape in found]
    for count in (len(HEAD), len(HEAD) - 1, len(HEAD) - 2):
        lines = table(HEAD[:count], [row[:count] for row in rows], width=width, flexible=0)
        if max(map(cell_len, lines)) <= width:
            break
    return lines


def _cells(shape: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (str(shape["ledger"][name]) for name in COUNTED)
    lost = lost_sessions(shape)
    return (*counts, "?" if lost is None else str(lost), _RUNNING[shape["gateway"]["running"]])


def lost_sessions(shape: Mapping[str, Any]) -> int | None:
    """Sessions that lost their chat, except those set aside; None where that was not worked out."""
    orphans = shape["sessions"]["orphans"]
    return None if orphans is None else orphans - shape["sessions"]["set_aside"]


def spoken(found: Found) -> Iterator[str]:
    """The table as one sentence a home, to be read aloud."""
    for place, shape in found:
        if shape is None:
            yield f"{place.name} cannot be read."
            continue
        counts = ", ".join(f"{shape['ledger'][name]} {name}" for name in COUNTED[1:])
        lost = lost_sessions(shape)
        sessions = "lost sessions not worked out" if lost is None else amount(lost, "lost session")
        running = f"gateway {_RUNNING[shape['gateway']['running']]}"
        yield f"{place.name}: {amount(shape['ledger']['rows'], 'call')}, {counts}, {sessions}, {running}."


def blocks(found: Found, as_text: Callable[[Mapping[str, Any]], list[str]]) -> Iterator[str]:
    """Each home that could be read as `status` shows it, under its name, an empty line before each."""
    for place, shape in found:
        if shape is not None:
            yield from ("", f"name      {place.name}", *as_text(shape))
