"""Several homes in one folder, and the app on all of them, for the tests of the Homes screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Protocol

from agent_ledger.engine.paths import Paths
from ledger_tui.app import LedgerApp, opened
from ledger_tui.home_feeds import Home
from screens.homes import HomesScreen

from .conftest import Run
from .ledgers import Clock, Ledger


class StartFleet(Protocol):
    """Runs the app on the homes of these names, in that order."""

    def __call__(self, *names: str, size: tuple[int, int] = (100, 30)) -> AbstractAsyncContextManager[Run]: ...


class Fleet:
    """Homes below one folder. None is there before it is asked for."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder, self._clock = folder, clock

    def ledger(self, name: str) -> Ledger:
        """An empty ledger in the home of this name, open for writing."""
        return Ledger(self.folder / name, self._clock)

    def broken(self, name: str) -> Path:
        """A home whose ledger is a text file."""
        path = Paths(self.folder / name).ledger
        path.parent.mkdir(parents=True)
        path.write_text("this is no database at all\n" * 100)
        return path

    @asynccontextmanager
    async def start(self, *names: str, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Run]:
        homes = [Home(Paths(self.folder / name), name=name) for name in names]
        app = LedgerApp(homes, clock=self._clock, mono=self._clock.mono, zone=UTC, environ={})
        async with opened(app), app.run_test(size=size, notifications=True) as pilot:
            run = Run(app, pilot)
            await run.until(lambda: isinstance(app.screen, HomesScreen), "the Homes screen")
            await run.until(lambda: all(home.calls.loaded for home in app.homes), "a first reading of each")
            await run.pilot.pause()
            await run.until(run.drawn, "every list drawn")
            yield run


def lines(run: Run, *parts: str) -> list[str]:
    """The lines of the screen that hold every part."""
    return [line for line in run.text.splitlines() if all(part in line for part in parts)]
