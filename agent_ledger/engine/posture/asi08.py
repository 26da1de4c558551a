"""ASI08: failures that pull others along: errors in bursts, blind retries and repeats, lost calls, time-outs."""

from __future__ import annotations

from ..severity import HIGH, MEDIUM
from ..tools import only_looks
from .finding import Finding, finding
from .memory import ERRORS, ERRORS_S, Run, Session
from .rows import Row

RETRIES = 3
REPEATS = 3
REPEATS_S = 600.0
"""Longest gap between two identical calls of one row."""

LOST = 3
SPREAD, SPREAD_S = 3, 300.0

_BY_NATURE_ALIKE = ("browser_", "computer_use", "spotify_", "ha_")
"""Tools of which the same call means something new each time: another key press, another page."""


def error_burst(row: Row, rows: tuple[int, ...]) -> Finding:
    """The finding for errors that `rows` reached."""
    return finding("error-burst", "ASI08", MEDIUM, row, f"{ERRORS} failed calls within {ERRORS_S:.0f} s", rows)


def retries(run: Run) -> tuple[tuple[int, ...], str] | None:
    """The rows and the text of a finding: the same call failed again and again, and nothing changed in between."""
    rows = run.failed_since_success()
    if len(rows) < RETRIES:
        return None
    return rows[:RETRIES], f"the same {run.first.tool_name} call failed {RETRIES} times in a row"


def repeats(run: Run) -> tuple[tuple[int, ...], str] | None:
    """The same for calls that were carried out, or may have been."""
    rows, tool = run.not_failed(), run.first.tool_name
    if len(rows) < REPEATS or tool.startswith(_BY_NATURE_ALIKE) or only_looks(tool, run.first.args_text):
        return None
    return rows[:REPEATS], f"the same {tool} call issued {REPEATS} times in a row, nothing recorded in between"


def lost(session: Session) -> tuple[tuple[int, ...], str] | None:
    """Calls of this session that stand as lost."""
    rows = tuple(sorted(session.lost))[:LOST]
    return (rows, f"{LOST} calls of one session were never confirmed") if len(rows) == LOST else None


def spread(row: Row, session: Session) -> Finding | None:
    """Time-outs of different tools close together; once, then it starts anew."""
    if row.at is None:
        return None
    session.timeouts.append((row.at, row.id, row.tool_name))
    near: dict[str, int] = {}
    for at, row_id, tool in session.timeouts:
        if abs(row.at - at) <= SPREAD_S:
            near.setdefault(tool, row_id)
    if len(near) < SPREAD:
        return None
    session.timeouts.clear()
    text = f"{SPREAD} different tools timed out within {SPREAD_S / 60:.0f} min: {', '.join(sorted(near))}"
    return finding("timeouts-spread", "ASI08", HIGH, row, text, tuple(sorted(near.values())))


DOUBLED_TEXT = "the host announced this very call more than once: two agents or two copies of the plugin are at work"
DOUBLED_SEVERITY = MEDIUM
RUN_SEVERITY = MEDIUM
LOST_SEVERITY = HIGH
