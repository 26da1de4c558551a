"""The shapes of the ledger: four statuses, six states, and one recorded call."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NewType

PENDING = "PENDING"
CONFIRMED = "CONFIRMED"
GHOST_REPORTED = "GHOST_REPORTED"
ERROR_PREFIX = "ERROR:"

UNSETTLED = (PENDING, GHOST_REPORTED)

STATES = ("pending", "overdue", "ghost", "confirmed", "error", "revived")
"""Each row is in exactly one of these; the order is the order of urgency in lists and summaries."""

ARGS_LIMIT = 4000
"""Characters of the argument text that are kept."""

DIGEST_LIMIT = 300
"""Characters of a result that are kept."""

Inert = NewType("Inert", str)
"""Text that went through `inert.inert`: no control character, no bidi control, one line."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that wrote to the ledger (table `writer`)."""

    id: int
    pid: int
    started: str
    """Start mark of the process: kernel ticks since boot, or empty where the system does not tell."""
    boot_id: str
    pid_namespace: str
    machine: str


@dataclass(frozen=True, slots=True)
class Call:
    """One row of the ledger. Text fields are inert already; a column that the file lacks is None."""

    id: int
    ts: Inert | None
    at: float | None
    """The same moment as `ts` in seconds since 1970, or None where the cell holds no time."""
    session_id: Inert | None
    turn_id: Inert | None
    tool_call_id: Inert | None
    task_id: Inert | None
    tool_name: Inert
    args_json: Inert | None
    """Still JSON where it was JSON: hazardous characters became JSON escapes."""
    args_cut: bool
    args_redacted: int
    status: Inert
    effect: str | None
    result_digest: Inert | None
    grace_s: float
    mono: float | None
    writer_id: int | None
    repeat_of: int | None
    nested_in: int | None
    seen: int
    """How often the host announced this very call; more than once means two agents or two copies of the plugin."""
    settled_ts: Inert | None
    duration_ms: int | None
    exit_code: int | None
    closed_by: str | None
    later_status: Inert | None
    """A contradicting settlement that came after the first one, which stands."""
    later_ts: Inert | None
    later_digest: Inert | None
    reported_ts: Inert | None
    no_signal: bool
    """The host was seen never to confirm this tool; grace does not run."""
    changed: int
    """Change counter: microseconds since 1970 at the last change, strictly increasing over the file; 0 if unknown."""
    verdict: Inert | None = None
    """Did it land: `landed`, `absent`, `unknown`; None where nobody has asked. It stands beside the status."""
    evidence: tuple[Inert, ...] = ()
    """What the verdict rests on, one plain sentence each."""
    checked_ts: Inert | None = None
    double_id: int | None = None
    """The same call may have had its effect twice: once lost or failed, once confirmed; this is the other of both."""

    @property
    def settled(self) -> bool:
        return self.status not in UNSETTLED


def known_status(status: str) -> bool:
    """Is it one of the four? Other software writes others, or none."""
    return status in (PENDING, CONFIRMED, GHOST_REPORTED) or status.startswith(ERROR_PREFIX)


def state_of(call: Call, *, age_s: float | None, writer_dead: bool = False) -> str:
    """The one state a row is in, from `STATES`.

    A pending row is overdue when its grace has run out, or at once when the process that alone could
    settle it is proven dead. A row without a readable time counts as overdue: nothing says it is recent.
    A status that is none of the four, or missing, counts among the errors: it was not confirmed and does not wait.
    """
    if call.status == GHOST_REPORTED:
        return "ghost"
    if call.status == PENDING:
        if call.no_signal:
            return "pending"
        if writer_dead:
            return "overdue"
        return "overdue" if age_s is None or age_s > call.grace_s else "pending"
    if call.reported_ts is not None:
        return "revived"
    return "confirmed" if call.status == CONFIRMED else "error"


def age_of(call: Call, *, now: float, mono_now: float | None = None) -> float | None:
    """Seconds since the call was issued, never negative; None where the row has no readable time.

    `mono_now` is given only when the row's writer runs on the same boot of the same machine: the smaller of
    both clocks counts, so that neither a jump of the wall clock nor a suspended machine ages a call.
    """
    if call.at is None:
        return None
    wall = max(0.0, now - call.at)
    if mono_now is None or call.mono is None or mono_now < call.mono:
        return wall
    return min(wall, mono_now - call.mono)


def args_value(call: Call) -> Any:
    """The arguments as JSON value where they are stored whole, else the stored text (None stays None)."""
    if call.args_json is None or call.args_cut or too_deep(call.args_json):
        return call.args_json
    try:
        return json.loads(call.args_json, parse_constant=str)  # NaN is no JSON, though Python writes it.
    except ValueError:
        return call.args_json


DEEPEST = 100
"""Levels of a JSON text that are read. Whoever takes such a value apart or prints it goes down as deep."""

_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def too_deep(text: str) -> bool:
    """Is this JSON nested beyond `DEEPEST`? No call needs that, and how much Python can take depends on who asks."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = deepest = 0
    for mark in re.findall(r"[\[{\]}]", _JSON_TEXT.sub("", text)):
        depth += 1 if mark in "[{" else -1
        deepest = max(deepest, depth)
    return deepest > DEEPEST


def utc_text(seconds: float) -> str:
    """ISO 8601 in UTC with milliseconds and `Z`, as the column `ts` holds it."""
    whole = int(seconds)
    return "%s.%03dZ" % (_second(whole), (seconds - whole) * 1000)  # noqa: UP031 - twice as fast as an f-string


def utc_second(seconds: float) -> str:
    """The same cut to the second: sorts before every `ts` of that second."""
    return _second(int(seconds))


@lru_cache(maxsize=256)
def _second(whole: int) -> str:
    try:
        return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}"
    except OSError as error:  # No calendar goes so far. It lies in the number, and is no trouble that would pass.
        raise ValueError(str(error)) from error


def utc_seconds(value: object) -> float | None:
    """Seconds since 1970 from an ISO 8601 text or a number of epoch seconds; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value) if 0 <= value < 4_200_000_000 else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def storable(text: str) -> str:
    """Text that SQLite and UTF-8 take: half surrogates, which are no characters, become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
