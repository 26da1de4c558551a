"""The simulated gateway around the host: its lock, its store, and an outage that makes it lose a chat for a while.

It is stopped after the wrong resumption, with nothing open, so that the chat can be repaired as on a real machine. It
starts again when it sees that the store was repaired.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO

from agent_ledger.engine.process import start_mark
from ledger_tui.demo.host import Host
from ledger_tui.demo.store import SessionStore, identity_of
from ledger_tui.demo.story import Outage, Scenario
from ledger_tui.routing.hardened import INCIDENT, SOUND, Faults
from ledger_tui.routing.read import read_store
from ledger_tui.routing.resolver import Resolver
from ledger_tui.sources.guard import SourceError

try:
    import fcntl
except ImportError:  # Windows: no lock by which others see that this gateway runs.
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.5
SETTLES_S = 1.0
"""So long nothing was written to the store, before somebody looks whether it is repaired."""
GRACE_S = 30.0
"""From a repair to the next start of the gateway: so long it can be undone."""

_CRASHED = "The gateway crashed. Which session each chat was in stood in its memory."
_RESTARTED = "The gateway runs again."
_RECALLED = "Asked in {chat} for the last words, it answers: {words}"
_STOPPED = "The gateway is stopped. Look at screen 3; r repairs."
_MENDED = "The chat is repaired. The gateway starts in {seconds:.0f} s; until then it can be undone."
_FOUND = "The gateway runs again. Asked for the last words, it answers: {words}"

_Signature = tuple[tuple[int, int] | None, ...]


class Gateway:
    """Keeps store and lock of one simulated gateway."""

    def __init__(self, scenario: Scenario, home: Path, clock: Callable[[], float]) -> None:
        """Starts at once. `clock` gives seconds since 1970."""
        self.tell: Callable[[str], None] = lambda words: None
        """Hears what happens to the gateway while somebody watches."""
        self._scenario, self._home, self._clock = scenario, home, clock
        self._lock: IO[str] | None = None
        self.store = self._started(INCIDENT if scenario.outage else SOUND)

    def play(self, host: Host) -> None:
        """Plan the scenario's outage, if it has one."""
        if self._scenario.outage is not None:
            _Outage(self, host, self._scenario, self._scenario.outage, self._home)

    def start(self, faults: Faults) -> SessionStore:
        self.store = self._started(faults)
        return self.store

    def stop(self) -> None:
        """Nothing is held or open afterwards."""
        self.store.close()
        if self._lock is not None:
            (self._home / "gateway.pid").unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _started(self, faults: Faults) -> SessionStore:
        if self._scenario.outage is not None:
            self._lock = _locked(self._home)
        return SessionStore(self._home / "state.db", self._clock, faults=faults)


def _locked(home: Path) -> IO[str]:
    """The lock and the pid file by which a real gateway is known to run."""
    mark = start_mark(os.getpid())
    record = {"pid": os.getpid(), "kind": "hermes-gateway", "argv": ["simulation"], "hermes_home": str(home)}
    text = json.dumps({**record, "start_time": int(mark) if mark.isdigit() else None})
    file = os.fdopen(os.open(home / "gateway.lock", os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8")
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.truncate()
    file.write(text)
    file.flush()
    pid = os.open(home / "gateway.pid", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(pid, "w", encoding="utf-8") as beside:
        beside.write(text)
    return file


class _Outage:
    """Reset that is not written, crash, wrong resumption, stop, and a new start after the repair."""

    def __init__(self, gateway: Gateway, host: Host, scenario: Scenario, outage: Outage, home: Path) -> None:
        self._gateway, self._host, self._outage, self._home = gateway, host, outage, home
        self._chat = next(chat for chat in scenario.chats if chat.name == outage.chat)
        self._state = home / "state.db"
        self._lost = ""
        """The session that nobody will find any more."""
        self._signed: _Signature = ()
        self._changed_at = 0.0
        self._mended: bool | None = None
        """None: to be looked at."""
        host.plan(outage.resets, self._reset)
        host.plan(outage.crashes, self._crash)

    def _reset(self, at: float) -> None:
        """Somebody holds the store for longer than the gateway waits, at the very moment of the reset."""
        with closing(sqlite3.connect(self._state, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            self._host.reset(self._chat.name)

    def _crash(self, at: float) -> None:
        outage = self._outage
        self._lost, _ = self._host.recall(self._chat.name)
        self._host.crash()
        self._gateway.stop()
        self._gateway.tell(_CRASHED)
        self._host.plan(outage.restarts, self._restart)
        self._host.plan(outage.asks, self._recall)
        self._host.plan(outage.stops, self._stop)

    def _restart(self, at: float) -> None:
        self._host.start(self._gateway.start(INCIDENT))
        self._gateway.tell(_RESTARTED)

    def _recall(self, at: float) -> None:
        self._gateway.tell(_RECALLED.format(chat=self._chat.title, words=self._words()))
        if self._outage.speaks is not None:
            self._host.play(self._chat.name, self._outage.speaks, at)

    def _words(self) -> str:
        """What the gateway takes for the last thing that was said."""
        _, transcript = self._host.recall(self._chat.name)
        return str(transcript[-1]["content"]) if transcript else ""

    # -- until somebody has repaired it ----------------------------------------------------------------------------

    def _stop(self, at: float) -> None:
        self._host.crash()
        self._gateway.stop()
        self._gateway.tell(_STOPPED)
        self._signed = self._signature()
        self._changed_at = at
        self._host.plan(at + POLL_S, self._wait)

    def _wait(self, at: float) -> None:
        """Looks at times and sizes only, and into the store when something was written: nobody is disturbed."""
        signed, grace = self._signature(), GRACE_S / self._host.speed
        if signed != self._signed:
            self._signed, self._changed_at, self._mended = signed, at, None
        elif self._mended is None and at - self._changed_at >= SETTLES_S:
            self._mended = self._is_mended()
            if self._mended:
                self._gateway.tell(_MENDED.format(seconds=grace))
        if self._mended and at - self._changed_at >= grace:
            self._go_on(at)
        else:
            self._host.plan(at + POLL_S, self._wait)

    def _signature(self) -> _Signature:
        return tuple(_stamp(self._state.with_name(f"state.db{suffix}")) for suffix in ("", "-wal"))

    def _is_mended(self) -> bool:
        """Would the chat's next message land in the session that was lost?"""
        peer = identity_of(self._chat).peer
        assert peer is not None
        try:
            store = read_store(self._state, self._home)
        except SourceError:
            return False
        found = Resolver(store.sessions.values(), store.owner).resolve(peer)
        return found is not None and found.id == self._lost

    def _go_on(self, at: float) -> None:
        """The gateway starts again, hardened now, and the chat goes on."""
        self._host.start(self._gateway.start(SOUND))
        self._gateway.tell(_FOUND.format(words=self._words()))
        self._host.play(self._chat.name, self._outage.after, at)
        self._host.talk(self._chat.name, at + POLL_S + 10.0 / self._host.speed)


def _stamp(path: Path) -> tuple[int, int] | None:
    """None for a file that is not there, or is empty: a reader may have made it."""
    try:
        info = path.stat()
    except OSError:
        return None
    return (info.st_mtime_ns, info.st_size) if info.st_size else None
