"""The app: it owns the sources, announces what changed, and knows which screens there are."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.signal import Signal
from textual.worker import Worker, WorkerError

from agent_ledger.engine.paths import Paths
from ledger_tui.routing.live import LiveSurvey, SurveyChange
from ledger_tui.sources.ledger import LedgerChange, LedgerSource
from ledger_tui.sources.policy_files import PolicyFiles
from ledger_tui.sources.record import RecordSource
from ledger_tui.sources.refusals import RefusalSource
from ledger_tui.sources.scored_rows import RowSource
from ledger_tui.sources.state import StateChange, StateSource
from ledger_tui.sources.verdicts import VerdictSource
from screens.calls import CallsScreen
from screens.commands import LedgerCommands
from screens.feeds import Desk
from screens.help import HelpScreen
from screens.lineage import LineageScreen
from screens.policy import PolicyScreen
from screens.posture import PostureScreen
from screens.record_check import RecordCheckScreen
from screens.repair import RepairScreen
from widgets.themes import DEFAULT_THEME, THEMES


@dataclass(frozen=True, slots=True)
class Entry:
    """One screen of the app: the key that shows it, its name, and how it is made."""

    key: str
    name: str
    make: Callable[[Desk], Screen[None]]


ENTRIES = (
    Entry("1", "Calls", CallsScreen),
    Entry("2", "Posture", PostureScreen),
    Entry("3", "Lineage", LineageScreen),
    Entry("4", "Policy", PolicyScreen),
    Entry("5", "Repair", RepairScreen),
)
"""The screens, in the order of their keys. A new screen is one more line."""


class LedgerApp(App[None]):
    """Shows one ledger and one store of sessions, live. Run it with `run(app)`."""

    TITLE = "ledger-tui"
    CSS_PATH = "app.tcss"
    COMMANDS: ClassVar[set[Any]] = {LedgerCommands}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+p", "command_palette", "Commands", id="app.palette", tooltip="Search everything that can be done"
        ),
        *(
            Binding(
                entry.key,
                f"switch_mode({entry.name!r})",
                entry.name,
                id=f"app.{entry.name.lower()}",
                tooltip=f"The screen {entry.name}",
            )
            for entry in ENTRIES
        ),
        Binding("question_mark", "help", "Help", key_display="?", id="app.help", tooltip="This list of keys"),
        Binding("q", "quit", "Quit", id="app.quit", tooltip="Leave the app"),
    ]

    def __init__(
        self,
        paths: Paths,
        *,
        ledger: Path | None = None,
        state: Path | None = None,
        clock: Callable[[], float] = time.time,
        mono: Callable[[], float] = time.monotonic,
        zone: tzinfo | None = None,
        environ: Mapping[str, str] | None = None,
        label: str = "",
    ) -> None:
        super().__init__()
        self.ledger_source = LedgerSource(paths, ledger=ledger, clock=clock)
        self.state_source = StateSource(paths, state=state, clock=clock)
        self.ledger_changed: Signal[LedgerChange] = Signal(self, "ledger")
        self.state_changed: Signal[StateChange] = Signal(self, "state")
        self.row_source = RowSource(self.ledger_source.path, clock=clock)
        self.refusal_source = RefusalSource(self.ledger_source.path, clock=clock)
        self.verdict_source = VerdictSource(
            paths, ledger=self.ledger_source.path, state=self.state_source.path, clock=clock
        )
        self.record_source = RecordSource(self.ledger_source.path)
        self.lineage = LiveSurvey(self.state_source.path, paths.home, paths.data, clock=clock, mono=mono)
        self.lineage_changed: Signal[SurveyChange] = Signal(self, "lineage")
        self._latest: LedgerChange | None = None
        self._state_follower: Worker[None] | None = None
        self._titles: dict[str, str] = {}
        self.first_word = ""
        """What a person must be told once the app is there."""
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
            latest=lambda: self._latest,
            titles=self._titles,
            label=label,
        )
        for theme in THEMES:
            self.register_theme(theme)
        if not (environ or os.environ).get("TEXTUAL_THEME"):
            self.theme = DEFAULT_THEME

    async def on_mount(self) -> None:
        for entry in ENTRIES:
            self.add_mode(entry.name, partial(entry.make, self.desk))
        await self.switch_mode(ENTRIES[0].name)
        if self.first_word:
            self.notify(self.first_word, severity="warning", timeout=15, markup=False)
        self._follow_ledger()
        self._state_follower = self._follow_state()
        self._follow_lineage()

    @work(group="ledger")
    async def _follow_ledger(self) -> None:
        """Hand on every change of the ledger. What goes wrong there is told by the change's own health."""
        async for change in self.ledger_source.changes():
            self._latest = change
            self.ledger_changed.publish(change)

    @work(group="state")
    async def _follow_state(self) -> None:
        """The same for the host's sessions."""
        async for change in self.state_source.changes():
            if change.reset:
                self._titles.clear()
            self._titles.update((key, info.title or "") for key, info in change.sessions.items())
            self.state_changed.publish(change)

    @work(group="lineage")
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
            self._state_follower = self._follow_state()

    def action_help(self) -> None:
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_check_record(self) -> None:
        self.push_screen(RecordCheckScreen(self.record_source))


def make_app(
    paths: Paths,
    *,
    ledger: Path | None = None,
    state: Path | None = None,
    clock: Callable[[], float] = time.time,
    mono: Callable[[], float] = time.monotonic,
    zone: tzinfo | None = None,
    environ: Mapping[str, str] | None = None,
    label: str = "",
) -> LedgerApp:
    """The app on one home, or on a ledger and a store named apart from it. Nothing is opened yet.

    `label` stands beside every screen's name: a simulation must say that it is one.
    """
    return LedgerApp(paths, ledger=ledger, state=state, clock=clock, mono=mono, zone=zone, environ=environ, label=label)


@asynccontextmanager
async def opened(app: LedgerApp) -> AsyncIterator[LedgerApp]:
    """The app's sources, open for as long as the app may run. They are closed after it, whatever happened."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.ledger_source)
        await stack.enter_async_context(app.row_source)
        await stack.enter_async_context(app.refusal_source)
        await stack.enter_async_context(app.state_source)
        stack.push_async_callback(app.verdict_source.end)
        yield app


async def run(app: LedgerApp) -> int:
    """Run the app until it is left. Returns its exit code."""
    async with opened(app):
        await app.run_async()
    return app.return_code or 0


def run_blocking(app: LedgerApp) -> int:
    """The same for a command that is not asynchronous."""
    return asyncio.run(run(app))
