"""The app: which homes it holds, and which screens there are."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from agent_ledger.engine.paths import Paths
from ledger_tui.home_feeds import Home, HomeFeeds, Shipped
from screens import later
from screens.calls import CallsScreen
from screens.commands import Command, LedgerCommands, Palette
from screens.feeds import Desk
from screens.not_shipped import unless_shipped
from widgets.themes import DEFAULT_THEME, THEMES

if TYPE_CHECKING:
    from screens.homes import HomesScreen


@dataclass(frozen=True, slots=True)
class Entry:
    """One screen of the app: the key that shows it, its name, and how it is made."""

    key: str
    name: str
    make: Callable[[Desk], Screen[None]]


ENTRIES = (
    Entry("1", "Calls", CallsScreen),
    Entry("2", "Posture", later.posture),
    Entry("3", "Lineage", unless_shipped("Lineage", later.lineage)),
    Entry("4", "Policy", later.policy),
    Entry("5", "Repair", unless_shipped("Repair", later.repair)),
)
"""The screens, in the order of their keys. A new screen is one more line."""

_SCREENS = Binding.Group("Screens")

HOMES = "Homes"
"""The screen that stands above those of a home, where there are several."""


class LedgerApp(App[None]):
    """Shows homes, live. Run it with `run(app)`.

    Each home has screens of its own, made when they are first shown and kept from then on.
    """

    TITLE = "ledger-tui"
    CSS_PATH = "app.tcss"
    COMMANDS: ClassVar[set[Any]] = {LedgerCommands}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+p", "command_palette", "Commands", id="app.palette", tooltip="Search everything that can be done"
        ),
        Binding(
            "0", f"show_screen({HOMES!r})", HOMES, id="app.homes", tooltip="Every home side by side", group=_SCREENS
        ),
        *(
            Binding(
                entry.key,
                f"show_screen({entry.name!r})",
                entry.name,
                id=f"app.{entry.name.lower()}",
                tooltip=f"The screen {entry.name}",
                group=_SCREENS,
            )
            for entry in ENTRIES
        ),
        Binding("question_mark", "help", "Help", key_display="?", id="app.help", tooltip="This list of keys"),
        Binding("q", "quit", "Quit", id="app.quit", tooltip="Leave the app"),
    ]

    def __init__(
        self,
        homes: Sequence[Home],
        *,
        clock: Callable[[], float] = time.time,
        mono: Callable[[], float] = time.monotonic,
        zone: tzinfo | None = None,
        environ: Mapping[str, str] | None = None,
        label: str = "",
    ) -> None:
        super().__init__()
        self.homes = tuple(HomeFeeds(self, home, clock=clock, mono=mono, zone=zone, label=label) for home in homes)
        self.home = self.homes[0]
        """The one whose screens are in front."""
        self._label = label
        self._beside: HomesScreen | None = None
        self.first_word = ""
        """What a person must be told once the app is there."""
        for theme in THEMES:
            self.register_theme(theme)
        if not (environ or os.environ).get("TEXTUAL_THEME"):
            self.theme = DEFAULT_THEME

    async def on_mount(self) -> None:
        for home in self.homes:
            for entry in ENTRIES:
                self.add_mode(_mode(home, entry.name), partial(entry.make, home.desk))
        if self._several:
            self.add_mode(HOMES, self._make_homes)
        await self.switch_mode(HOMES if self._several else _mode(self.home, ENTRIES[0].name))
        if self.first_word:
            self.notify(self.first_word, severity="warning", timeout=15, markup=False)
        for home in self.homes:
            home.follow()

    @property
    def _several(self) -> bool:
        return len(self.homes) > 1

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One home has nothing above it."""
        return self._several or (action, *parameters) != ("show_screen", HOMES)

    async def action_show_screen(self, name: str) -> None:
        """Show this screen of the home in front."""
        self._choose()
        self.switch_mode(HOMES if name == HOMES else _mode(self.home, name))

    def open_home(self, index: int) -> None:
        """Show a home: the screen that is in front of another one, else its calls."""
        shown = self.current_mode.rpartition("/")[2]
        self.home = self.homes[index]
        self.switch_mode(_mode(self.home, ENTRIES[0].name if shown == HOMES else shown))

    def _make_homes(self) -> Screen[None]:
        from screens.homes import HomesScreen  # One home does without.

        self._beside = HomesScreen(self.homes, self.open_home, self._label)
        return self._beside

    def _choose(self) -> None:
        """Among the homes, the one in front is the one at the cursor."""
        if self._beside is not None and self.current_mode == HOMES:
            self.home = self.homes[self._beside.chosen]

    def commands(self) -> Iterable[Command]:
        """What the palette offers on every screen."""
        for entry in ENTRIES:
            show = partial(self.action_show_screen, entry.name)
            yield Command(f"Screen: {entry.name}", f"Key {entry.key}", show)
        if self._several:
            yield Command("Homes", "Every home side by side", partial(self.switch_mode, HOMES))
            for index, home in enumerate(self.homes):
                yield Command(f"Home: {home.name}", f"The screens of {home.folder}", partial(self.open_home, index))

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_help(self) -> None:
        from screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_check_record(self) -> None:
        from screens.record_check import RecordCheckScreen

        self._choose()
        self.push_screen(RecordCheckScreen(self.home.record_source))


def _mode(home: HomeFeeds, entry: str) -> str:
    """What Textual knows a screen of a home by."""
    return f"{home.name}/{entry}"


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
    shipped: Shipped | None = None,
) -> LedgerApp:
    """The app on one home, or on a ledger and a store named apart from it. Nothing is opened yet.

    `label` stands beside every screen's name: a simulation must say that it is one. `shipped`: the ledger of another
    machine, in a throw-away home.
    """
    homes = [Home(paths, ledger, state, shipped=shipped)]
    return LedgerApp(homes, clock=clock, mono=mono, zone=zone, environ=environ, label=label)


@asynccontextmanager
async def opened(app: LedgerApp) -> AsyncIterator[LedgerApp]:
    """The app's sources, open for as long as the app may run. They are closed after it, whatever happened."""
    async with AsyncExitStack() as stack:
        for home in app.homes:
            await stack.enter_async_context(home.opened())
        yield app


async def run(app: LedgerApp) -> int:
    """Run the app until it is left. Returns its exit code."""
    async with opened(app):
        await app.run_async()
    return app.return_code or 0


def run_blocking(app: LedgerApp) -> int:
    """The same for a command that is not asynchronous."""
    return asyncio.run(run(app))
