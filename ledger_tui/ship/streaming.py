"""Round after round, over whatever happens to the engine or to the ledger in between."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from ledger_tui.sources.guard import MISSING, SourceError

from . import tables
from .engine import EngineError, engine
from .shipping import Shipped, Shipper

LONGEST_S = 60.0
"""Longest rest after an engine could not be reached; the first is a second, each further one twice as long."""

_TICK_S = 0.05
"""A writing this shortly after another one may leave the same time and size: the clock of file systems is coarse."""

_Seen = tuple[tuple[int, int, int, int] | None, ...]


@dataclass(slots=True)
class Stream:
    """`run()` ends by KeyboardInterrupt, or by an EngineError that time does not mend."""

    url: str
    shipper: Shipper
    sleep: Callable[[float], None]
    done: Callable[[Shipped], None]
    """Told of every round that shipped something."""
    troubled: Callable[[str], None]
    """Told of a trouble when it begins or becomes another one, and by an empty text when it is over."""
    every_s: float = 2.0
    _seen: _Seen | None = None
    _trouble: str = field(default="", init=False)

    def run(self) -> None:
        rest = 1.0
        while True:
            try:
                with engine(self.url) as connection:
                    tables.prepare(connection)
                    rest = 1.0
                    while True:
                        self._look(connection)
                        self.sleep(self.every_s)
            except EngineError as error:
                if not error.passes:
                    raise
                self._tell(str(error))
                self._seen = None
            self.sleep(rest)
            rest = min(LONGEST_S, 2 * rest)

    def _look(self, connection: tables.Connection) -> None:
        """A round, if the file may have changed since the last one."""
        seen, now = self._signature(), self.shipper.clock()
        if seen == self._seen:
            return
        try:
            found = self.shipper.round(connection)
        except SourceError as error:
            if error.state != MISSING:
                self._tell(str(error))
            return
        # As it was before the round: what came in meanwhile is seen by the next.
        self._seen = seen if _settled(seen, now) else None
        self._tell("")
        if found.rows or found.begun:
            self.done(found)

    def _signature(self) -> _Seen:
        return tuple(_stat(f"{self.shipper.path}{end}") for end in ("", "-wal"))

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self.troubled(trouble)


def _settled(seen: _Seen, now: float) -> bool:
    """Would a later writing show?"""
    return all(one is None or abs(now - one[2] / 1e9) >= _TICK_S for one in seen)


def _stat(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
