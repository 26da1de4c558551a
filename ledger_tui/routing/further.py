"""Lost rows that the host's own finder misses or cannot mend, and what is to be said of each.

Sources: Hermes 0.22.2, its finder and adoption run on stores made for it; hermes-agent #82616, #82712.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .orphans import MAX_GAP_S, Donors, Orphan, same_profile
from .owners import is_gateway
from .read import Store
from .rows import Session

EMPTY_KEY = "empty-key"
EMPTY_PARENT = "empty-parent"
EMPTY_DONOR = "empty-donor"
CHAIN = "chain"
SPOKEN_AGAIN = "spoken-again"
MARKED = "marked"


@dataclass(frozen=True, slots=True)
class Further:
    """One finding of ours. Raw ids."""

    orphan_id: str
    kind: str
    """`empty-key`, `empty-parent`, `empty-donor`, `chain`, `spoken-again` or `marked`."""
    donor_ids: tuple[str, ...]
    adoptable: bool
    """Sure enough to be adopted without a person's choice."""
    reason: str
    """One plain sentence."""
    gateway: bool


def find_further(store: Store, orphans: Sequence[Orphan], *, max_gap_s: float = MAX_GAP_S) -> tuple[Further, ...]:
    """What goes beyond the host's findings."""
    found = [_empty_parent(one) for one in orphans if _has_empty_parent(store, one)]
    found += _chains(store, orphans)
    return tuple(found)


def candidates(store: Store, orphan_id: str, *, max_gap_s: float = MAX_GAP_S, limit: int = 20) -> tuple[str, ...]:
    """Rows that a person may choose from for this orphan: its parent, or all that fell quiet near its start."""
    row = store.sessions[orphan_id]
    if row.parent_session_id:
        parent = store.sessions.get(row.parent_session_id)
        fits = parent is not None and parent.session_key and same_profile(parent, row, store.owner)
        return (parent.id,) if parent is not None and fits and parent.source == row.source else ()
    donors = Donors((one for one in store.sessions.values() if one.session_key), store.owner)
    return tuple(donor.id for donor in donors.near(row, max_gap_s, limit) if donor.id != orphan_id)


def _has_empty_parent(store: Store, one: Orphan) -> bool:
    return one.adoptable and store.sessions[one.orphan_id].parent_session_id == ""


def _empty_parent(one: Orphan) -> Further:
    reason = "its parent is an empty text, on which the host's own repair stops half-way; here it counts as none"
    return Further(one.orphan_id, EMPTY_PARENT, (one.donor_id or "",), True, reason, one.gateway)


def _chains(store: Store, orphans: Sequence[Orphan]) -> list[Further]:
    """Orphans below an orphan: the upper one's identity comes down to them."""
    adoptable = {one.orphan_id for one in orphans if one.adoptable}
    below: dict[str, list[Orphan]] = {}
    for one in orphans:
        parent = store.sessions[one.orphan_id].parent_session_id
        if parent and not one.adoptable:
            below.setdefault(parent, []).append(one)
    found = []
    pending = list(adoptable)
    while pending:
        upper = pending.pop()
        for one in below.pop(upper, ()):
            if _fits(store.sessions[upper], store.sessions[one.orphan_id], store.owner):
                reason = "its parent is an orphan itself, whose identity comes down to it once that one is mended"
                found.append(Further(one.orphan_id, CHAIN, (upper,), True, reason, one.gateway))
                pending.append(one.orphan_id)
    return found


def _fits(upper: Session, lower: Session, owner: str | None) -> bool:
    return upper.source == lower.source and same_profile(upper, lower, owner) and is_gateway(lower.source)
