"""Who else, of the recorded calls, may have written, moved or removed what stands at a path?"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from weakref import WeakKeyDictionary

from ..queries import COLUMNS_QUERY
from ..records import utc_text
from . import effects, recorded, v4a
from .facts import COARSEST_S, CannotTellError, Facts
from .located import place_of
from .recorded import Recorded

MOST = 20_000
"""Calls that are looked at; of more it cannot be told what they did."""

MOST_QUICKLY = 1_000
"""The same where there is a deadline."""

BEFORE = 200
"""Calls before the one in question that may have ended after it began."""

MOST_UNCLEAR = 20
"""Of calls that may have done anything so many are named."""

STILL_AT_WORK_S = 120.0
"""A call without an outcome may have had its effect so long after it was issued."""

_WRITERS = frozenset({"write_file", "patch"})
_ANYTHING = frozenset({"execute_code", "process", "process_manage", "close_terminal"})
_NAME = re.compile(r"[\w.@+-]{2,}")


@dataclass(slots=True)
class Others:
    """Ids of other calls. `earlier`: may have written the path just before or beside this one; `later`: after it;
    `unclear`: came later and may have done anything; `running`: the same, come earlier and perhaps still at work;
    `beside`: may have written another entry of the same folder, or one in the path; `made`: is known to have written
    the path some time before."""

    earlier: list[Recorded] = field(default_factory=list)
    later: list[Recorded] = field(default_factory=list)
    unclear: list[Recorded] = field(default_factory=list)
    running: list[Recorded] = field(default_factory=list)
    beside: list[Recorded] = field(default_factory=list)
    made: bool = False


@dataclass(slots=True)
class _Index:
    first: int
    calls: dict[int, Recorded] = field(default_factory=dict)
    by_place: dict[str, list[int]] = field(default_factory=dict)
    by_name: dict[str, list[int]] = field(default_factory=dict)
    by_folder: dict[str, list[int]] = field(default_factory=dict)
    unclear: list[tuple[float, int]] = field(default_factory=list)
    """(time, id), in the order of time."""
    unclear_ids: list[int] = field(default_factory=list)
    """The ids of these, in their order."""
    wide: set[int] = field(default_factory=set)
    """Ids of those that run git or install something."""


_indexes: WeakKeyDictionary[Facts, _Index] = WeakKeyDictionary()


def others(call: Recorded, path: str, facts: Facts, until: float) -> Others:
    """Of all recorded calls around this one; of the unclear ones those issued `until` then, and not all of many.

    Raises CannotTellError where they cannot be looked through.
    """
    index = _index(facts, call, until)
    found = Others()
    named = {number for above in _upwards(path) for number in index.by_place.get(above, ())}
    named |= set(index.by_name.get(posixpath.basename(path), ()))
    at = call.at if call.at is not None else 0.0
    for number in sorted(named - {call.id}):
        other = index.calls[number]
        if number > call.id:
            found.later.append(other)
            continue
        if ended(other) >= at - COARSEST_S:
            found.earlier.append(other)
        found.made = found.made or (other.confirmed and other.tool_name in _WRITERS)
    for moment, number in islice(index.unclear, bisect_left(index.unclear, (at - COARSEST_S, 0)), None):
        if moment > until or len(found.unclear) == MOST_UNCLEAR:
            break
        if number > call.id:
            found.unclear.append(index.calls[number])
    begun = index.unclear_ids[bisect_left(index.unclear_ids, call.id - BEFORE) :]
    before = (index.calls[number] for number in begun[: bisect_left(begun, call.id)])
    found.running = [one for one in before if ended(one) >= at - COARSEST_S]
    beside = {number for one in (path, posixpath.dirname(path)) for number in index.by_folder.get(one, ())}
    found.beside = [index.calls[number] for number in sorted(beside - {call.id})]
    return found


def working(call: Recorded, facts: Facts, folder: str, moment: float, word: str) -> tuple[int, ...]:
    """Other calls that run git or install something in a folder, hold a word, and may have had their effect at
    `moment`; and those that may have done anything then, but for lost ones of other sessions.

    Raises CannotTellError where they cannot be looked through.
    """
    index = _index(facts, call, moment)
    there = set(index.by_place.get(folder, ()))
    near = (index.calls[number] for number in sorted({*index.wide, *index.unclear_ids}))
    return tuple(
        one.id
        for one in near
        if one.id != call.id
        and at_work(one, moment, COARSEST_S / 2)
        and (
            (one.id in there and word.lower() in one.args_text.lower())
            if one.id in index.wide
            else (one.settled_at is not None or one.session_id == call.session_id)
        )
    )


def at_work(call: Recorded, moment: float, slack: float) -> bool:
    """Can this call have had its effect at `moment`, give or take `slack`?"""
    return (call.at or 0.0) <= moment + slack and ended(call) >= moment - slack


def ended(call: Recorded) -> float:
    """The latest moment at which a call can have had its effect."""
    return call.settled_at if call.settled_at is not None else (call.at or 0.0) + STILL_AT_WORK_S


def _upwards(path: str) -> Iterator[str]:
    """The path and every folder above it: who removes or moves one of those takes it along."""
    yield path
    while path not in ("/", ""):
        path = posixpath.dirname(path)
        yield path


def _index(facts: Facts, call: Recorded, until: float) -> _Index:
    """The calls from a while before this one on; made once for all, or where time is short for this question only."""
    if facts.quick:
        at = call.at if call.at is not None else 0.0
        where = "id >= ? AND ts <= ? AND (id > ? OR settled_ts IS NULL OR settled_ts >= ?)"
        bounds = (call.id - BEFORE, utc_text(until + 1.0), call.id, utc_text(max(0.0, at - COARSEST_S)))
        return _filled(facts, call.id - BEFORE, where, bounds, MOST_QUICKLY)
    known = _indexes.get(facts)
    if known is not None and known.first <= call.id - BEFORE:
        return known
    first = call.id - BEFORE if known is None else min(call.id - BEFORE, known.first)
    _indexes[facts] = index = _filled(facts, first, "id >= ?", (first,), MOST)
    return index


def _filled(facts: Facts, first: int, where: str, bounds: tuple[object, ...], most: int) -> _Index:
    if facts.ledger is None:
        raise CannotTellError("The ledger cannot be asked what else was done.")
    columns = {row[0] for row in facts.ask(facts.ledger, facts.paths.ledger, *COLUMNS_QUERY)}
    started = " AND effect IS NOT 'none'" if "effect" in columns else ""
    query = recorded.query(columns, f"WHERE {where}{started} ORDER BY id", bounds)
    try:
        rows = facts.ask(facts.ledger, facts.paths.ledger, *query, limit=most)
    except CannotTellError as error:
        if facts.time_is_up:
            raise
        raise CannotTellError("Too many calls were recorded since to tell what each of them did.") from error
    index = _Index(first)
    for number, row in enumerate(rows):
        if not number % 50:
            facts.step()
        call = recorded.from_row(row)
        index.calls[call.id] = call
        _enter(index, call, facts)
    index.unclear.sort()
    index.unclear_ids = sorted(number for _, number in index.unclear)
    return index


def _enter(index: _Index, call: Recorded, facts: Facts) -> None:
    """File one call under what it may have touched."""
    name = call.tool_name
    if name == "terminal":
        command = call.args.get("command")
        reading = effects.read(command, folder_of(call)) if isinstance(command, str) else effects.Reading(why="cut")
        if not reading.clear or call.args_cut:
            index.unclear.append((call.at or 0.0, call.id))
        for effect in reading.effects:
            for place in (effect.path, effect.source) if effect.kind in ("move", "copy") else (effect.path,):
                _file(index, call, place, facts)
            if effect.kind in ("git", "install"):
                index.wide.add(call.id)
            if effect.kind == "git" and effect.words[:1] not in (("commit",), ("tag",), ("push",), ("add",)):
                index.unclear.append((call.at or 0.0, call.id))
    elif name in _WRITERS:
        for text in _paths(call):
            _file(index, call, text, facts)
    elif name in _ANYTHING:
        index.unclear.append((call.at or 0.0, call.id))
    elif name.startswith("mcp__"):
        for word in set(_NAME.findall(call.args_text)):
            index.by_name.setdefault(word, []).append(call.id)


def folder_of(call: Recorded) -> str:
    """Where a command of this call begins; empty where that is not known."""
    workdir = call.args.get("workdir")
    if isinstance(workdir, str) and workdir:
        return workdir if workdir.startswith("/") else ""
    return call.folder


def _paths(call: Recorded) -> list[str]:
    path, patch = call.args.get("path"), call.args.get("patch")
    found = [path] if isinstance(path, str) else []
    if isinstance(patch, str):
        found += [text for one in v4a.read(patch) for text in (one.path, one.target) if text]
    return found


def _file(index: _Index, call: Recorded, text: str, facts: Facts) -> None:
    try:
        place = str(place_of(call, facts, text))
    except CannotTellError:
        index.by_name.setdefault(posixpath.basename(text), []).append(call.id)
    else:
        index.by_place.setdefault(place, []).append(call.id)
        index.by_folder.setdefault(posixpath.dirname(place), []).append(call.id)
