"""What the policies decided: the tables `policy_decision` and `prompt_decision`, for commands and for the app."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert, utc_seconds, utc_text

from .snapshot import Reading

CALLS, MESSAGES = "policy_decision", "prompt_decision"
"""The table of the tool policy, and the one of the prompt policy, in which no row holds a word of a message."""

_PAGE = 1_000

_REFUSALS = f"SELECT id, ts, ledger_id, session_id, tool_name, rule, severity, reason, mode, call_ids FROM {CALLS}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One call that the tool policy refused (`mode` is enforce) or would have (dry_run). Text is inert."""

    id: int
    ts: Inert
    at: float | None
    """`ts` in seconds since 1970."""
    ledger_id: int | None
    session_id: Inert
    tool_name: Inert
    rule: Inert
    severity: Inert
    reason: Inert
    mode: Inert
    call_ids: tuple[int | str, ...]
    """Further calls that belong to it."""


def refusal_json(one: Refusal) -> dict[str, Any]:
    """A refusal as `policy report --json` gives it."""
    return {
        "ledger_id": one.ledger_id,
        "ts": one.ts,
        "session_id": one.session_id,
        "tool_name": one.tool_name,
        "rule": one.rule,
        "severity": one.severity,
        "reason": one.reason,
        "mode": one.mode,
        "call_ids": list(one.call_ids),
    }


def read_refusals(reading: Reading, since: float | None = None) -> Iterator[Refusal]:
    """Oldest first, a page at a time; `since` in seconds since 1970. Nothing where the table is missing."""
    if CALLS not in reading.shape.tables:
        return
    after, start = -1, utc_text(since) if since is not None else ""
    select = f"{_REFUSALS} WHERE id > ? AND ts >= ? ORDER BY id LIMIT ?"
    while page := reading.connection.execute(select, (after, start, _PAGE)).fetchall():
        after = page[-1][0]
        yield from map(_refusal, page)


def newest_refusals(connection: sqlite3.Connection, after: int, most: int) -> tuple[Refusal, ...]:
    """The newest `most` of those behind id `after`, oldest first."""
    select = f"{_REFUSALS} WHERE id > ? ORDER BY id DESC LIMIT ?"
    return tuple(map(_refusal, reversed(connection.execute(select, (after, most)).fetchall())))


def highest_id(connection: sqlite3.Connection, table: str) -> int:
    """0 for an empty table."""
    ((highest,),) = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchall()
    return int(highest)


def hits_by_rule(connection: sqlite3.Connection, table: str) -> dict[str, int]:
    """How often each rule held, over the whole table."""
    rows = connection.execute(f"SELECT rule, count(*) FROM {table} GROUP BY rule").fetchall()
    return {inert(str(rule)): int(count) for rule, count in rows}


def _refusal(row: tuple[Any, ...]) -> Refusal:
    id_, ts, ledger_id, session, tool, rule, severity, reason, mode, calls = row
    return Refusal(
        id=id_,
        ts=_text(ts),
        at=utc_seconds(ts),
        ledger_id=ledger_id if isinstance(ledger_id, int) else None,
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
    except (ValueError, RecursionError):
        return ()
    return tuple(one if isinstance(one, int) else inert(str(one)) for one in found) if isinstance(found, list) else ()
