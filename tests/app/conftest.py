"""The app on a home of its own, with clocks that stand still, and where its snapshots lie."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any, Protocol

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from textual.pilot import Pilot
from textual.screen import Screen

from agent_ledger.engine.paths import Paths
from ledger_tui._compat import screen_lines
from ledger_tui.app import LedgerApp, make_app, opened
from ledger_tui.routing.repair import holders
from ledger_tui.routing.repair.open_files import Holders
from screens.calls import CallsScreen
from screens.homes import HomesScreen
from widgets.line_list import LineList

from .fleet import Fleet
from .ledgers import Clock, Ledger
from .sessions import INCIDENT_NOW, the_incident

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots"
PATIENCE_S = 60.0


class Run:
    """An app that runs without a terminal, and what a test asks of it."""

    def __init__(self, app: LedgerApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def calls(self) -> CallsScreen:
        """The Calls screen, also while another one lies over it."""
        (screen,) = [screen for screen in self.app.screen_stack if isinstance(screen, CallsScreen)]
        return screen

    def front(self) -> Screen[Any]:
        """The screen that has the keys."""
        return self.app.screen

    @property
    def text(self) -> str:
        """What is on the screen, without the blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in screen_lines(self.app.screen)) + "\n"

    def lines(self, *parts: str) -> list[str]:
        """The lines of the screen that hold every part."""
        return [line for line in self.text.splitlines() if all(part in line for part in parts)]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Text into the line that has the focus."""
        await self.press(*["space" if character == " " else character for character in text])

    async def until(self, condition: Callable[[], object], what: str = "condition") -> None:
        """Wait until it holds. A test never waits for a time."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, f"{what} did not come about:\n{self.text}"
            await self.pilot.pause(0.02)

    async def until_shown(self, *parts: str) -> None:
        await self.until(lambda: all(part in self.text for part in parts), repr(parts))

    async def settle(self) -> None:
        """The ledger is read, and so are the counts and the first page behind it."""
        model = self.calls.model
        await self.until(lambda: model.loaded, "a first reading")
        if model.totals.rows:
            await self.until(lambda: model.sessions_known, "counts per session")
        busy = ("page", "sessions", "call", "export", "scoring")
        await self.until(
            lambda: not any(worker.group in busy and not worker.is_finished for worker in self.app.workers),
            "quiet workers",
        )
        await self.pilot.pause()
        await self.until(self.drawn, "every list drawn")

    def drawn(self) -> bool:
        """Does every list that is in view show what it last drew? Not so between a new size and the next frame."""
        lists = [one for one in self.app.screen.query(LineList) if one.region and one.display]
        return all(len(one._painted) == one.size.height and None not in one._painted for one in lists)


class Start(Protocol):
    """Runs the app on a home at a size; `settled=False` does not wait for the ledger."""

    def __call__(
        self, size: tuple[int, int] = (80, 24), *, settled: bool = True, **options: Any
    ) -> AbstractAsyncContextManager[Run]: ...


class StartFleet(Protocol):
    """Runs the app on the homes of these names, in that order."""

    def __call__(self, *names: str, size: tuple[int, int] = (100, 30)) -> AbstractAsyncContextManager[Run]: ...


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is not there yet, named without the folder that pytest made for it."""
    monkeypatch.chdir(tmp_path)
    return Path("home")


@pytest.fixture
def ledger(home: Path, clock: Clock) -> Ledger:
    """An empty ledger in the home, open for writing."""
    return Ledger(home, clock)


@pytest.fixture
def start(home: Path, clock: Clock) -> Start:
    @asynccontextmanager
    async def run(size: tuple[int, int] = (80, 24), *, settled: bool = True, **options: Any) -> AsyncIterator[Run]:
        app = make_app(Paths(home), clock=clock, mono=clock.mono, zone=UTC, environ={}, **options)
        async with opened(app), app.run_test(size=size, notifications=True) as pilot:
            driven = Run(app, pilot)
            await driven.until(lambda: isinstance(app.screen, CallsScreen), "the Calls screen")
            if settled:
                await driven.settle()
            yield driven

    return run


@pytest.fixture
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> list[Holders]:
    """Who holds the session store, as far as can be seen: nobody, unless a test puts another answer first."""
    answers = [Holders(True)]
    monkeypatch.setattr(holders, "holders", lambda _store, **_options: answers[0])
    return answers


@pytest.fixture
def incident(home: Path, clock: Clock) -> Path:
    """The session store in which a conversation was lost, at the moment when that is found."""
    clock.now = INCIDENT_NOW
    return the_incident(home)


@pytest.fixture
def fleet(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Homes that are not there yet, below a folder named without the one that pytest made for it."""
    monkeypatch.chdir(tmp_path)
    return Fleet(Path("homes"), clock)


@pytest.fixture
def start_fleet(fleet: Fleet, clock: Clock) -> StartFleet:
    @asynccontextmanager
    async def run(*names: str, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Run]:
        app = LedgerApp(fleet.homes(*names), clock=clock, mono=clock.mono, zone=UTC, environ={})
        async with opened(app), app.run_test(size=size, notifications=True) as pilot:
            driven = Run(app, pilot)
            await driven.until(lambda: isinstance(app.screen, HomesScreen), "the Homes screen")
            await driven.until(lambda: all(home.calls.loaded for home in app.homes), "a first reading of each")
            await driven.pilot.pause()
            await driven.until(driven.drawn, "every list drawn")
            yield driven

    return run


class ScreenText(SingleFileSnapshotExtension):
    """The screen as plain text: what a reviewer reads."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(SNAPSHOTS / test_location.basename)


class ScreenPicture(ScreenText):
    """The screen as SVG: how it looks."""

    file_extension = "svg"


@pytest.fixture
def text_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ScreenText)


@pytest.fixture
def picture_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ScreenPicture)
