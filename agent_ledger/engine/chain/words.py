"""What a check of the chain is told as: to a person line by line, to programs as plain values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..inert import inert
from .report import Checked

SHOWN = 10
"""Findings that are told to a person; for programs there are up to a hundred."""


def as_json(report: Checked) -> dict[str, Any]:
    """For programs: findings, counts, the head."""
    found = [{"ledger_id": one.ledger_id, "kind": one.kind, "text": inert(one.text)} for one in report.found]
    return {
        "state": report.state,
        "whole": report.whole,
        "rows": report.rows,
        "records": report.records,
        "uncovered": report.uncovered,
        "pruned": report.pruned,
        "pruned_by_hand": report.by_hand,
        "pruned_at": _pruned_at(report),
        "unproven": report.unproven,
        "first": found[0] if found else None,
        "broken": report.broken,
        "found": found,
        "head": None if report.head is None else str(report.head),
        "expected": report.expected,
        "fixed_from": report.fixed_from,
        "proves": report.proves,
        "altered": report.altered,
        "limits": report.limits,
    }


def as_text(report: Checked, *, asked: bool = False) -> list[str]:
    """For a person: the verdict, what it rests on, what it cannot say. `asked`: about a head that was noted."""
    lines = [_verdict(report)]
    lines += [f"  {inert(one.text)}" for one in report.found[:SHOWN]]
    if report.broken > SHOWN:
        lines.append(f"  and {report.broken - SHOWN} more; --json has the first hundred.")
    if report.uncovered and report.state != "not covered":
        older = ", being older than all that have one" if report.records else ""
        lines.append(f"{_calls(report.uncovered)} without a seal{older}: nothing can be told of them.")
    lines += _altered(report) + _gone(report)
    lines += _head(report, asked)
    return [*lines, *([report.proves] if report.whole and report.records else []), report.limits]


def _verdict(report: Checked) -> str:
    if report.broken:
        found = "1 finding" if report.broken == 1 else f"{report.broken} findings, the first of them"
        return f"Not whole. {_records(report.records)} checked, {found}:"
    if report.state == "not covered":
        return f"{_calls(report.rows)}, none with a seal: there is nothing to check."
    return f"Whole: {_records(report.records)} of {_calls(report.rows - report.uncovered)}."


def _altered(report: Checked) -> list[str]:
    if not report.altered:
        return []
    whose = "it stands" if report.altered == 1 else "they stand"
    return [
        f"{_calls(report.altered)} with secrets that were hidden on the way: that {whose} in place is proven, what was"
        " recorded is not."
    ]


def _gone(report: Checked) -> list[str]:
    lines = []
    if report.pruned:
        at = _pruned_at(report)
        how = f"pruned, last at {at}" if at else "pruned"
        if report.by_hand:
            how = "no record says who took the oldest, so it may have been a person's own DELETE"
        lines.append(f"{_calls(report.pruned)} gone from the ledger: {how}.")
    if report.unproven:
        verb = "record builds" if report.unproven == 1 else "records build"
        lines.append(f"{report.unproven} {verb} on one that went with them: what stood between cannot be proven.")
    return lines


def _pruned_at(report: Checked) -> str | None:
    """When `prune` last ran, to the second; None when it never did, or at a time that is none."""
    if report.pruned_us is None:
        return None
    try:
        return datetime.fromtimestamp(report.pruned_us // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return None


def _head(report: Checked, asked: bool) -> list[str]:
    lines = []
    if report.expected:
        lines.append(f"The head that you noted is still there{_fixed(report)}.")
    elif report.expected is None and asked:
        lines.append(
            "Whether the head that you noted was there cannot be told: where it belongs, records were pruned. Note a"
            " new head after pruning."
        )
    if report.head is not None and report.whole:
        lines.append(f"Head: {report.head}")
        lines.append("Note it where the agent cannot write, and give it to --expect another time.")
    return lines


def _fixed(report: Checked) -> str:
    if not report.whole:
        return ""
    if report.fixed_from is None:
        return ", and so is everything that was recorded before it"
    return (
        f", and so is everything from call #{report.fixed_from} up to it; before that, records are gone, so for older"
        " ones the head is no proof"
    )


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"
