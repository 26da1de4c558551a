"""What the policies decided, as a stream of changes: refusals of calls, and how often rules over messages held."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert, utc_seconds

from .reading import one_snapshot
from .source import Source

NEWEST = 2_000
"""Refusals of which each is known; those before them are only counted."""

FLOOR_S = 0.2

_COLUMNS = "id, ts, ledger_id, session_id, tool_name, rule, severity, reason, mode, call_ids"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One call that the tool policy refused (`mode` is enforce) or would have (dry_run). Text is inert."""

    id: int
    ts: Inert
    at: float | None
    ledger_id: int | None
    session_id: Inert
    tool_name: Inert
    rule: Inert
    severity: Inert
    reason: Inert
    mode: Inert
    call_ids: tuple[int | str, ...]
    """Further calls that belong to it."""


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
        refusal = _highest(connection, "policy_decision") if "policy_decision" in tables else 0
        prompt = _highest(connection, "prompt_decision") if "prompt_decision" in tables else 0
        reset = marks.version is None or refusal < marks.refusal or prompt < marks.prompt
        after = -1 if reset else marks.refusal
        found = _refusals(connection, after) if refusal > after and "policy_decision" in tables else ()
        change = RefusalChange(
            reset=reset,
            refusals=found,
            hits=_hits(connection, "policy_decision", tables) if reset else None,
            prompt_hits=_hits(connection, "prompt_decision", tables) if reset or prompt != marks.prompt else None,
            host_version=_host_version(connection, tables) if reset else None,
        )
    marks.version, marks.refusal, marks.prompt = version, refusal, prompt
    return change if reset or found or change.prompt_hits is not None else None


def _highest(connection: sqlite3.Connection, table: str) -> int:
    ((highest,),) = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchall()
    return int(highest)


def _refusals(connection: sqlite3.Connection, after: int) -> tuple[Refusal, ...]:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM policy_decision WHERE id > ? ORDER BY id DESC LIMIT ?", (after, NEWEST)
    ).fetchall()
    return tuple(_refusal(*row) for row in reversed(rows))


def _refusal(
    id: int,
    ts: Any,
    ledger_id: Any,
    session: Any,
    tool: Any,
    rule: Any,
    severity: Any,
    reason: Any,
    mode: Any,
    calls: Any,
) -> Refusal:
    number = ledger_id if isinstance(ledger_id, int) else None
    return Refusal(
        id=id,
        ts=_text(ts),
        at=utc_seconds(ts),
        ledger_id=number,
        session_id=_text(session),
        tool_name=_text(tool),
        rule=_text(rule),
        severity=_text(severity),
        reason=_text(reason),
        mode=_text(mode),
        call_ids=_call_ids(calls),
    )


def _text(value: Any) -> Inert:
    return inert(str(value or ""))


def _call_ids(text: Any) -> tuple[int | str, ...]:
    try:
        found = json.loads(text) if isinstance(text, str) else []
    except ValueError:
        return ()
    return tuple(one if isinstance(one, int) else inert(str(one)) for one in found) if isinstance(found, list) else ()


def _hits(connection: sqlite3.Connection, table: str, tables: set[str]) -> dict[str, int]:
    if table not in tables:
        return {}
    rows = connection.execute(f"SELECT rule, count(*) FROM {table} GROUP BY rule").fetchall()
    return {inert(str(rule)): int(count) for rule, count in rows}


def _host_version(connection: sqlite3.Connection, tables: set[str]) -> str | None:
    if "writer" not in tables:
        return None
    row = connection.execute(
        "SELECT host_version FROM writer WHERE host_version IS NOT NULL ORDER BY id DESC LIMIT 1"
    ).fetchall()
    return inert(str(row[0][0])) if row else None
