"""A posture in words and as JSON: the score, the arithmetic behind it, and what it does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..inert import inert
from ..redact import redact_text
from ..severity import SEVERITIES, SEVERITY_WEIGHT
from .catalogue import EXTENSION, LIMITS, NOT_OBSERVABLE, official_title
from .score import Posture

NOTHING = "There is no score, since nothing was recorded."

NOT_THERE = (
    "This file is not there: no call was recorded yet, or the agent has another home (HERMES_HOME), or no plugin in it."
)

FORMULA = "score = 100 - the weights of all findings: " + ", ".join(
    f"{name} {SEVERITY_WEIGHT[name]}" for name in SEVERITIES
)


def as_json(posture: Posture) -> Mapping[str, Any]:
    """The shape of `posture --json`. `counts` is by severity; `ids` has every id, `extension` what is not official."""
    by_id = posture.ids()
    return {
        "score": posture.score,
        "rows": posture.rows,
        "formula": FORMULA,
        "weights": dict(SEVERITY_WEIGHT),
        "counts": posture.severities(),
        "ids": {asi: _total(asi, *by_id[asi]) for asi in by_id if asi not in EXTENSION},
        "extension": {asi: _total(asi, *by_id[asi]) for asi in EXTENSION},
        "findings": [one.as_json() for one in posture.findings],
        "trust": list(LIMITS),
    }


def _total(asi: str, findings: int, points: int) -> Mapping[str, Any]:
    reason = NOT_OBSERVABLE.get(asi)
    if reason is not None:
        return {"title": official_title(asi), "observable": False, "reason": reason, "findings": None, "points": None}
    return {"title": official_title(asi), "observable": True, "findings": findings, "points": points}


def as_text(posture: Posture, name: str, *, there: bool = True) -> Iterator[str]:
    """Lines for a person: every finding with the score after it, totals, limits. `name` says which ledger, and `there`
    whether there is one."""
    yield f"Ledger  {inert(name)}"
    if posture.score is None:
        yield from _no_score(there)
    else:
        yield f"Score   {posture.score}, from {posture.rows:,} recorded calls and {len(posture.findings):,} findings"
        yield f"        {FORMULA}"
        yield ""
        yield from _column(posture)
        yield ""
        yield from _totals(posture)
    yield ""
    yield "What this does not say:"
    yield from (f"- {limit}" for limit in LIMITS)


def as_message(posture: Posture, name: str, since: str, *, there: bool = True) -> list[str]:
    """The same in short lines for a small screen. Secrets are looked for once more."""
    lines = [f"Agent posture, since {inert(since)}", inert(name)]
    if posture.score is None:
        lines.extend(_no_score(there))
    else:
        lines.append(f"Score {posture.score}: {posture.rows:,} calls, {len(posture.findings):,} findings")
        lines.append(FORMULA)
        lines.extend(_short_column(posture))
    return [redact_text(line)[0] for line in (*lines, "", *(f"- {limit}" for limit in LIMITS))]


def _no_score(there: bool) -> list[str]:
    return [NOTHING] if there else [NOTHING, NOT_THERE]


def _short_column(posture: Posture) -> Iterator[str]:
    left = 100
    for one in posture.findings:
        left -= one.weight
        asi = f"{one.asi} (extension)" if one.asi in EXTENSION else one.asi
        yield f"-{one.weight} = {left}  {asi} {one.rule} #{one.ledger_id} {one.tool_name}: {one.evidence}"


def _column(posture: Posture) -> Iterator[str]:
    """The arithmetic, a line for each finding: what it takes, and what is left."""
    left = 100
    yield f"{'':>6}  {left:>6}  to start with"
    for one in posture.findings:
        left -= one.weight
        where = " ".join(f"#{row}" for row in one.rows[:8]) + (" …" if len(one.rows) > 8 else "")
        head = f"{-one.weight:>6}  {left:>6}  {one.severity:<8}  {one.asi}  {one.rule}"
        yield f"{head}  {where}  {str(one.ts or '?')[:19]}  {one.tool_name}  {one.session_id or '-'}"
        yield f"{'':>16}{one.evidence}"


def _totals(posture: Posture) -> Iterator[str]:
    """By severity and by id; what cannot be seen is named, and what is no official id stands apart."""
    counts = posture.severities()
    yield "By severity: " + ", ".join(
        f"{counts[name]} {name} x {SEVERITY_WEIGHT[name]} = {counts[name] * SEVERITY_WEIGHT[name]}"
        for name in SEVERITIES
    )
    for asi, (findings, points) in posture.ids().items():
        if asi in EXTENSION:
            yield "Beside the official list:"
        seen = NOT_OBSERVABLE.get(asi) or f"{findings} findings, {points} points"
        yield f"  {asi}  {official_title(asi)}: {seen}"
