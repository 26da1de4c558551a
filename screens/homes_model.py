"""The Homes screen's memory: what is unconfirmed in several homes, in one order. No Textual."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import chain

from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import Call, utc_seconds
from ledger_tui.sources.ledger import LedgerChange

from .call_lists import SortedRows, Window
from .calls_model import CallsModel, Counts, News
from .calls_view import acted, fits
from .filter_terms import TERMS, FilterError, filter_of, split_terms

HOME = "home"
"""The term that names a home in a filter line."""

_CALM = 1e12
"""Seconds by which a call that is still within its time ranks behind every other."""

SETTLED_HELD = 100
"""Settled calls that are held of each home."""

Id = tuple[int, int]
"""Which home, and which call of it: each ledger counts its own."""


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """A call of the home at the index `home` that was not settled."""

    home: int
    call: Call

    @property
    def id(self) -> Id:
        return self.home, self.call.id


@dataclass(frozen=True, slots=True)
class HomesFilter:
    """Which calls of which homes; None is all of them."""

    homes: frozenset[int] | None = None
    calls: Filter = field(default_factory=Filter)


class HomesModel:
    """Everything the Homes screen knows. `calls` are the memories of the homes, which it keeps up; in their order
    homes are named by an index. Their views must stay those of every call."""

    def __init__(self, names: Sequence[str], calls: Sequence[CallsModel]) -> None:
        self.names, self.calls = tuple(names), tuple(calls)
        self.unconfirmed: SortedRows[Id, Unconfirmed] = SortedRows()
        """Those that are wanted: what is lost or late, the newest trouble first, then what still runs."""
        self.wanted = HomesFilter()
        self.active = [0] * len(self.calls)
        """When a call of the home last changed, in microseconds since 1970; 0 where that is not known."""
        self._latest: list[LedgerChange | None] = [None] * len(self.calls)
        self._last_tick = -math.inf

    def apply(self, home: int, change: LedgerChange) -> News:
        """Take one message of a home's ledger. Returns what is new to tell."""
        model, before = self.calls[home], self._latest[home]
        news = model.apply(change)
        self._latest[home] = change
        if change.reset or before is None:
            _hold_little(model)
            self._show_again(home)
        elif _others_judged(before, change):
            self._show_again(home)
        else:
            for call in change.calls:
                self._show(home, call.id)
        self.active[home] = max(0 if change.reset else self.active[home], *map(acted, change.calls), 0)
        return news

    def tick(self) -> Iterator[tuple[int, News]]:
        """Move what became overdue since the last tick, home by home."""
        now = max((model.now() for model in self.calls), default=0.0)
        back, self._last_tick = now < self._last_tick - 1, now
        for home, model in enumerate(self.calls):
            late = model.tick()
            if back:
                self._show_again(home)
            for call in late:
                self._show(home, call.id)
            if late:
                yield home, News(overdue=late)

    def show(self, wanted: HomesFilter) -> None:
        """Choose other calls."""
        self.wanted = wanted
        for home in range(len(self.calls)):
            self._show_again(home)

    def _show_again(self, home: int) -> None:
        for id in [row.id for row in self.unconfirmed if row.home == home]:
            self.unconfirmed.drop(id)
        for call in _unsettled(self.calls[home]):
            self._show(home, call.id)

    def _show(self, home: int, call_id: int) -> None:
        model, wanted = self.calls[home], self.wanted
        call = model.call(call_id)
        state = "" if call is None or call.settled else model.state(call)
        if call is None or not state or not (wanted.homes is None or home in wanted.homes):
            self.unconfirmed.drop((home, call_id))
        elif fits(call, state, model.judged(call), wanted.calls):
            self.unconfirmed.put(Unconfirmed(home, call), _rank(call, state, dead=model.writer_dead(call)))
        else:
            self.unconfirmed.drop((home, call_id))

    def sum(self) -> Counts:
        """The counts of all homes of which something is known."""
        known = [model.counts() for model in self.calls if not model.unknown]
        out = Counts()
        for state in ("pending", "overdue", "ghost", "confirmed", "error", "revived"):
            out.add(state, sum(getattr(counts, state) for counts in known))
        return out


def _hold_little(model: CallsModel) -> None:
    """Of settled calls, the newest few are enough to know later which are new; nobody asks for counts by session."""
    few = Window(SETTLED_HELD)
    for call in sorted(model.view.settled, key=lambda call: call.id):
        few.live(call)
    model.view.settled = few
    model.take_session_totals(())


def _others_judged(before: LedgerChange, change: LedgerChange) -> bool:
    """Does it say something of calls that it does not bring?"""
    return before.dead_writers != change.dead_writers or before.gone_through != change.gone_through


def _unsettled(model: CallsModel) -> list[Call]:
    return [*model.view.pending, *model.view.ghosts]


def _rank(call: Call, state: str, *, dead: bool) -> float:
    """By the moment at which the trouble with it began, newest first; what still runs comes after all of that."""
    at = call.at or 0.0
    if state == "ghost":
        return -(utc_seconds(call.reported_ts) or at)
    if state == "overdue":
        return -at if dead else -(at + call.grace_s)
    return _CALM - at


def so_far(model: CallsModel, latest: LedgerChange | None) -> LedgerChange | None:
    """All that `model` holds as one message, for a screen that was made after it came; None where nothing came yet."""
    if latest is None or not model.loaded:
        return None
    held = chain(_unsettled(model), model.view.settled)
    return replace(latest, reset=True, calls=tuple(sorted(held, key=lambda call: call.id)))


def parse_homes_filter(
    line: str, *, names: Sequence[str], now: float, zone: tzinfo | None, sessions: Mapping[str, str]
) -> HomesFilter:
    """Read a filter line: `home:` names one, or what some begin with; the rest is as for calls. Raises FilterError."""
    homes: frozenset[int] | None = None
    others: list[str] = []
    for term in split_terms(line):
        name, colon, value = term.partition(":")
        if not colon or name.lower() != HOME:
            others.append(term)
        elif not value:
            raise FilterError(f"'{HOME}:' needs a value: the name of a home, or its start.")
        else:
            homes = (homes or frozenset()) | _called(value, names)
    calls = filter_of(others, now=now, zone=zone, sessions=sessions, known=(HOME, *TERMS))
    return HomesFilter(homes, calls)


def _called(value: str, names: Iterable[str]) -> frozenset[int]:
    written, wanted = list(names), value.lower()
    lowered = [name.lower() for name in written]
    found = [at for at, name in enumerate(written) if name == value]  # Where two differ in nothing but that.
    found = found or [at for at, name in enumerate(lowered) if name == wanted]
    found = found or [at for at, name in enumerate(lowered) if name.startswith(wanted)]
    if not found:
        raise FilterError(f"No home is called or begins with '{value}'.")
    return frozenset(found)
