"""Verdicts for the notice to the agent: what can be told in the few milliseconds that a hook may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..paths import Paths
from ..store import Store
from . import recorded
from .facts import Facts
from .recorded import COLUMNS
from .verdict import UNKNOWN, Verdict
from .verdicts import keep
from .verify import verify

BUDGET_S = 0.025
"""Longest time for all verdicts of one notice; what does not fit in it is called not checked."""


HOOK_S = 0.045
"""So long after the hook began nothing more is looked at, whatever is left of the budget."""


def in_hook(
    store: Store, paths: Paths, ids: Sequence[int], *, now: float, mono: Callable[[], float], begun: float
) -> dict[int, Verdict]:
    """Verdicts by call, kept beside the calls in the caller's transaction; a call that was not checked is missing."""
    marks = ",".join("?" * len(ids))
    rows = store.connection.execute(*recorded.query(COLUMNS, f"WHERE id IN ({marks}) ORDER BY id", ids)).fetchall()
    facts = Facts(paths, now=now, ledger=store.connection, deadline=min(begun + HOOK_S, mono() + BUDGET_S), mono=mono)
    found: dict[int, Verdict] = {}
    try:
        for call in map(recorded.from_row, rows):
            if facts.time_is_up:
                break
            verdict = verify(call, facts)
            if verdict.verdict != UNKNOWN or not facts.time_is_up:
                found[call.id] = verdict
    finally:
        facts.close()
    keep(store.connection, list(found.items()))
    return found
