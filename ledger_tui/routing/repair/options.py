"""Rows that a person may choose from, for many lost rows at once: the evidence alone names none of them."""

from __future__ import annotations

from collections.abc import Collection

from ..orphans import MAX_GAP_S, Donors
from ..rows import Session
from .adoption import refusal
from .plan import Findings

MOST = 20
"""Most rows per lost row and user; a busy window holds no end of them."""


def options(
    findings: Findings, orphan_ids: Collection[str], *, max_gap_s: float = MAX_GAP_S
) -> dict[str, tuple[str, ...]]:
    """By lost row: its parent, what the findings name, and whatever fell quiet near its start, if it may be chosen."""
    sessions, owner = findings.store.sessions, findings.store.owner
    rows = [sessions[key] for key in orphan_ids if key in sessions]
    named: dict[str, list[str]] = {row.id: [row.parent_session_id] if row.parent_session_id else [] for row in rows}
    for one in findings.orphans:
        if one.orphan_id in named and one.donor_id is not None:
            named[one.orphan_id].append(one.donor_id)
    for more in findings.further:
        if more.orphan_id in named:
            named[more.orphan_id] += more.donor_ids
    adrift = [row for row in rows if not row.parent_session_id]
    if adrift:
        donors = Donors((row for row in sessions.values() if row.session_key), owner, asked=adrift)
        for row in adrift:
            named[row.id] += [donor.id for donor in donors.near(row, max_gap_s, MOST)]
    return {
        row.id: tuple(key for key in dict.fromkeys(named[row.id]) if _fits(row, sessions.get(key), owner))
        for row in rows
    }


def _fits(row: Session, donor: Session | None, owner: str | None) -> bool:
    return not refusal(row, donor, owner)
