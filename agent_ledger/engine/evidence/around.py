"""The calls around one call: who else may have made what is there, and who may have taken away what is not."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ..queries import COLUMNS_QUERY
from ..secret_values import MARK
from ..tools import only_looks
from . import recorded
from .facts import COARSE_S, CannotTellError, Facts
from .recorded import Recorded
from .verdict import quoted

_T = TypeVar("_T")

SOON_S = 2.0
"""An effect that shows up within so long of its call, and that no other call explains, is taken for that call's: no
person is so quick. What shows up later may be a person's."""

LATE_S = 600.0
"""So late a call that nobody heard of again may still take effect."""

UNSEEN_S = 60.0
"""Where recorded calls wrote the same place so shortly before and after, nobody else is taken to have come between."""

BEFORE = 300
"""Calls before a call that are looked at too: one that hung may have landed after it."""

MOST = 20_000

HANDS = ("terminal", "execute_code", "process", "process_manage", "write_file", "patch")
"""Tools by which an agent could have done by hand what another tool does."""

_GAVE_UP = ("ERROR:timeout", "ERROR:cancelled")


def issued(call: Recorded) -> float:
    """When the call was issued. Raises CannotTellError where the row holds no time."""
    if call.at is None:
        raise CannotTellError("The time of this call is not recorded, so nothing can be matched to it.")
    return call.at


def may_be_of(call: Recorded, moment: float, grain: float = 0.0, soon: float = SOON_S) -> bool:
    """Is `moment` when this call would have taken effect? `grain`: to how many seconds that time was rounded down."""
    if call.at is None or moment + grain < call.at - COARSE_S:
        return False
    settled = call.settled_at if not call.unsettled else None
    return moment <= max(settled or call.at, call.at) + soon


def may_explain(other: Recorded, moment: float, grain: float = 0.0, *, alike: bool = False) -> bool:
    """Could that other call have done something at `moment`? `alike`: it asked for the very same, so in doubt yes."""
    if other.effect == "none":
        return False
    if other.at is None:
        return True
    if moment + grain < other.at - COARSE_S:
        return False
    if other.status in _GAVE_UP:
        return moment <= max(other.settled_at or 0.0, other.at) + LATE_S
    if other.unsettled or other.settled_at is None:
        return moment <= other.at + (LATE_S if alike else SOON_S)
    return moment <= other.settled_at + COARSE_S


def explained(others: Iterable[Recorded], moment: float, grain: float = 0.0) -> bool:
    """Is there a confirmed call that did something at `moment`?"""
    return any(other.confirmed and may_explain(other, moment, grain) for other in others)


@dataclass(frozen=True, slots=True)
class LastWrite:
    """What the last write of a store says about one call. All of it worked out from times, none of it from content."""

    before: bool
    """The store was last written before the call: the call wrote nothing to it."""
    ours: bool
    """It was last written when this call would have done it, and no other recorded call can have done that."""
    known: bool
    """It was last written soon after the call, by a recorded call: nobody unknown can have come between."""


def untouched() -> LastWrite:
    """Of a store that was not written since the call."""
    return LastWrite(True, False, False)


def last_write(call: Recorded, moment: float, others: Sequence[Recorded], grain: float = 0.0) -> LastWrite:
    """`moment`: when the store was last written; `others`: every other call that may have written it."""
    at = issued(call)
    before = moment + grain < at - COARSE_S
    rivals = [other for other in others if may_explain(other, moment, grain)]
    known = not before and moment - at <= UNSEEN_S and explained(others, moment, grain)
    return LastWrite(before, may_be_of(call, moment, grain) and not rivals, known)


def chosen(call: Recorded, facts: Facts, name: str, choices: Iterable[str]) -> str:
    """Which of `choices` the argument was, also where the arguments were cut; empty for none of them."""
    given = call.args.get(name)
    if isinstance(given, str):
        given = given.strip().lower()
        return given if given in choices else ""
    if name in call.value_hashes and facts.key is not None:
        return next((choice for choice in choices if facts.is_value(call, name, choice)), "")
    return ""


def reads_as(kept: str, text: str) -> bool:
    """Is `kept` how the ledger may hold `text`, with secrets taken out of it? Blanks at the ends count for nothing."""
    parts, text = kept.strip().split(MARK), text.strip()
    if len(parts) == 1:
        return parts[0] == text
    at, end = len(parts[0]), len(text) - len(parts[-1])
    if not (text.startswith(parts[0]) and text.endswith(parts[-1])):
        return False
    for part in parts[1:-1]:
        found = text.find(part, at + 1, end)
        if found < 0:
            return False
        at = found + len(part)
    return at < end  # A secret has at least one character.


