"""One call told in full: facts, timeline, arguments, result. Pure functions from a row to lines of styled text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo

from rich.table import Table
from rich.text import Text

from agent_ledger.engine.evidence import UNKNOWN
from agent_ledger.engine.inert import inert, inert_lines
from agent_ledger.engine.queries import remarks
from agent_ledger.engine.records import Call, args_value, utc_seconds
from widgets.call_text import error_type
from widgets.look import GLYPHS, NO_SESSION, VERDICT_GLYPHS, age_text, clock_text, countdown_text, took_text

from .calls_model import CallsModel
from .judged import Judged

NAME_WIDTH = 11
"""Cells before a fact's value."""

TIME_WIDTH = 16
"""Cells before what happened: a glyph, and the time to the millisecond."""

REMARK_WIDTH = 2
"""Cells before a remark, and before a sentence of evidence."""

LINES_SHOWN = 2000
"""Lines of arguments that are laid out at most; stored arguments have 4,000 characters."""


def headline(call: Call, state: str) -> Text:
    """`✗ error timeout  terminal  #412`."""
    kind = error_type(call)
    return Text.assemble(
        f"{GLYPHS[state]} {state}", f" {kind}" if kind else "", "  ", call.tool_name, f"  #{call.id}", no_wrap=True
    )


def verdict(call: Call, model: CallsModel) -> str:
    """What is to be thought of this row now; counts down while the call is pending."""
    state = model.state(call)
    if state == "pending":
        remaining = model.remaining(call)
        return "No confirmation is expected" if remaining is None else f"Counts as lost in {countdown_text(remaining)}"
    if state == "overdue":
        if model.writer_dead(call):
            return "Cannot be confirmed any more: its process is gone"
        remaining = model.remaining(call)
        late = "" if remaining is None else f" {age_text(-remaining)} ago"
        return f"Confirmation was due{late}; the agent has not been told yet"
    if state == "ghost":
        told = model.judged(call)
        known = told is not None and told.verdict != UNKNOWN
        return "Never confirmed; the agent has been told" + (
            "" if known else ". Check what is really there before you build on it"
        )
    if state == "revived":
        return "Was reported as lost, and settled after all"
    return "The host confirmed it" if state == "confirmed" else "The host reported a failure"


def landing(told: Judged | None, call: Call, now: float, zone: tzinfo | None, *, here: bool = True) -> Text:
    """Did it land, and since when is that known; of an unconfirmed call also that nobody has looked.

    `here`: is this the machine on which it would have landed?
    """
    if told is None:
        way = "v looks for evidence" if here else "only its own machine has the evidence"
        return Text() if call.settled else Text(f"{VERDICT_GLYPHS['']} not checked: {way}")
    out = Text(f"{VERDICT_GLYPHS.get(told.verdict, '!')} {told.verdict}")
    if told.checked_at is not None:
        ago = age_text(now - told.checked_at)
        out.append(f"  looked at {clock_text(told.checked_at, now, zone)}, {ago} ago", "dim")
    return out


def evidence(told: Judged | None) -> Text:
    """What the verdict rests on, a sentence a line, and whether it will be known tomorrow."""
    if told is None:
        return Text()
    kept = [] if told.kept else ["This is not stored: it is known until the app is left."]
    return Text("\n".join(f"• {sentence}" for sentence in (*told.evidence, *kept)))


def facts(call: Call, session_name: str) -> Text:
    """Names and numbers, one a line; what the ledger does not hold is left out."""
    out = Text()
    session = call.session_id or NO_SESSION
    rows: list[tuple[str, str | None]] = [
        ("session", session if session_name == session else f"{session_name}  {session}"),
        ("turn", call.turn_id),
        ("task", call.task_id),
        ("call id", call.tool_call_id),
        ("status", call.status),
        ("effect", {"done": "done", "none": "none: it never ran", "unknown": "unknown"}.get(call.effect or "")),
        ("grace", age_text(call.grace_s)),
        ("exit code", None if call.exit_code is None else str(call.exit_code)),
        ("closed by", call.closed_by),
    ]
    for name, value in rows:
        if value:
            out.append(f"{name:<{NAME_WIDTH}}", "dim").append(f"{value}\n")
    out.rstrip()
    return out


