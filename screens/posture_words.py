"""What the Posture screen says. Pure functions over the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent_ledger.engine.posture import EXTENSION, LIMITS, NOT_OBSERVABLE, OFFICIAL, Finding, official_title
from widgets.asi_list import ALL
from widgets.look import count_text
from widgets.severity_sums import signed
from widgets.top_line import Total

from .calls_model import CallsModel
from .posture_model import EVERYTHING, PostureModel

LIMITS_IN_SIGHT = (
    "The agent wrote the records that this is scored from. 100 would mean that none "
    "of them raised suspicion; whether the work was good it would not say (see ?)."
)
"""The limits in two lines of 80 cells; the engine's LIMITS, whole, are in the help."""

SHORT_LIMITS = "Scored from what the agent itself recorded (see ?)"

ROWS_NAMED = 6
"""Calls that the line about a finding names; more are counted."""


def asi_title(key: str) -> str:
    """The title of an id in the list; an extension says so first, where no width cuts it off."""
    if key == ALL:
        return "All findings"
    return f"(extension) {EXTENSION[key].split(' (')[0]}" if key in EXTENSION else OFFICIAL[key]


def is_observable(key: str) -> bool:
    return key not in NOT_OBSERVABLE


def empty_text(model: PostureModel) -> str:
    """What stands where findings would be."""
    if not model.scanned:
        return "scoring…"
    if model.score is None:
        return "Nothing is recorded, so there is no score."
    if model.wanted.asi is not None and model.wanted.asi in NOT_OBSERVABLE:
        return "not observable in a ledger of calls"
    if model.wanted != EVERYTHING and model.all.findings:
        return "nothing fits the filter"
    return "nothing looked suspicious"


def caption(model: PostureModel) -> str:
    """What stands under the digits."""
    if model.score is None:
        return "no score yet: nothing is recorded" if model.scanned else "scoring…"
    return f"{_number(model.all.findings, 'finding')}\nin {_number(model.posture.rows, 'call')}"


def brief(model: PostureModel) -> str:
    """The whole head in one line, for low screens."""
    if model.score is None:
        return "No score: nothing is recorded" if model.scanned else "Scoring…"
    parts = [
        f"{severity.lower()} {found.findings}×{found.points // found.findings}"
        for severity, found in model.severities.items()
        if found.findings
    ]
    return f"Score {signed(model.score)} = 100 − {count_text(model.all.points)}" + (
        f"  ({', '.join(parts)})" if parts else ""
    )


def totals(model: PostureModel) -> tuple[Total, ...]:
    """The top line: the score, and of a narrowed view what it shows. There it moves nothing when it comes and goes."""
    if model.score is None:
        return ()
    score = Total("", signed(model.score), "of 100", "top--quiet")
    if model.wanted == EVERYTHING:
        return (score,)
    shown = f"{count_text(model.shown.findings)} of {_number(model.all.findings, 'finding')}"
    return score, Total("shown:", shown, f"(−{count_text(model.shown.points)})", "top--pending")


def notice(model: PostureModel, calls: CallsModel, trouble: str, line: str) -> str:
    """The line below the top: what is wrong, how far a reading has come, a typed filter. Mostly empty."""
    parts = [text for text in (calls.health.text, trouble) if text]
    if not model.scanned and model.posture.rows:
        total = max(model.posture.rows, calls.totals.rows)
        parts.append(f"Scoring: {count_text(model.posture.rows)} of {count_text(total)} calls, the score is not final")
    if line:
        parts.append(f"Filter: {line}")
    return " · ".join(dict.fromkeys(parts))


def about_id(asi: str | None) -> str:
    """An id without a finding in view: its title, and why there is none where it cannot be seen."""
    if asi is None:
        return ""
    reason = NOT_OBSERVABLE.get(asi, "")
    return f"{asi} {official_title(asi)}" + (f"\n{reason}" if reason else "")


def evidence(one: Finding, name_of: Callable[[str], str]) -> str:
    """The finding at the cursor in full."""
    rows = ", ".join(f"#{row}" for row in one.rows[:ROWS_NAMED]) + (", …" if len(one.rows) > ROWS_NAMED else "")
    calls = f"call {rows}" if len(one.rows) == 1 else f"{len(one.rows)} calls: {rows}"
    where = name_of(one.session_id or "")
    return f"{one.asi} {official_title(one.asi)} · {one.severity} · {calls} · {where}\n{one.evidence}"


def help_notes() -> Iterator[str]:
    """The limits, and what each id means."""
    yield "What a score does not say"
    for sentence in LIMITS:
        yield f"  {sentence}"
    yield ""
    yield "Ids of the OWASP Top 10 for Agentic Applications 2026"
    for asi in (*OFFICIAL, *EXTENSION):
        yield f"  {asi} {official_title(asi)}"
        if asi in NOT_OBSERVABLE:
            yield f"        {NOT_OBSERVABLE[asi]}"


def _number(number: int, what: str) -> str:
    return f"{count_text(number)} {what}{'' if number == 1 else 's'}"
