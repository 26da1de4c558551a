"""Can the ledger be read, and is everything in it? What a person is told when not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine import spool
from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths

from .guard import SourceError

OK = "ok"
DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class Health:
    """`state` is `ok`, `missing`, `stale`, `unreadable`, `foreign-owner` or `degraded`."""

    state: str = OK
    text: str = ""
    """One plain, inert sentence; empty when all is well."""
    spooled: int = 0
    """Records that wait in the spool and are not in the ledger yet."""
    read_only_schema: bool = False
    """The ledger is by other software or by a newer plugin: shown, not written."""


_LOOK_S = 1.0
"""The spool is looked at this often: it fills when something is wrong, which is no matter of milliseconds."""


class SpoolCount:
    """What waits in a home's spool. Without a home, nothing does."""

    def __init__(self, paths: Paths | None) -> None:
        self._paths = paths
        self._looked = float("-inf")
        self._seen: object = None
        self._state = spool.SpoolState()

    async def count(self, merged: Mapping[str, int], now: float) -> spool.SpoolState:
        """`merged` tells how many bytes of each file are in the ledger; `now` is a monotonic clock in seconds."""
        if self._paths is not None and now - self._looked >= _LOOK_S:
            self._looked = now
            self._state = await asyncio.to_thread(self._read, self._paths, merged)
        return self._state

    def _read(self, paths: Paths, merged: Mapping[str, int]) -> spool.SpoolState:
        seen = [(path.name, _size(path), merged.get(path.name, 0)) for path in spool.files(paths)]
        if seen == self._seen:
            return self._state
        self._seen = seen
        return spool.waiting(paths, merged)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return -1


def health_of(trouble: SourceError | None, waits: spool.SpoolState, *, foreign: bool) -> Health:
    """Trouble first; records that wait are said when there is no other."""
    if trouble is not None:
        return Health(trouble.state, str(trouble), waits.records, foreign)
    if waits.records:
        what = "1 record waits" if waits.records == 1 else f"{waits.records} records wait"
        why = f" ({inert(waits.reason)})" if waits.reason else ""
        return Health(DEGRADED, f"{what} in the spool until the ledger can be written{why}.", waits.records, foreign)
    return Health(OK, "", 0, foreign)