def timeline(call: Call, model: CallsModel, zone: tzinfo | None) -> Text:
    """Issued, reported, settled, contradicted: the moments in order, each with the time since the one before."""
    state = model.state(call)
    took = took_text(call.duration_ms)
    steps: list[tuple[float | None, str, str]] = [(call.at, "○", "issued")]
    if call.reported_ts is not None:
        steps.append((utc_seconds(call.reported_ts), GLYPHS["ghost"], "reported to the agent as lost"))
    if call.settled:
        how = f"settled: {call.status}" + (f", took {took}" if took else "")
        steps.append((utc_seconds(call.settled_ts), GLYPHS[state], how))
    if call.later_status is not None:
        steps.append((utc_seconds(call.later_ts), "≠", f"contradicted: {call.later_status}"))
    # By time where it is known; the order above where it is not.
    known = [step for step in steps if step[0] is not None]
    steps = sorted(known, key=lambda step: step[0] or 0.0) + [step for step in steps if step[0] is None]
    out, before, day = Text(), None, ""
    for at, glyph, text in steps:
        moment = None if at is None else datetime.fromtimestamp(at, zone)
        if moment is not None and (today := f"{moment:%Y-%m-%d}") != day:
            out.append(f"{today}\n", "dim")
            day = today
        since = "" if at is None or before is None else f"+{_between(at - before)}"
        time = "time unknown" if moment is None else f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
        out.append(f"{glyph} ").append(f"{time}  ", "dim").append(text)
        out.append(f"  {since}\n" if since else "\n", "dim")
        before = at if at is not None else before
    if call.later_digest:
        out.append(f"{'':{TIME_WIDTH}}{call.later_digest}\n", "dim")
    if not call.settled:
        out.append("… ").append(f"{'now':{TIME_WIDTH - 2}}", "dim").append(verdict(call, model)).append("\n")
    out.rstrip()
    return out


def hung(text: Text, width: int) -> Table:
    """`text` with a second column from `width` on: what is too long for its line goes on there, not under the names."""
    grid = Table.grid(expand=True)
    grid.add_column(width=width, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for line in text.split("\n"):
        grid.add_row(line[:width], line[width:])
    return grid


def _between(seconds: float) -> str:
    return took_text(max(0.0, seconds) * 1000)


def remark_lines(call: Call, model: CallsModel) -> Sequence[str]:
    """What must be known beyond the status."""
    return remarks(call, writer_dead=model.writer_dead(call))


def arguments(call: Call) -> Text:
    """The arguments as indented JSON where they are whole, else the stored text; nothing in it is alive."""
    value = args_value(call)
    if value is None:
        return Text("none are stored", "dim")
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    lines = inert_lines(text)
    out = Text("\n".join(lines[:LINES_SHOWN]))
    if call.args_cut:
        out.append("\n… the rest was not stored", "dim")
    return out


def result(call: Call) -> Text:
    """The start of the result, as the host gave it."""
    if call.result_digest is None:
        return Text("nothing has come back" if not call.settled else "none is stored", "dim")
    return Text(inert(call.result_digest))


def repeats(call: Call, same: Sequence[Call], state: Callable[[Call], str]) -> Text:
    """The same call issued at other times, one a line, and with which of them it may have been done twice."""
    out = Text()
    for other in same:
        if other.id == call.id:
            continue
        name = state(other)
        out.append(f"{GLYPHS[name]} {name:<10}").append(f"#{other.id}  ").append(f"{other.ts or ''}", "dim")
        out.append("  possible double\n" if other.id == call.double_id else "\n")
    out.rstrip()
    return out
