"""One home as the app holds it: its sources, the signals of their changes, and the desk that its screens get."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, Protocol

from textual.app import App
from textual.signal import Signal
from textual.worker import Worker, WorkerError

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import Inert, utc_seconds
from ledger_tui.routing.live import LiveSurvey, SurveyChange
from ledger_tui.sources.guard import STALE
from ledger_tui.sources.health import OK, Health
from ledger_tui.sources.ledger import LedgerChange, LedgerSource
from ledger_tui.sources.policy_files import PolicyFiles
from ledger_tui.sources.record import RecordSource
from ledger_tui.sources.refusals import RefusalSource
from ledger_tui.sources.scored_rows import RowSource
from ledger_tui.sources.state import StateChange, StateSource
from ledger_tui.sources.verdicts import VerdictSource
from screens.calls_model import CallsModel
from screens.feeds import Desk
from screens.homes_model import so_far
from widgets.look import clock_text, fit

NAME_SHOWN = 20
"""Cells that a home's name may have beside a screen's."""


class Shipped(Protocol):
    """A ledger that another machine shipped, in the throw-away home that it was brought into."""

    @property
    def name(self) -> Inert: ...

    @property
    def host(self) -> Inert:
        """The machine that shipped it."""

    @property
    def shipped(self) -> Inert:
        """When it was shipped last, as UTC."""

    def following(self, told: Callable[[str], None]) -> AbstractContextManager[object]:
        """Keeps it as it is at the engine. `told` hears of a trouble, and an empty text when it is over, in a thread
        of its own."""


_LOOK_S = 1.0
"""How often it is asked whether something was shipped since."""

_SHOWN_BEFORE = "What is shown was brought before, and is tried again until this is over:"


@dataclass(frozen=True, slots=True)
class Home:
    """Which home is meant, or which ledger and store apart from it."""

    paths: Paths
    ledger: Path | None = None
    state: Path | None = None
    name: str = ""
    """What it is called beside other homes, inert; empty where it is the only one."""
    shipped: Shipped | None = None
    """Set where the ledger was brought from an engine."""


class HomeFeeds:
    """The feeds of one home. Nothing is opened before `opened`, and nothing is followed before `follow`."""

    def __init__(
        self,
        app: App[Any],
        home: Home,
        *,
        clock: Callable[[], float],
        mono: Callable[[], float],
        zone: tzinfo | None,
        label: str,
    ) -> None:
        self._app = app
        self.name, self._shipped = home.name, home.shipped
        shown = home.name or (home.shipped.host if home.shipped is not None else "")
        self._engine_trouble = ""
        self._own_health = Health()
        """That of the file, whatever is wrong with the engine that it comes from."""
        paths = home.paths
        self.folder = str(paths.home) if home.shipped is None else home.shipped.name
        """Where it is, as a person is told of it."""
        self.ledger_source = LedgerSource(paths, ledger=home.ledger, clock=clock)
        self.state_source = StateSource(paths, state=home.state, clock=clock)
        ledger, state = self.ledger_source.path, self.state_source.path
        self.ledger = ledger
        self.row_source = RowSource(ledger, clock=clock)
        self.refusal_source = RefusalSource(ledger, clock=clock)
        self.verdict_source = VerdictSource(paths, ledger=ledger, state=state, clock=clock)
        self.record_source = RecordSource(ledger, copied=home.shipped is not None)
        self.lineage = LiveSurvey(state, paths.home, paths.data, clock=clock, mono=mono)
        self.ledger_changed: Signal[LedgerChange] = Signal(app, "ledger")
        self.state_changed: Signal[StateChange] = Signal(app, "state")
        self.lineage_changed: Signal[SurveyChange] = Signal(app, "lineage")
        self.calls = CallsModel(clock, mono, self.verdict_source.unkept)
        """What is known of its calls; kept up by the screen of the homes, where there is one."""
        self.latest: LedgerChange | None = None
        self._latest_state: StateChange | None = None
        self._titles: dict[str, str] = {}
        self._state_follower: Worker[None] | None = None
        self.desk = Desk(
            ledger=self.ledger_source,
            rows=self.row_source,
            refusals=self.refusal_source,
            verdicts=self.verdict_source,
            policy_files=PolicyFiles(paths),
            ledger_changed=self.ledger_changed,
            state_changed=self.state_changed,
            lineage=self.lineage,
            lineage_changed=self.lineage_changed,
            store_at_rest=self._store_at_rest,
            clock=clock,
            mono=mono,
            zone=zone,
            latest=lambda: self.latest,
            so_far=lambda: so_far(self.calls, self.latest),
            latest_state=lambda: self._latest_state,
            titles=self._titles,
            tells=not self.name,
            label=f"{fit(shown, NAME_SHOWN).rstrip()} {label}".strip() if shown else label,
            shipped=home.shipped.name if home.shipped is not None else "",
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Its sources, open for as long as the app may run. They are closed after it, whatever happened."""
        async with AsyncExitStack() as stack:
            for source in (self.ledger_source, self.row_source, self.refusal_source, self.state_source):
                await stack.enter_async_context(source)
            stack.push_async_callback(self.verdict_source.end)
            if self._shipped is not None:
                stack.enter_context(self._shipped.following(_in_loop(self._engine_told)))
            yield

    def follow(self) -> None:
        """Hand on every change from now on, until the app ends."""
        self._app.run_worker(self._follow_ledger(), group="ledger")
        if self._shipped is not None:  # Then there is no store of sessions.
            self._app.run_worker(self._follow_shipping(self._shipped), group="shipping")
            return
        self._state_follower = self._app.run_worker(self._follow_state(), group="state")
        self._app.run_worker(self._follow_lineage(), group="lineage")

    async def _follow_ledger(self) -> None:
        """Every change of the ledger. What goes wrong there is told by the change's own health."""
        async for change in self.ledger_source.changes():
            self._own_health = change.health
            self._publish(change)

    def _publish(self, change: LedgerChange) -> None:
        if change.health.state == OK and self._engine_trouble:
            told = f"{_SHOWN_BEFORE} {self._engine_trouble}"
            change = replace(change, health=replace(change.health, state=STALE, text=told))
        elif change.health.state == OK and self._shipped is not None:
            change = replace(change, health=replace(change.health, as_of=self._as_of(self._shipped)))
        self.latest = change
        self.ledger_changed.publish(change)

    def _engine_told(self, trouble: str) -> None:
        """What is wrong with the engine stands where what is wrong with a file does."""
        self._engine_trouble = trouble
        self._publish_again()

    def _publish_again(self) -> None:
        """The newest change without its rows, for what is known of its source by now."""
        if self.latest is not None:
            self._publish(replace(self.latest, reset=False, calls=(), more=False, health=self._own_health))

    async def _follow_shipping(self, shipped: Shipped) -> None:
        """When something was shipped last; also a round without any call tells that the other machine is there."""
        known = self._as_of(shipped)
        while True:
            await asyncio.sleep(_LOOK_S)
            if (now := self._as_of(shipped)) != known:
                known = now
                self._publish_again()

    def _as_of(self, shipped: Shipped) -> str:
        return f"shipped {clock_text(utc_seconds(shipped.shipped), self.desk.clock(), self.desk.zone)}"

    async def _follow_state(self) -> None:
        """The same for the host's sessions."""
        async for change in self.state_source.changes():
            if change.reset:
                self._titles.clear()
            self._titles.update((key, info.title or "") for key, info in change.sessions.items())
            self._latest_state = change
            self.state_changed.publish(change)

    async def _follow_lineage(self) -> None:
        """The sessions as a whole, while a screen looks at them."""
        async with aclosing(self.lineage.changes()) as changes:
            async for change in changes:
                self.lineage_changed.publish(change)

    @asynccontextmanager
    async def _store_at_rest(self) -> AsyncIterator[None]:
        """Closes the app's own readers of the session store, and opens them again afterwards, whatever happened."""
        if self._state_follower is not None:
            self._state_follower.cancel()
            with suppress(WorkerError):
                await self._state_follower.wait()
        await self.lineage.rest(True)
        await self.state_source.let_go()
        try:
            yield
        finally:
            await self.lineage.rest(False)
            self.lineage.again()
            self._state_follower = self._app.run_worker(self._follow_state(), group="state")


def _in_loop(told: Callable[[str], None]) -> Callable[[str], None]:
    """The same for a thread to call; after the app has ended it does nothing."""
    loop = asyncio.get_running_loop()

    def tell(text: str) -> None:
        with suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(told, text)

    return tell
