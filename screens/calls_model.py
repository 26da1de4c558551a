"""The Calls screen's memory: applies changes of the ledger and says which rows stand in which pane. No Textual.

Unsettled rows are all held; settled ones as a window. Counts per session are kept up row by row, so that one new
row costs the same on a ledger of a thousand and of a million.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from agent_ledger.engine.evidence import Verdict
from agent_ledger.engine.queries import Filter
from agent_ledger.engine.records import GHOST_REPORTED, STATES, Call, age_of, state_of
from ledger_tui.sources.health import Health
from ledger_tui.sources.ledger import LedgerChange, SessionTotals, Totals

from .calls_view import View, acted, fits
from .judged import Judged, judged

SETTLED_STATES = ("confirmed", "error", "revived")


@dataclass(slots=True)
class Counts:
    """How many rows are in each of the six states, and when one last changed (microseconds since 1970)."""

    pending: int = 0
    overdue: int = 0
    ghost: int = 0
    confirmed: int = 0
    error: int = 0
    revived: int = 0
    changed: int = 0

    @property
    def rows(self) -> int:
        return self.pending + self.overdue + self.ghost + self.settled

    @property
    def settled(self) -> int:
        return self.confirmed + self.error + self.revived

    def add(self, state: str, amount: int) -> None:
        setattr(self, state, getattr(self, state) + amount)


@dataclass(frozen=True, slots=True)
class News:
    """What a person should be told: calls that just became overdue, and ghosts that were just reported."""

    overdue: tuple[Call, ...] = ()
    ghosts: tuple[Call, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.overdue or self.ghosts)


class CallsModel:
    """Everything the Calls screen knows. `clock` gives seconds since 1970, `mono` the monotonic clock."""

    def __init__(
        self,
        clock: Callable[[], float],
        mono: Callable[[], float],
        unkept: Mapping[int, Verdict] = MappingProxyType({}),
    ) -> None:
        """`unkept`: verdicts that could not be stored beside their calls."""
        self._clock, self._mono, self._unkept = clock, mono, unkept
        self.view = View()
        self.totals = Totals()
        self.health = Health()
        self.sessions: dict[str, Counts] = {}
        self.tools: set[str] = set()
        self.loaded = False
        """Has the ledger been read at least once?"""
        self._unsettled: dict[int, Call] = {}
        self._states: dict[int, str] = {}
        self._overdue = 0
        self._catching_up = False
        self._lowest_id = 0
        self._deadlines: list[tuple[float, int]] = []
        self._dead: frozenset[int] = frozenset()
        self._same_boot: frozenset[int] = frozenset()
        self._heard_through = 0
        # Rows come in the order of their change, so a lower id may be news after a higher one within one reading.
        self._fresh: set[int] = set()
        self._base: dict[str, int] | None = None
        self._settled_log: list[Call] = []
        self._last_tick = -math.inf

    # Time

    def age(self, call: Call) -> float | None:
        """Seconds since the call was issued; the smaller of both clocks where its writer runs on this boot."""
        return age_of(call, now=self._clock(), mono_now=self.mono_for(call))

    def mono_for(self, call: Call) -> float | None:
        """The monotonic clock, where it is the one by which the call was stamped."""
        return self._mono() if call.writer_id in self._same_boot else None

    def state(self, call: Call) -> str:
        """The one state of the row at this moment."""
        return state_of(call, age_s=self.age(call), writer_dead=self.writer_dead(call))

    def writer_dead(self, call: Call) -> bool:
        return call.writer_id in self._dead

    def remaining(self, call: Call) -> float | None:
        """Seconds until a pending call counts as lost; None where it never does by time, or its time is unknown."""
        if call.settled or call.status == GHOST_REPORTED or call.no_signal or self.writer_dead(call):
            return None
        age = self.age(call)
        return None if age is None else call.grace_s - age

    def tick(self) -> tuple[Call, ...]:
        """Move what became overdue since the last tick; costs what became overdue."""
        now = self._clock()
        if now < self._last_tick - 1:
            self._rebuild()
        self._last_tick = now
        late: list[Call] = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, call_id = heapq.heappop(self._deadlines)
            call = self._unsettled.get(call_id)
            if call is None or self._states.get(call_id) != "pending":
                continue
            if self.state(call) == "overdue":
                self._move(call, "overdue")
                late.append(call)
            else:
                self._watch_deadline(call)
        return tuple(late)

    # Changes of the ledger

    def apply(self, change: LedgerChange) -> News:
        """Take one message of the source. Returns what is new to tell; nothing on a first or whole reading."""
        if change.reset or not self.loaded:
            self._forget()
            self._catching_up = self.loaded = True
        writers_changed = change.dead_writers != self._dead
        self._dead, self._same_boot = change.dead_writers, change.same_boot_writers
        self.totals, self.health = change.totals, change.health
        overdue: list[Call] = []
        ghosts: list[Call] = []
        for call in change.calls:
            before = self._states.get(call.id)
            state = self._take(call)
            if state == "ghost" and before != "ghost":
                ghosts.append(call)
            elif state == "overdue" and before == "pending":
                overdue.append(call)
        if not change.more:
            self._heard_through = max(self._heard_through, max(self._fresh, default=0))
            self._fresh.clear()
        self._drop_before(change.gone_through)
        if writers_changed:
            overdue += self._bury()
        # What a first or whole reading brings is old news, also where it takes several messages.
        quiet = self._catching_up
        self._catching_up = self._catching_up and change.more
        return News() if quiet else News(tuple(overdue), tuple(ghosts))

    def _take(self, call: Call) -> str:
        state = self.state(call)
        held = self._unsettled.get(call.id)
        if held is not None and held.changed > call.changed:
            return self._states[call.id]
        session = self.session(call)
        session.changed = max(session.changed, acted(call))
        if call.tool_name not in self.tools:
            self.tools.add(call.tool_name)
        is_new = call.id > self._heard_through and call.id not in self._fresh
        if is_new:
            self._fresh.add(call.id)
        if not call.settled:
            self._unsettled[call.id] = call
            self._move(call, state)
            if state == "pending":
                self._watch_deadline(call)
            return state
        if held is not None:
            self._remove(held)
        if held is not None or is_new:
            self._count_settled(call, state)
        if self.matches(call, state):
            self.view.settled.live(call)
        else:
            self.view.settled.drop(call.id)
        return state

    def session(self, call: Call) -> Counts:
        """The counts of the call's session; rows without one share the empty name."""
        return self.sessions.setdefault(call.session_id or "", Counts())

    def _count(self, call: Call, state: str, amount: int) -> None:
        self.session(call).add(state, amount)
        if state == "overdue":
            self._overdue += amount

    def _move(self, call: Call, state: str) -> None:
        """Put an unsettled row into a state: counts, and the pane it belongs to."""
        before = self._states.get(call.id)
        if before != state:
            if before is not None:
                self._count(call, before, -1)
            self._count(call, state, 1)
            self._states[call.id] = state
        self._show(call, state)

    def _show(self, call: Call, state: str) -> None:
        view = self.view
        wanted = self.matches(call, state)
        if state == "ghost":
            view.pending.drop(call.id)
        for rows, mine in ((view.ghosts, state == "ghost"), (view.pending, state != "ghost")):
            if mine and wanted:
                rows.put(call, self._rank(call, state))
            elif mine:
                rows.drop(call.id)

    def _rank(self, call: Call, state: str) -> float:
        """Ghosts newest first; of the pending what is lost already first, then what will be lost next."""
        if state == "ghost":
            return -call.id
        if call.no_signal:
            return math.inf
        at = call.at or 0.0
        return at if self.writer_dead(call) else at + call.grace_s

    def _remove(self, call: Call) -> None:
        state = self._states.pop(call.id, None)
        self._unsettled.pop(call.id, None)
        if state is not None:
            self._count(call, state, -1)
        self.view.pending.drop(call.id)
        self.view.ghosts.drop(call.id)

    def _watch_deadline(self, call: Call) -> None:
        remaining = self.remaining(call)
        if remaining is not None:
            # Overdue begins after the grace, not at its last instant.
            heapq.heappush(self._deadlines, (self._clock() + max(0.0, remaining) + 0.001, call.id))
            if len(self._deadlines) > 2 * len(self._unsettled) + 100:
                # Most of them are of calls that settled in time.
                waiting = {id: (at, id) for at, id in self._deadlines if self._states.get(id) == "pending"}
                self._deadlines = sorted(waiting.values())

    def _bury(self) -> list[Call]:
        """Rows whose writer turned out to be dead (or alive after all) change their state at once."""
        late = []
        for call in list(self._unsettled.values()):
            before, state = self._states[call.id], self.state(call)
            if before != state:
                self._move(call, state)
                if state == "overdue":
                    late.append(call)
        return late

    def _rebuild(self) -> None:
        """The clock went back: judge every unsettled row anew."""
        self._deadlines.clear()
        for call in self._unsettled.values():
            state = self.state(call)
            self._move(call, state)
            if state == "pending":
                self._watch_deadline(call)

    def _drop_before(self, lowest: int | None) -> None:
        """Forget rows that were pruned from the ledger; `lowest` is the first id that is still there."""
        if lowest is None or lowest <= self._lowest_id:
            return
        self._lowest_id = lowest
        for gone in [call for call in self._unsettled.values() if call.id < lowest]:
            self._remove(gone)
        self.view.settled.drop_through(lowest - 1)

    def _forget(self) -> None:
        wanted = self.view.wanted
        self.view = View(wanted)
        self.sessions.clear()
        self._unsettled.clear()
        self._states.clear()
        self._deadlines.clear()
        self._settled_log.clear()
        self._base = None
        self._heard_through = self._lowest_id = self._overdue = 0
        self._fresh.clear()

    # Counts per session

    def _count_settled(self, call: Call, state: str) -> None:
        if self._base is None:
            self._settled_log.append(call)
        elif call.changed > self._base.get(call.session_id or "", 0) or not call.changed:
            self.session(call).add(state, 1)

    def take_session_totals(self, sessions: Iterable[SessionTotals]) -> None:
        """Counts of settled rows as the ledger held them; rows seen settled after that reading are added.

        Pending and ghost counts are not taken from it: those rows are all here.
        """
        base: dict[str, int] = {}
        for counts in self.sessions.values():
            counts.confirmed = counts.error = counts.revived = 0
        for item in sessions:
            counts = self.sessions.setdefault(item.session_id, Counts())
            counts.confirmed, counts.error, counts.revived = item.confirmed, item.error, item.revived
            counts.changed = max(counts.changed, item.changed)
            base[item.session_id] = item.changed
        self._base = base
        log, self._settled_log = self._settled_log, []
        for call in log:
            if call.changed:
                self._count_settled(call, self.state(call))

    @property
    def sessions_known(self) -> bool:
        """Are the per-session counts of settled rows there yet?"""
        return self._base is not None

    def sessions_drifted(self) -> bool:
        """Do the counts by session and the ledger's own totals disagree? After a pruning, or a foreign writer."""
        if self._base is None:
            return False
        settled = sum(counts.settled for counts in self.sessions.values())
        return settled != self.totals.confirmed + self.totals.error + self.totals.revived

    def recount_sessions(self) -> None:
        """Start over with per-session counts; `take_session_totals` completes it."""
        self._base = None
        self._settled_log.clear()

    @property
    def unknown(self) -> bool:
        """Is nothing known of the calls, as the ledger cannot be read and nothing of it is held?"""
        return self.health.state not in ("ok", "degraded", "missing") and not self.totals.rows

    def counts(self, session_id: str | None = None) -> Counts:
        """Counts of one session, or of the whole ledger."""
        if session_id is not None:
            return self.sessions.get(session_id, Counts())
        totals = self.totals
        return Counts(
            max(0, totals.pending - self._overdue),
            self._overdue,
            totals.ghost,
            totals.confirmed,
            totals.error,
            totals.revived,
        )

    # The view

    def now(self) -> float:
        return self._clock()

    def matches(self, call: Call, state: str) -> bool:
        """Does the row belong to what is wanted?"""
        return fits(call, state, self.judged(call), self.view.wanted)

    def judged(self, call: Call) -> Judged | None:
        """Whether it landed, as far as somebody has looked."""
        return judged(call, self._unkept)

    def unsettled_in_view(self) -> list[int]:
        """Ids of the unconfirmed calls that the view shows, in order."""
        return sorted(call.id for rows in (self.view.pending, self.view.ghosts) for call in rows)

    def verdicts_changed(self, ids: Iterable[int]) -> None:
        """Verdicts of these calls came that the ledger does not hold: they may belong into the view now, or not."""
        for call in [self._unsettled[call_id] for call_id in ids if call_id in self._unsettled]:
            self._show(call, self._states[call.id])

    def show(self, wanted: Filter) -> None:
        """Choose other rows. Settled ones that are held and match stand in until the first page arrives."""
        held = [call for call in self.view.settled if self.view.settled.at_newest]
        self.view = View(wanted)
        for call in self._unsettled.values():
            self._show(call, self._states[call.id])
        for call in held:
            if self.matches(call, self.state(call)):
                self.view.settled.live(call)

    def settled_filter(self) -> Filter | None:
        """The filter by which settled rows are fetched; None where no settled row is wanted at all."""
        states = self.view.wanted.states if self.view.wanted.states is not None else frozenset(STATES)
        settled = states & frozenset(SETTLED_STATES)
        return replace(self.view.wanted, states=settled) if settled else None

    def call(self, call_id: int) -> Call | None:
        """A row that is held, in its newest version."""
        return self._unsettled.get(call_id) or self.view.settled.get(call_id)
