"""What the policies decided, as a stream of changes: refusals of calls, and how often rules over messages held."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.inert import inert

from .decisions import CALLS, MESSAGES, Refusal, highest_id, hits_by_rule, newest_refusals
from .reading import one_snapshot
from .source import Source

NEWEST = 2_000
"""Refusals of which each is known; those before them are only counted."""

FLOOR_S = 0.2


@dataclass(frozen=True, slots=True)
class RefusalChange:
    """What became known by one reading."""

    reset: bool
    """Forget everything: the first reading, or another file."""
    refusals: tuple[Refusal, ...] = ()
    """New ones, oldest first; on reset the newest `NEWEST`."""
    hits: Mapping[str, int] | None = None
    """On reset: how often each rule held, over the whole table."""
    prompt_hits: Mapping[str, int] | None = None
    """How often each rule over messages held; None where that has not changed."""
    host_version: str | None = None
    """Version of the Hermes that opened this ledger last."""


@dataclass(slots=True)
class _Marks:
    """How far both tables were read."""

    version: int | None = None
    refusal: int = -1
    prompt: int = -1


class RefusalSource(Source):
    """`async with RefusalSource(path) as source: async for change in source.changes(): ...`"""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, what="ledger", clock=clock, floor_s=FLOOR_S)
        self._marks = _Marks()

    async def changes(self) -> AsyncGenerator[RefusalChange, None]:
        """Every change, the first at once where there is a ledger. What is wrong with the file, the ledger's own
        stream tells. Never ends."""
        self._marks = _Marks()
        async with aclosing(self._moments()) as moments:
            async for _ in moments:
                change = await self._look(self._anew, lambda connection: _advance(connection, self._marks))
                if change is not None:
                    yield change

    def _anew(self) -> None:
        self._marks = _Marks()


def _advance(connection: sqlite3.Connection, marks: _Marks) -> RefusalChange | None:
    """What is new since the last look; None where nothing is."""
    ((version,),) = connection.execute("PRAGMA data_version").fetchall()
    if version == marks.version:
        return None
    with one_snapshot(connection):
        tables = {
            row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        }
        refusal = highest_id(connection, CALLS) if CALLS in tables else 0
        prompt = highest_id(connection, MESSAGES) if MESSAGES in tables else 0
        reset = marks.version is None or refusal < marks.refusal or prompt < marks.prompt
        after = -1 if reset else marks.refusal
        found = newest_refusals(connection, after, NEWEST) if refusal > after and CALLS in tables else ()
        change = RefusalChange(
            reset=reset,
            refusals=found,
            hits=_hits(connection, CALLS, tables) if reset else None,
            prompt_hits=_hits(connection, MESSAGES, tables) if reset or prompt != marks.prompt else None,
            host_version=_host_version(connection, tables) if reset else None,
        )
    marks.version, marks.refusal, marks.prompt = version, refusal, prompt
    return change if reset or found or change.prompt_hits is not None else None


def _hits(connection: sqlite3.Connection, table: str, tables: set[str]) -> dict[str, int]:
    return hits_by_rule(connection, table) if table in tables else {}


def _host_version(connection: sqlite3.Connection, tables: set[str]) -> str | None:
    if "writer" not in tables:
        return None
    row = connection.execute(
        "SELECT host_version FROM writer WHERE host_version IS NOT NULL ORDER BY id DESC LIMIT 1"
    ).fetchall()
    return inert(str(row[0][0])) if row else None
