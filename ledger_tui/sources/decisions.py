"""What the tool policy refused, or would have, from the ledger's table `policy_decision`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert, utc_text

from .snapshot import Reading

_PAGE = 1_000

_READ = (
    "SELECT id, ts, ledger_id, session_id, tool_name, rule, severity, reason, mode, call_ids FROM policy_decision"
    " WHERE id > ? AND ts >= ? ORDER BY id LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """One refusal. `mode` tells whether it was one (`enforce`) or only recorded (`dry_run`)."""

    id: int
    ts: Inert
    ledger_id: int | None
    session_id: Inert
    tool_name: Inert
    rule: Inert
    severity: Inert
    reason: Inert
    mode: Inert
    call_ids: tuple[int | str, ...]


def read_decisions(reading: Reading, since: float | None = None) -> Iterator[PolicyDecision]:
    """Oldest first, a page at a time; `since` in seconds since 1970. Nothing where the table is missing."""
    if "policy_decision" not in reading.shape.tables:
        return
    after, start = -1, utc_text(since) if since is not None else ""
    while True:
        rows = reading.connection.execute(_READ, (after, start, _PAGE)).fetchall()
        for number, ts, ledger_id, session, tool, rule, severity, reason, mode, calls in rows:
            texts = [inert(str(value or "")) for value in (ts, session, tool, rule, severity, reason, mode)]
            ts_, session_, tool_, rule_, severity_, reason_, mode_ = texts
            yield PolicyDecision(
                number, ts_, ledger_id, session_, tool_, rule_, severity_, reason_, mode_, _call_ids(calls)
            )
        if len(rows) < _PAGE:
            return
        after = rows[-1][0]


def _call_ids(text: object) -> tuple[int | str, ...]:
    try:
        found = json.loads(text) if isinstance(text, str) else []
    except ValueError:
        return ()
    return tuple(one if isinstance(one, int) else inert(str(one)) for one in found) if isinstance(found, list) else ()
