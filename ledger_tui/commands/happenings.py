"""What happened to the calls of a ledger, one event each, worked out from one reading after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_ledger.engine.records import GHOST_REPORTED, PENDING, Call, age_of, state_of, utc_text
from ledger_tui.commands.reading import call_row

_REMEMBERED = 50_000

Event = dict[str, Any]
"""`{at, kind, ...}` and the fields of the call: `at` is ISO 8601 in UTC."""


class Change(Protocol):
    """What is needed of a `LedgerChange`."""

    @property
    def reset(self) -> bool: ...
    @property
    def calls(self) -> tuple[Call, ...]: ...
    @property
    def dead_writers(self) -> frozenset[int]: ...
    @property
    def same_boot_writers(self) -> frozenset[int]: ...
    @property
    def more(self) -> bool: ...


@dataclass
class Happenings:
    """Feed it every change, and `tick` once a second: some things happen only by time passing.

    What stands in the ledger at the first reading is where it starts from, not news.
    """

    clock: Callable[[], float]
    mono_clock: Callable[[], float]
    _begun: float = field(init=False)
    _first: bool = field(default=True, init=False)
    _open: dict[int, Call] = field(default_factory=dict, init=False)
    _overdue: set[int] = field(default_factory=set, init=False)
    _settled: dict[int, object] = field(default_factory=dict, init=False)
    _highest: int = field(default=0, init=False)
    _dead: frozenset[int] = field(default=frozenset(), init=False)
    _same_boot: frozenset[int] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        self._begun = self.clock()

    def take(self, change: Change) -> Iterator[Event]:
        """The events of one reading, in the order in which they happened as far as the ledger tells."""
        self._dead, self._same_boot = change.dead_writers, change.same_boot_writers
        if change.reset and not self._first:
            self._forget_other_file(change.calls)
        for call in change.calls:
            if self._first:
                self._remember(call)
            else:
                yield from self._compare(call, by_time=change.reset)
        if self._first:
            self._overdue = {number for number, call in self._open.items() if self._is_overdue(call)}
            self._first = change.more
            return
        yield from self.tick()

    def tick(self) -> Iterator[Event]:
        """What became overdue since the last look, by the clock or because its process died."""
        for number, call in list(self._open.items()):
            if number not in self._overdue and self._is_overdue(call):
                self._overdue.add(number)
                yield self._event("overdue", call, None)

    def _is_overdue(self, call: Call) -> bool:
        age = age_of(call, now=self.clock(), mono_now=self._mono(call))
        return state_of(call, age_s=age, writer_dead=call.writer_id in self._dead) == "overdue"

    def _mono(self, call: Call) -> float | None:
        return self.mono_clock() if call.writer_id in self._same_boot else None

    def _forget_other_file(self, calls: Iterable[Call]) -> None:
        """Another file may give the same numbers to other calls."""
        for call in calls:
            known = self._open.get(call.id)
            if (known is not None and known.ts != call.ts) or self._settled.get(call.id, call.ts) != call.ts:
                self._open.clear()
                self._overdue.clear()
                self._settled.clear()
                self._highest = 0
                return

    def _compare(self, call: Call, *, by_time: bool) -> Iterator[Event]:
        before = self._open.get(call.id)
        known = before is not None or call.id in self._settled
        new = not known and (call.id > self._highest if not by_time else (call.at or 0.0) >= self._begun)
        settled_already = call.id in self._settled
        self._remember(call)
        if new and call.closed_by != "no-pre":
            yield self._event("issued", call, call.ts)
        if not new and before is None:
            return
        if call.status == GHOST_REPORTED and (before is None or before.status == PENDING):
            yield self._event("ghost", call, call.reported_ts)
        elif call.settled and not settled_already:
            yield self._event("revived" if call.reported_ts is not None else "settled", call, call.settled_ts)

    def _remember(self, call: Call) -> None:
        self._highest = max(self._highest, call.id)
        self._open.pop(call.id, None)
        self._settled.pop(call.id, None)
        if call.settled:
            self._settled[call.id] = call.ts
            self._overdue.discard(call.id)
            if len(self._settled) > _REMEMBERED:
                del self._settled[next(iter(self._settled))]
        else:
            self._open[call.id] = call

    def _event(self, kind: str, call: Call, at: str | None) -> Event:
        dead = True if call.writer_id in self._dead else None
        row = call_row(call, now=self.clock(), mono_now=self._mono(call), writer_dead=dead)
        return {"at": at or utc_text(self.clock()), "kind": kind, **row}
