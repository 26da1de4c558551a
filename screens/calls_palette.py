"""Commands that the palette offers on the Calls screen: ready filters, and a jump to each session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from agent_ledger.engine.evidence.verdict import VERDICTS
from widgets.look import NO_SESSION

from .commands import Command

SESSIONS_OFFERED = 200


def filters(filter_by: Callable[[str], None]) -> Iterable[Command]:
    """Show the calls of one state, or with one verdict."""
    for state in ("overdue", "ghost", "error", "revived", "pending", "confirmed"):
        yield Command(f"Show only: {state}", f"Filter by state:{state}", partial(filter_by, f"state:{state}"))
    for verdict in VERDICTS:
        yield Command(f"Show only: {verdict}", f"Filter by verdict:{verdict}", partial(filter_by, f"verdict:{verdict}"))


def sessions(ids: Sequence[str], name_of: Callable[[str], str], jump: Callable[[str], None]) -> Iterable[Command]:
    """Show the calls of one session; the most recent ones only."""
    for key in ids[:SESSIONS_OFFERED]:
        yield Command(f"Session: {name_of(key)}", f"Show the calls of {key or NO_SESSION}", partial(jump, key))
