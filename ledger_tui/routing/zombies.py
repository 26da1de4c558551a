"""Rows that a chat would fall back into: still alive to the host's search, while the talk went on elsewhere.

Sources: hermes-agent #82616 (the incident), #78232 (a row of weeks ago, reopened), #46934, #66255.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert

from .further import SPOKEN_AGAIN, Further
from .orphans import MAX_GAP_S, Donors, Orphan
from .owners import is_gateway
from .read import Store
from .resolver import Peer, Resolver
from .rows import Session

DORMANT_S = 7 * 86_400.0
"""Silence after which a row that is still open is worth a word."""

Grade = Literal["proven", "contested", "spoken-again", "dormant"]


@dataclass(frozen=True, slots=True)
class Zombie:
    """A keyed row that the host's search answers with though it should not. Raw ids."""

    session_id: str
    grade: Grade
    orphan_ids: tuple[str, ...]
    """Rows that go on where this one stopped; none for a dormant one."""
    text: Inert
    """One plain sentence."""


def find_zombies(
    store: Store,
    orphans: Iterable[Orphan],
    further: Iterable[Further] = (),
    *,
    now: float,
    max_gap_s: float = MAX_GAP_S,
) -> tuple[Zombie, ...]:
    """Every zombie, in the order of the rows. `now` in seconds since 1970."""
    sessions = store.sessions
    alive = _alive(store)
    claims = _claims(store, orphans, further, max_gap_s)
    found = []
    for key in sessions:
        if key in alive:
            zombie = _graded(sessions[key], claims.get(key, {}), now)
            if zombie is not None:
                found.append(zombie)
    return tuple(found)


def _alive(store: Store) -> set[str]:
    """Keyed rows that the host's search would answer with for their own chat."""
    sessions = store.sessions
    resolver = Resolver(sessions.values(), store.owner, recent=store.recent_host)
    peers: dict[tuple[str, str], Session] = {}
    for row in sessions.values():
        if row.session_key and is_gateway(row.source):
            peers.setdefault((row.source, row.session_key), row)
    answers = (resolver.resolve(Peer(row.source, row.session_key or "")) for row in peers.values())
    return {answer.id for answer in answers if answer is not None}


_Claims = dict[str, dict[Grade, list[str]]]


def _claims(store: Store, orphans: Iterable[Orphan], further: Iterable[Further], max_gap_s: float) -> _Claims:
    """By donor: the orphans that go on where it stopped, by how sure that is."""
    claims: _Claims = defaultdict(lambda: defaultdict(list))
    donors: Donors | None = None
    for one in orphans:
        if one.donor_id is not None:
            claims[one.donor_id]["proven" if one.adoptable else "contested"].append(one.orphan_id)
        elif one.reason.startswith("ambiguous"):
            donors = donors or Donors(store.sessions.values(), store.owner)
            for donor in donors.near(store.sessions[one.orphan_id], max_gap_s, limit=20):
                claims[donor.id]["contested"].append(one.orphan_id)
    for extra in further:
        grade: Grade = "spoken-again" if extra.kind == SPOKEN_AGAIN else "proven" if extra.adoptable else "contested"
        for donor_id in extra.donor_ids:
            if extra.orphan_id not in claims[donor_id]["proven"]:
                claims[donor_id][grade].append(extra.orphan_id)
    return claims


def _graded(row: Session, claims: dict[Grade, list[str]], now: float) -> Zombie | None:
    proven, contested, again = (claims.get(grade, []) for grade in ("proven", "contested", "spoken-again"))
    if len(proven) == 1 and not contested:
        text = "The next message after a restart lands here, while the conversation went on in a row without identity."
        return Zombie(row.id, "proven", tuple(proven), inert(text))
    if proven or contested:
        text = "The next message after a restart lands here; which row carries the conversation on is not certain."
        return Zombie(row.id, "contested", tuple(dict.fromkeys(proven + contested)), inert(text))
    if again:
        text = (
            "It was silent while another row without identity carried a conversation on, and then was spoken in again."
        )
        return Zombie(row.id, "spoken-again", tuple(dict.fromkeys(again)), inert(text))
    quiet = row.last_active
    if row.open and quiet is not None and now - quiet >= DORMANT_S:
        days = int((now - quiet) // 86_400)
        text = f"Open and silent for {days} days: the next message of its chat goes on in it. No row took over from it."
        return Zombie(row.id, "dormant", (), inert(text))
    return None