def harmless(other: Recorded, looks: re.Pattern[str] | None = None) -> bool:
    """Is this a command that only looks, by itself or by a pattern that the whole of it must match?"""
    command = other.text("command")
    if other.tool_name != "terminal" or command is None:
        return False
    if only_looks("terminal", other.args_text):
        return True
    return looks is not None and looks.fullmatch(command.strip()) is not None


class Around:
    """Other recorded calls of some tools, read once per window on a home."""

    def __init__(self) -> None:
        self._read: dict[tuple[tuple[str, ...], str], tuple[int, list[Recorded]]] = {}

    def others(
        self,
        facts: Facts,
        call: Recorded,
        tools: tuple[str, ...],
        word: str = "",
        looks: re.Pattern[str] | None = None,
    ) -> list[Recorded]:
        """Calls of `tools` but this one, oldest first, without those that only look; with `word` only those whose
        arguments may hold it. `looks`: see `harmless`, the same for each word.

        Raises CannotTellError where the ledger cannot be asked or holds too many.
        """
        start = max(0, call.id - BEFORE)
        known = self._read.get((tools, word))
        if known is None or start < known[0]:
            start_at = max(0, start - 10 * BEFORE)
            found = [other for other in _ask(facts, tools, word, start_at) if not harmless(other, looks)]
            known = self._read[(tools, word)] = (start_at, found)
        found = known[1][bisect_right(known[1], start, key=lambda other: other.id) :]
        return [other for other in found if other.id != call.id]


def _ask(facts: Facts, tools: tuple[str, ...], word: str, after: int) -> list[Recorded]:
    if facts.ledger is None:
        raise CannotTellError("The ledger cannot be asked what else was done.")
    path = facts.paths.ledger
    columns = {str(row[0]) for row in facts.ask(facts.ledger, path, *COLUMNS_QUERY)}
    where = f"WHERE id > ? AND tool_name IN ({', '.join('?' * len(tools))})"
    params: list[object] = [after, *tools]
    if word:
        cut = " OR args_cut" if "args_cut" in columns else ""
        where += f" AND (instr(lower(args_json), ?) > 0{cut})"
        params.append(word.lower())
    sql, bound = recorded.query(columns, f"{where} ORDER BY id", params)
    try:
        rows = facts.ask(facts.ledger, path, sql, bound, limit=MOST)
    except CannotTellError as error:
        if facts.time_is_up:
            raise
        raise CannotTellError("Too many calls were recorded since to tell what they did.") from error
    return [recorded.from_row(row) for row in rows]


_ONCE: WeakKeyDictionary[Facts, dict[object, Any]] = WeakKeyDictionary()


def once(facts: Facts, key: object, read: Callable[[], _T]) -> _T:
    """What `read` gives, asked once for all calls that are looked at through this window on a home."""
    known = _ONCE.setdefault(facts, {})
    if key not in known:
        known[key] = read()
    found: _T = known[key]
    return found


def others(
    facts: Facts, call: Recorded, tools: tuple[str, ...], word: str = "", looks: re.Pattern[str] | None = None
) -> list[Recorded]:
    """`Around.others` for this window on a home."""
    return once(facts, Around, Around).others(facts, call, tools, word, looks)


def stayed(facts: Facts, folders: Iterable[Path], moment: float) -> None:
    """Raise CannotTellError where one of these folders was moved to its place, or put back there, since `moment`."""
    for folder in folders:
        if facts.look(folder).put_back_since(moment):
            raise CannotTellError(f"{quoted(folder)} was moved there or put back since: what it held is not known.")


def folder_time(facts: Facts, folder: Path) -> float:
    """When a name was last made, renamed or removed in a folder; where it is not there, in the one above that is."""
    while True:
        place = facts.look(folder)
        if place.exists:
            break
        if folder == facts.home or folder.parent == folder:
            raise CannotTellError("The home itself is not there.")
        folder = folder.parent
    if place.kind != "folder":
        raise CannotTellError(f"{quoted(folder)} is no folder of its own.")
    return max(place.modified, place.changed)  # A backup put back keeps the time of its last change.
