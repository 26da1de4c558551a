"""`--source`: a ledger that another machine shipped, for the commands that only read ledgers."""

from __future__ import annotations

import secrets
import shutil
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert
from ledger_tui.commands.errors import unreadable, usage
from ledger_tui.commands.output import warn
from ledger_tui.commands.progress import progress
from ledger_tui.homes import numbered

if TYPE_CHECKING:
    from ledger_tui.ship.brought import Brought, Source
    from ledger_tui.ship.following import Following
    from ledger_tui.sources.copied import CopiedLedger

COMMANDS = ("status", "calls", "watch", "posture", "ledger-check", "export")

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)

ONLY = (
    f"--source is for the app, {', '.join(COMMANDS[:-1])}, export calls and export posture: only ledgers are shipped."
)


def _warned(trouble: str) -> None:
    warn(trouble or "The ledger can be read again.")


class Shipped:
    """Which ledger is meant, and the throw-away home that it is brought into when a command first reads it."""

    def __init__(self, url: str, host: str | None) -> None:
        """Opens and makes nothing yet. Raises CommandError (2) for a URL that is none."""
        from ledger_tui.ship.address import AddressError, checked

        try:
            self._url = checked(url)
        except AddressError as error:
            raise usage(f"--source: {error}") from error
        self._host = host
        self.home = Path(tempfile.gettempdir(), f"ledger-tui-source-{secrets.token_hex(8)}")
        self._copy: CopiedLedger | None = None
        self._brought: Brought | None = None
        self._following: Following | None = None
        self._usual: dict[signal.Signals, Any] = {}

    @property
    def source(self) -> Source:
        """The ledger, once it is brought."""
        self.bring()
        assert self._brought is not None
        return self._brought.source

    def bring(self) -> None:
        """Brings it, the first time. Raises CommandError."""
        if self._brought is not None:
            return
        from ledger_tui.ship.brought import Brought, ChoiceError, chosen, sources
        from ledger_tui.ship.engine import EngineError, engine
        from ledger_tui.sources.copied import CopiedLedger

        self._take_endings()
        try:
            with engine(self._url) as connection:
                source = chosen(sources(connection), self._host)
                self.home.mkdir(mode=0o700)
                self._copy = CopiedLedger(self.home)
                brought = Brought(source, self._copy)
                with progress("bringing the calls") as tell:
                    brought.refresh(connection, tell)
        except ChoiceError as error:
            raise unreadable(str(error)) from error
        except EngineError as error:
            raise unreadable(str(error)) from error
        except sqlite3.Error as error:
            raise unreadable(f"The ledger cannot be brought into {self.home} ({error}).") from error
        self._brought = brought

    @property
    def name(self) -> Inert:
        """Of the ledger, once it is brought."""
        return self.source.name

    @property
    def host(self) -> Inert:
        """The machine that shipped it."""
        return self.source.host_name

    @property
    def shipped(self) -> Inert:
        """When it was shipped last, as UTC."""
        return self.source.shipped

    def following(self, told: Callable[[str], None] = _warned) -> AbstractContextManager[object]:
        """Keeps it as it is there, as long as the `with` lasts.

        `told`, in a thread of its own, hears of a trouble, and an empty text when it is over.
        """
        from ledger_tui.ship.following import Following

        self.bring()
        assert self._brought is not None
        self._following = Following(self._url, self._brought, told)
        return self._following

    def close(self) -> None:
        """Takes the throw-away home away."""
        writing = self._following is not None and self._following.running
        if self._copy is not None and not writing:
            self._copy.close()
        shutil.rmtree(self.home, ignore_errors=True)
        while self._usual:
            signal.signal(*self._usual.popitem())

    def _take_endings(self) -> None:
        """A service that is stopped and a terminal that is closed leave no copy behind."""
        if threading.current_thread() is not threading.main_thread():
            return
        for one in _ENDINGS:
            usual = signal.getsignal(one)
            # Under nohup it stays ignored. Another ledger's end comes after our own.
            if usual is signal.SIG_DFL or isinstance(getattr(usual, "__self__", None), Shipped):
                self._usual[one] = signal.signal(one, self._end)

    def _end(self, number: int, frame: object) -> None:
        # Not by an exception: that would come out anywhere, also where asyncio would wait for a thread for ever.
        shutil.rmtree(self.home, ignore_errors=True)
        signal.signal(number, self._usual.get(signal.Signals(number), signal.SIG_DFL))
        signal.raise_signal(number)


def every_shipped(url: str) -> dict[str, Shipped]:
    """By its name every ledger at an engine, of each file the last that was shipped. Raises CommandError."""
    from ledger_tui.ship.brought import sources
    from ledger_tui.ship.engine import EngineError, engine

    whole = Shipped(url, None)
    try:
        with engine(whole._url) as connection:
            # The last shipped of a host comes first, and is what stays.
            newest = {(one.host, one.place): one for one in reversed(sources(connection))}
    except EngineError as error:
        raise unreadable(str(error)) from error
    if not newest:
        raise unreadable("No ledger was shipped there yet; ledger-tui ship does that.")
    found = list(newest.values())[::-1]
    hosts = [one.host for one in found]
    called = numbered([inert(one.host) if hosts.count(one.host) == 1 else one.name for one in found])
    return {name: Shipped(url, f"{one.host}/{one.ledger}") for name, one in zip(called, found, strict=True)}
