"""Which calls are in view: the lists of the three panes, and whether a call belongs there. No Textual."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_ledger.engine.queries import UNCHECKED, Filter
from agent_ledger.engine.records import Call, utc_seconds

from .call_lists import SortedCalls, Window
from .judged import Judged

_KEEPING_US = 1_000_000
"""A verdict that is kept raises a row's change counter to the time of the look, or to little more."""


@dataclass(slots=True)
class View:
    """Which rows are wanted, and the rows themselves, one list a pane."""

    wanted: Filter = field(default_factory=Filter)
    pending: SortedCalls = field(default_factory=SortedCalls)
    ghosts: SortedCalls = field(default_factory=SortedCalls)
    settled: Window = field(default_factory=Window)


def acted(call: Call) -> int:
    """When the call itself last changed, in microseconds since 1970: that somebody looked at it does not count."""
    checked = utc_seconds(call.checked_ts)
    if checked is None or not 0 <= call.changed - int(checked * 1_000_000) < _KEEPING_US:
        return call.changed
    moments = map(utc_seconds, (call.ts, call.settled_ts, call.reported_ts, call.later_ts))
    return int(max((moment for moment in moments if moment is not None), default=0.0) * 1_000_000)


def fits(call: Call, state: str, told: Judged | None, wanted: Filter) -> bool:
    """Is the call, in this state and with this verdict, among the wanted ones?"""
    if wanted.states is not None and state not in wanted.states:
        return False
    if wanted.session_id is not None and (call.session_id or "") != wanted.session_id:
        return False
    if wanted.tool_name is not None and call.tool_name != wanted.tool_name:
        return False
    if wanted.since is not None and (call.at is None or call.at < wanted.since):
        return False
    if wanted.until is not None and (call.at is None or call.at > wanted.until):
        return False
    if wanted.verdicts is not None and (UNCHECKED if told is None else told.verdict) not in wanted.verdicts:
        return False
    return not wanted.text or _contains(call, wanted.text)


def _contains(call: Call, text: str) -> bool:
    """The same fields that the ledger's own text search looks at."""
    needle = text.casefold()
    fields = (call.args_json, call.result_digest, call.tool_name, call.session_id, call.tool_call_id)
    return any(needle in field.casefold() for field in fields if field)
