"""Several homes in one folder, for the tests of the Homes screen."""

from __future__ import annotations

from pathlib import Path

from agent_ledger.engine.paths import Paths
from ledger_tui.home_feeds import Home

from .ledgers import Clock, Ledger


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

    def homes(self, *names: str) -> list[Home]:
        """The same as the app takes them."""
        return [Home(Paths(self.folder / name), name=name) for name in names]
