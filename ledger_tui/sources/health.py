"""Can the ledger be read, and is everything in it? What a person is told when not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_ledger.engine import spool
from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths

from .guard import MISSING, STALE, SourceError
from .set_aside import set_aside, set_aside_path

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
    set_aside: int | None = 0
    """Records that nothing will merge, since they were not understood; None where that cannot be read."""
    read_only_schema: bool = False
    """The ledger is by other software or by a newer plugin: shown, not written."""
    as_of: str = ""
    """Of a ledger that is looked at from afar and well: from when it is, in words. Empty for one that is here."""

    @property
    def is_wrong(self) -> bool:
        """Is something amiss? That nothing was recorded yet is not."""
        return self.state not in {OK, MISSING}


_LOOK_S = 1.0
"""The spool is looked at this often: it fills when something is wrong, which is no matter of milliseconds."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside the ledger: waiting to be merged, and set aside for good."""

    waits: spool.SpoolState = field(default_factory=spool.SpoolState)
    set_aside: int | None = 0


class SpoolCount:
    """What is in a home's spool. Without a home, nothing is."""

    def __init__(self, paths: Paths | None) -> None:
        self._paths = paths
        self._looked = float("-inf")
        self._seen: object = None
        self._beside = Beside()

    async def count(self, merged: Mapping[str, int], now: float) -> Beside:
        """`merged` tells how many bytes of each file are in the ledger; `now` is a monotonic clock in seconds."""
        if self._paths is not None and now - self._looked >= _LOOK_S:
            self._looked = now
            self._beside = await asyncio.to_thread(self._read, self._paths, merged)
        return self._beside

    def _read(self, paths: Paths, merged: Mapping[str, int]) -> Beside:
        files = [(path.name, _size(path), merged.get(path.name, 0)) for path in spool.files(paths)]
        seen = (files, _size(set_aside_path(paths)))
        if seen == self._seen:
            return self._beside
        self._seen = seen
        return Beside(spool.waiting(paths, merged), set_aside(paths))


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return -1


def outlived(trouble: SourceError) -> SourceError:
    """The same trouble for somebody who has read the file before: that is still shown, and is said to be of then."""
    if trouble.state == MISSING:
        remedy = "what is shown was read before; it goes on with the next file at this place"
        return SourceError(trouble.path, "is gone", remedy, state=STALE)
    if trouble.state == STALE:
        return trouble
    return SourceError(
        trouble.path, trouble.reason, f"{trouble.remedy}; what is shown was read before", state=trouble.state
    )


def health_of(trouble: SourceError | None, beside: Beside, *, foreign: bool) -> Health:
    """Trouble first; records that are not in the ledger are said when there is no other."""
    texts = [str(trouble)] if trouble is not None else [text for text in (_waiting(beside), _set_aside(beside)) if text]
    state = trouble.state if trouble is not None else DEGRADED if texts else OK
    return Health(state, " ".join(texts), beside.waits.records, beside.set_aside, foreign)


def _waiting(beside: Beside) -> str:
    waits = beside.waits
    if not waits.records:
        return ""
    what = "1 record waits" if waits.records == 1 else f"{waits.records} records wait"
    why = f" ({inert(waits.reason)})" if waits.reason else ""
    return f"{what} in the spool until the ledger can be written{why}."


def _set_aside(beside: Beside) -> str:
    if beside.set_aside == 0:
        return ""
    if beside.set_aside is None:
        return "What was set aside in spool/unreadable.txt cannot be read; look at its rights."
    one = beside.set_aside == 1
    what = "1 record was not understood and is" if one else f"{beside.set_aside} records were not understood and are"
    return f"{what} in no ledger: look into spool/unreadable.txt, then move it away."
