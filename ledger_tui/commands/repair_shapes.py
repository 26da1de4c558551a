"""A repair as JSON, cell by cell and exact, and as text for a person, where everything is inert."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from agent_ledger.engine.inert import clip, inert
from agent_ledger.engine.records import utc_text
from ledger_tui.commands.output import amount
from ledger_tui.routing.cards import card
from ledger_tui.routing.repair.apply import PROOFS, Applied
from ledger_tui.routing.repair.cells import Cell
from ledger_tui.routing.repair.holders import SafetyCheck
from ledger_tui.routing.repair.options import options
from ledger_tui.routing.repair.plan import LEFT_OUT, Adoption, Answer, Change, Ending, Findings, Plan
from ledger_tui.routing.rows import usable
from ledger_tui.routing.zombies import Zombie

_WIDE = 100
_MOST = 5
"""Rows to choose from that are shown for one lost row."""
_MOST_DORMANT = 10
_TIMES = frozenset({"ended_at"})


def as_json(
    findings: Findings | None,
    plan: Plan | None,
    checks: Sequence[SafetyCheck],
    unfinished: Sequence[str],
    dormant: Sequence[Zombie] = (),
    applied: Applied | None = None,
) -> dict[str, Any]:
    """The document of `repair-routing --json`. Ids and cells are the exact values."""
    adoptions = [_adoption(one) for one in plan.adoptions] if plan else []
    endings = [{"session_id": one.session_id, "changes": _changes(one.changes)} for one in plan.endings] if plan else []
    return {
        "records": [asdict(one) for one in findings.orphans] if findings else [],
        "further": [asdict(one) for one in findings.further] if findings else [],
        "plan": adoptions,
        "endings": endings,
        "applied": adoptions if applied else [],
        "skipped": _skipped(findings, plan) if findings and plan else [],
        "dormant": [{"session_id": one.session_id, "text": one.text} for one in dormant],
        "answers": [asdict(one) for one in (applied.answers if applied else plan.answers)] if plan else [],
        "checks": [asdict(one) for one in (applied.checks if applied else checks)],
        "unfinished": list(unfinished),
        "repair_id": applied.repair_id if applied else None,
        "backup": str(applied.backup) if applied else None,
    }


def _skipped(findings: Findings, plan: Plan) -> list[dict[str, Any]]:
    """With the rows that a person may choose from."""
    choices = options(findings, [one.orphan_id for one in plan.skipped], max_gap_s=plan.asked.max_gap_s)
    return [{**asdict(one), "candidates": list(choices.get(one.orphan_id, ()))} for one in plan.skipped]


def _adoption(one: Adoption) -> dict[str, Any]:
    return {
        "orphan_id": one.orphan_id, "donor_id": one.donor_id, "evidence": one.evidence, "chosen": one.chosen,
        "changes": _changes(one.changes), "notes": list(one.notes),
    }  # fmt: skip


def _changes(changes: Iterable[Change]) -> list[dict[str, Any]]:
    return [
        {"session_id": one.session_id, "column": one.column, "before": exact(one.before), "after": exact(one.after)}
        for one in changes
    ]


def exact(cell: Cell) -> Any:
    """A cell for JSON; bytes as an object, since JSON has none."""
    return {"bytes": cell.hex()} if isinstance(cell, bytes) else cell


def preview(findings: Findings, plan: Plan) -> Iterator[str]:
    """What would be done, for a person."""
    lost = sum(one.gateway for one in findings.orphans)
    yield (
        f"{amount(lost, 'conversation')} of messaging platforms without a routing key;"
        f" {len(plan.adoptions)} can be brought back."
    )
    counts = {one.orphan_id: one.message_count for one in findings.orphans}
    for one in plan.adoptions:
        yield ""
        yield from _shown(one, counts.get(one.orphan_id), findings)
    for ending in plan.endings:
        yield ""
        yield from _ended(ending, findings)
    if plan.answers:
        yield ""
        yield "Where each chat goes on after the next start of the gateway:"
        yield from (line for one in plan.answers for line in answer_lines(one))
    if plan.skipped:
        yield ""
        yield "Left as they are:"
        yield from _left(findings, plan)


def dormant_lines(dormant: Sequence[Zombie]) -> Iterator[str]:
    """Sessions that a person may want to end; nothing else ever does."""
    if dormant:
        yield ""
        yield "Open and silent for long; whether that talk is over, only you know:"
    yield from (f"  --end {shlex.quote(inert(one.session_id))}  {one.text}" for one in dormant[:_MOST_DORMANT])
    if len(dormant) > _MOST_DORMANT:
        yield f"  and {len(dormant) - _MOST_DORMANT} more; --json has them"


def _left(findings: Findings, plan: Plan) -> Iterator[str]:
    """What is not brought back, why, and what a person may choose from."""
    choices = options(findings, [one.orphan_id for one in plan.skipped], max_gap_s=plan.asked.max_gap_s)
    for one in plan.skipped:
        yield f"  {inert(one.orphan_id)}: {inert(one.reason)}"
        found = () if one.reason == LEFT_OUT else choices.get(one.orphan_id, ())
        yield from (f"    {_candidate(findings, one.orphan_id, key)}" for key in found[:_MOST])
        if len(found) > _MOST:
            yield f"    and {len(found) - _MOST} more; --json has them"


def _candidate(findings: Findings, orphan_id: str, key: str) -> str:
    """What to add to the command, as a shell takes it, and of whom it speaks."""
    row = card(findings.store.sessions[key])
    named = f"  {clip(row.name, 30)}" if row.named else ""
    quiet = f", quiet since {utc_text(row.last_active)}" if row.last_active is not None else ""
    pair = shlex.quote(f"{inert(orphan_id)}={row.id}")
    return f"--choose {pair}{named}  {amount(row.messages, 'message')}{quiet}"


def _shown(one: Adoption, messages: int | None, findings: Findings) -> Iterator[str]:
    row = findings.store.sessions[one.orphan_id]
    said = messages if messages is not None else row.messages
    why = f"{one.evidence}, chosen by a person" if one.chosen and one.evidence != "choice" else one.evidence
    yield (
        f"{inert(one.orphan_id)}  {inert(row.source)}, {amount(said, 'message')}"
        f"{_span(row.started_at, row.last_active)}"
    )
    yield f"  continues {inert(one.donor_id)} (evidence: {why})"
    session = one.orphan_id
    for change in one.changes:
        if change.session_id != session:
            session = change.session_id
            yield f"  and {inert(session)}:"
        before, after = (cell_text(cell, change.column) for cell in (change.before, change.after))
        yield f"    {change.column}: {before} -> {after}"
    yield from (f"  Note: {note}" for note in one.notes)


def _ended(one: Ending, findings: Findings) -> Iterator[str]:
    row = findings.store.sessions[one.session_id]
    span = _span(row.started_at, row.last_active)
    yield f"{inert(row.id)}  {inert(row.source)}, {amount(row.messages, 'message')}{span}"
    yield "  is ended because you say so"
    for change in one.changes:
        yield f"    {change.column}: {cell_text(change.before)} -> {cell_text(change.after, change.column)}"


def _span(start: float | None, end: float | None) -> str:
    first, last = usable(start), usable(end)
    if first is None or last is None:
        return ""
    return f", {utc_text(first)} to {utc_text(last)}"


def cell_text(cell: Cell, column: str = "") -> str:
    """One cell on one line: `NULL`, a number, text in quotes, a time with its date."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"{amount(len(cell), 'byte')} that are no text"
    if isinstance(cell, str):
        return f"'{clip(inert(cell), _WIDE)}'"
    moment = usable(cell) if column in _TIMES else None
    return f"{cell!r} ({utc_text(moment)})" if moment is not None else repr(cell)


def answer_lines(one: Answer) -> Iterator[str]:
    yield f"  {inert(one.session_key)} ({inert(one.source)})"
    yield f"    now: {row_text(one.before_id)}; then: {row_text(one.after_id)}. {one.text}"


def row_text(session_id: str | None) -> str:
    """Where a chat goes on."""
    return "a new conversation" if session_id is None else inert(session_id)


def check_lines(checks: Iterable[SafetyCheck], *, done: bool = False) -> Iterator[str]:
    """One line per check, and below it what to do. Once it is `done`, what had to be done before it is not said."""
    words = {"ok": "ok  ", "fail": "FAIL", "unknown": "?   "}
    for check in checks:
        yield f"  {words[check.state]}  {check.name}: {check.text}"
        if check.remedy and not (done and check.name not in PROOFS):
            yield f"        -> {check.remedy}"
