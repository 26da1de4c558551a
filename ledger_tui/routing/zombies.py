"""Rows that a chat would fall back into: still alive to the host's search, while the talk went on elsewhere.

Sources: hermes-agent #82616 (the incident), #78232 (a row of weeks ago, reopened), #46934, #66255.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert

from .further import Further
from .orphans import AMBIGUOUS, MAX_GAP_S, Donors, Orphan
from .owners import is_gateway
from .read import Store
from .resolver import Peer, Resolver
from .routes import waits_for_resume
from .rows import Session

DORMANT_S = 7 * 86_400.0
"""Silence after which a row that is still open is worth a word."""

_RIVALS = 20
"""Most keyed rows per user that are named for one ambiguous orphan."""

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
    answers: frozenset[str] | None = None,
) -> tuple[Zombie, ...]:
    """Every zombie, in the order of the rows. `now` in seconds since 1970; `answers` where they are known already."""
    alive = host_answers(store) if answers is None else answers
    claims = _claims(store, orphans, further, alive, max_gap_s)
    found = []
    for key, row in store.sessions.items():
        if key in alive:
            zombie = _graded(row, claims.get(key, {}), now, store.routes)
            if zombie is not None:
                found.append(zombie)
    return tuple(found)


def host_answers(store: Store) -> frozenset[str]:
    """Rows of messaging platforms that the host's search would open for the next message of their own chat."""
    sessions = store.sessions
    resolver = Resolver(sessions.values(), store.owner, recent=store.recent_host)
    peers = {(row.source, row.session_key) for row in sessions.values() if row.session_key and is_gateway(row.source)}
    found = (resolver.resolve(Peer(source, key or "")) for source, key in peers)
    return frozenset(row.id for row in found if row is not None)


_Claims = dict[str, dict[Grade, list[str]]]


def _claims(
    store: Store, orphans: Iterable[Orphan], further: Iterable[Further], alive: frozenset[str], max_gap_s: float
) -> _Claims:
    """By donor that would be opened: the orphans that go on where it stopped, by how sure that is."""
    claims: _Claims = defaultdict(lambda: defaultdict(list))

    def claim(donor_id: str, orphan_id: str, grade: Grade) -> None:
        if donor_id in alive:
            later = _spoke_later(store.sessions[donor_id], store.sessions[orphan_id])
            claims[donor_id]["spoken-again" if later else grade].append(orphan_id)

    ours = {one.orphan_id: one for one in further}
    for mine in ours.values():
        for donor_id in mine.donor_ids:
            claim(donor_id, mine.orphan_id, "proven" if mine.adoptable else "contested")
    for one, donor_id in _by_the_host(store, orphans, alive, max_gap_s):
        extra = ours.get(one.orphan_id)
        if extra is None or (donor_id not in extra.donor_ids and not extra.adoptable):
            claim(donor_id, one.orphan_id, "proven" if one.adoptable else "contested")
    return claims


def _by_the_host(
    store: Store, orphans: Iterable[Orphan], alive: frozenset[str], max_gap_s: float
) -> Iterator[tuple[Orphan, str]]:
    """The host's records with every row that they may continue; where there are several, with those in `alive`."""
    several = []
    for one in orphans:
        if one.donor_id is not None:
            yield one, one.donor_id
        elif one.reason == AMBIGUOUS:
            several.append(one)
    if several:
        rows = [store.sessions[one.orphan_id] for one in several]
        donors = Donors((store.sessions[key] for key in alive), store.owner, asked=rows)
        for one, row in zip(several, rows, strict=True):
            for donor in donors.near(row, max_gap_s, _RIVALS):
                yield one, donor.id


def _spoke_later(donor: Session, orphan: Session) -> bool:
    donor_at, orphan_at = donor.last_active, orphan.last_active
    return donor_at is not None and orphan_at is not None and donor_at >= orphan_at


def _graded(row: Session, claims: dict[Grade, list[str]], now: float, routes: Mapping[str, str]) -> Zombie | None:
    proven, contested, again = (claims.get(grade, []) for grade in ("proven", "contested", "spoken-again"))
    if len(proven) == 1 and not contested and not again:
        text = (
            "The next message of its chat after a restart goes into this row, while the conversation went on in a row"
            " that lost its identity."
        )
        return Zombie(row.id, "proven", tuple(proven), inert(text))
    if proven or contested:
        text = (
            "The next message of its chat after a restart goes into this row, while the conversation may have gone on"
            " in a row that lost its identity; which row continues which is not certain."
        )
        return Zombie(row.id, "contested", tuple(dict.fromkeys(proven + contested + again)), inert(text))
    if again:
        text = (
            "A conversation went on in a row that lost its identity, then the chat fell back into this one and was"
            " spoken in again: a person has to decide which of the two it is to go on in."
        )
        return Zombie(row.id, "spoken-again", tuple(dict.fromkeys(again)), inert(text))
    return _dormant(row, now, routes)


def _dormant(row: Session, now: float, routes: Mapping[str, str]) -> Zombie | None:
    quiet = row.last_active
    if not row.open or quiet is None or now - quiet < DORMANT_S:
        return None
    waits = " and still waits to be resumed" if waits_for_resume(routes.get(row.session_key or "")) else ""
    text = (
        f"Open and silent for {int((now - quiet) // 86_400)} days{waits}: the next message of its chat goes on in this"
        " old talk. No lost row continues it, so only you can tell whether it should be ended."
    )
    return Zombie(row.id, "dormant", (), inert(text))
