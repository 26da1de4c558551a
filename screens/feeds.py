"""What screens need of the two sources, and the desk on which the app lays it for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from textual.signal import Signal

    from agent_ledger.engine.chain.report import Checked
    from agent_ledger.engine.evidence import Verdict
    from agent_ledger.engine.posture.rows import RawRow
    from agent_ledger.engine.queries import Filter
    from agent_ledger.engine.records import Call
    from ledger_tui.routing.live import LiveSurvey, SurveyChange
    from ledger_tui.sources.ledger import LedgerChange, SessionTotals
    from ledger_tui.sources.policy_files import PolicyFiles
    from ledger_tui.sources.record import Watch
    from ledger_tui.sources.refusals import RefusalChange
    from ledger_tui.sources.state import StateChange
    from ledger_tui.sources.verdicts import Outcome, Search


class LedgerFeed(Protocol):
    """The ledger as the screens see it; `ledger_tui.sources.LedgerSource` is the one there is."""

    def changes(self) -> AsyncIterator[LedgerChange]: ...

    async def page(
        self, wanted: Filter, *, before_id: int | None = None, after_id: int | None = None, limit: int = 200
    ) -> list[Call]: ...

    async def call(self, id: int) -> Call | None: ...

    async def same_calls(self, id: int) -> list[Call]: ...

    async def session_totals(self) -> list[SessionTotals]: ...

    async def tool_names(self) -> Collection[str]: ...


class RowFeed(Protocol):
    """Every row in order, for scoring; `ledger_tui.sources.scored_rows.RowSource` is the one there is."""

    async def start(self) -> None: ...

    async def rotations(self) -> list[tuple[str, str]]: ...

    async def page(self, after_id: int) -> list[RawRow]: ...


class RefusalFeed(Protocol):
    """What the policies decided; `ledger_tui.sources.refusals.RefusalSource` is the one there is."""

    def changes(self) -> AsyncIterator[RefusalChange]: ...


class VerdictFeed(Protocol):
    """Looks for what lost calls left behind; `ledger_tui.sources.verdicts.VerdictSource` is the one there is."""

    @property
    def unkept(self) -> Mapping[int, Verdict]: ...

    def forget(self) -> None: ...

    async def verify(self, ids: Sequence[int], search: Search) -> Outcome: ...


class RecordFeed(Protocol):
    """Checks the hash chain; `ledger_tui.sources.record.RecordSource` is the one there is."""

    async def check(self, watch: Watch) -> Checked: ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What every screen is given: sources, signals of their changes, clocks, and where things lie."""

    ledger: LedgerFeed
    rows: RowFeed
    refusals: RefusalFeed
    """For one listener at a time."""
    verdicts: VerdictFeed
    policy_files: PolicyFiles
    ledger_changed: Signal[LedgerChange]
    state_changed: Signal[StateChange]
    lineage: LiveSurvey
    """Says who looks at the sessions as a whole: they are read only then."""
    lineage_changed: Signal[SurveyChange]
    store_at_rest: Callable[[], AbstractAsyncContextManager[None]]
    """While it is open, the app itself reads nothing of the session store, for somebody writes to it."""
    clock: Callable[[], float]
    mono: Callable[[], float]
    zone: tzinfo | None
    """The person's time zone; None is the system's."""
    latest: Callable[[], LedgerChange | None]
    """The newest change of the ledger, for a screen that was made after it."""
    so_far: Callable[[], LedgerChange | None]
    """All that is known of the ledger as one message, for a screen that was made after it came."""
    latest_state: Callable[[], StateChange | None]
    """The newest change of the host's sessions, for a screen that was made after it."""
    titles: Mapping[str, str]
    """Titles of sessions, by id; always the newest."""
    tells: bool = True
    """Does the Calls screen tell of calls that were lost? Where several homes stand side by side, their screen does."""
    label: str = ""
    """What stands beside every screen's name, so that nobody takes a simulation for the real thing."""
    shipped: str = ""
    """Name of a ledger that another machine shipped: nothing else of its home is here. Empty for a home that is."""
