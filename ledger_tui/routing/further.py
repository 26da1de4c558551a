"""Lost rows that the host's own finder misses or cannot mend, and what is to be said of each.

Sources: Hermes 0.22.2, its finder and adoption run on stores made for it; hermes-agent #82616, #82712.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .orphans import AMBIGUOUS, CONTESTED, MAX_GAP_S, Donors, Orphan, find_orphans, is_orphan, same_profile
from .owners import is_gateway
from .read import Store
from .rows import Session

EMPTY_KEY = "empty-key"
EMPTY_DONOR = "empty-donor"
EMPTY_PARENT = "empty-parent"
CHAIN = "chain"
SPOKEN_AGAIN = "spoken-again"
MARKED = "marked"

_REASONS = {
    EMPTY_KEY: "its key is an empty text, which no chat ever asks for",
    EMPTY_DONOR: "a row whose key is an empty text got in between; without it, the evidence is clear",
    EMPTY_PARENT: "its parent is an empty text, on which the host's own repair stops half-way; here it counts as none",
    CHAIN: "it goes on from another orphan, and gets its identity once that one is mended",
    SPOKEN_AGAIN: "the keyed row was silent all the while it was spoken in, and was spoken in again afterwards",
    MARKED: "it is marked as the child of a row that does not exist; the mark may be wrong",
}
_NO_KEY = "the row it continues has an empty text for a key, and no identity to give"


@dataclass(frozen=True, slots=True)
class Further:
    """One finding of ours, at most one for each orphan. Raw ids."""

    orphan_id: str
    kind: str
    """`empty-key`, `empty-donor`, `empty-parent`, `chain`, `spoken-again` or `marked`."""
    donor_ids: tuple[str, ...]
    adoptable: bool
    """Sure enough to be adopted without a person's choice."""
    reason: str
    """One plain clause."""
    gateway: bool


def find_further(store: Store, orphans: Sequence[Orphan], *, max_gap_s: float = MAX_GAP_S) -> tuple[Further, ...]:
    """What goes beyond the host's findings; one for a record that the host would adopt says what speaks against."""
    found: dict[str, Further] = {}
    sessions = _without_empty_keys(store.sessions)
    clear = orphans if sessions is store.sessions else find_orphans(sessions, store.owner, max_gap_s=max_gap_s)
    for kinds in (
        _empty_keys(store, orphans, clear),
        _chains(sessions, clear, store.owner, max_gap_s),
        _spoken_again(store, clear, max_gap_s),
        _marked(store, sessions, max_gap_s),
        _empty_parents(store, clear),
    ):
        for one in kinds:
            found.setdefault(one.orphan_id, one)
    return tuple(found.values())


def candidates(store: Store, orphan_id: str, *, max_gap_s: float = MAX_GAP_S, limit: int = 20) -> tuple[str, ...]:
    """Keyed rows that a person may choose from: the parent, else all that fell quiet or paused near its start."""
    row = store.sessions[orphan_id]
    if row.parent_session_id:
        parent = store.sessions.get(row.parent_session_id)
        return (parent.id,) if parent is not None and parent.session_key and _fits(parent, row, store.owner) else ()
    keyed = (one for one in store.sessions.values() if one.session_key and one.id != orphan_id)
    near = [donor.id for donor in Donors(keyed, store.owner, asked=[row]).near(row, max_gap_s, limit)]
    return tuple(dict.fromkeys(near + _paused(store, row, max_gap_s)))


def _without_empty_keys(sessions: Mapping[str, Session]) -> Mapping[str, Session]:
    """The same rows, an empty key taken for none; the very same mapping where there is no such key."""
    if all(row.session_key != "" for row in sessions.values()):
        return sessions
    return {key: row._replace(session_key=row.session_key or None) for key, row in sessions.items()}


def _empty_keys(store: Store, orphans: Sequence[Orphan], clear: Sequence[Orphan]) -> Iterator[Further]:
    """What changes once an empty key counts as none, in donors and in orphans."""
    if clear is orphans:
        return
    host = {one.orphan_id: one for one in orphans}
    for one in clear:
        record = host.get(one.orphan_id)
        donors = (one.donor_id,) if one.donor_id is not None else ()
        if record is None:
            if one.gateway:
                reason = _REASONS[EMPTY_KEY] if one.adoptable else one.reason
                yield Further(one.orphan_id, EMPTY_KEY, donors, one.adoptable, reason, True)
        elif (record.donor_id, record.adoptable) != (one.donor_id, one.adoptable):
            named = store.sessions.get(record.donor_id or "")
            reason = (
                _REASONS[EMPTY_DONOR] if one.adoptable else _NO_KEY if named and not named.session_key else one.reason
            )
            yield Further(one.orphan_id, EMPTY_DONOR, donors, one.adoptable, reason, one.gateway)


def _empty_parents(store: Store, clear: Sequence[Orphan]) -> Iterator[Further]:
    for one in clear:
        if one.adoptable and one.donor_id is not None and store.sessions[one.orphan_id].parent_session_id == "":
            yield Further(one.orphan_id, EMPTY_PARENT, (one.donor_id,), True, _REASONS[EMPTY_PARENT], one.gateway)


def _chains(
    sessions: Mapping[str, Session], clear: Sequence[Orphan], owner: str | None, max_gap_s: float
) -> Iterator[Further]:
    """Orphans that continue an orphan: found by the host with every further run of its repair, by us at once."""
    below: dict[str, list[Session]] = defaultdict(list)
    adrift: list[Session] = []
    for one in clear:
        row = sessions[one.orphan_id]
        if one.donor_id is None and row.parent_session_id:
            below[row.parent_session_id].append(row)
        elif one.donor_id is None and one.reason != AMBIGUOUS:
            adrift.append(row)
    mended = [
        _mended(sessions[one.orphan_id], sessions[one.donor_id]) for one in clear if one.adoptable and one.donor_id
    ]
    while mended:
        claims = _claims(mended, below, adrift, owner, max_gap_s)
        adrift = [row for row in adrift if row.id not in claims]
        count = Counter(donors[0].id for _, donors in claims.values() if len(donors) == 1)
        mended = []
        for row, donors in claims.values():
            sure = len(donors) == 1 and count[donors[0].id] == 1
            reason = _REASONS[CHAIN] if sure else AMBIGUOUS if len(donors) > 1 else CONTESTED
            yield Further(row.id, CHAIN, tuple(donor.id for donor in donors), sure, reason, is_gateway(row.source))
            if sure:
                mended.append(_mended(row, donors[0]))


def _claims(
    mended: Sequence[Session],
    below: dict[str, list[Session]],
    adrift: Sequence[Session],
    owner: str | None,
    max_gap_s: float,
) -> dict[str, tuple[Session, tuple[Session, ...]]]:
    """By orphan: the rows, mended just now, that it may continue. Children are taken out of `below`."""
    claims: dict[str, tuple[Session, tuple[Session, ...]]] = {}
    for upper in mended:
        for row in below.pop(upper.id, ()):
            if _fits(upper, row, owner):
                claims[row.id] = row, (upper,)
    if adrift:
        donors = Donors(mended, owner, asked=adrift)
        for row in adrift:
            near = donors.near(row, max_gap_s)
            if near:
                claims[row.id] = row, near
    return claims


def _mended(row: Session, donor: Session) -> Session:
    user = donor.user_id if row.user_id is None else row.user_id
    return row._replace(session_key=donor.session_key, user_id=user)


def _fits(donor: Session, row: Session, owner: str | None) -> bool:
    return donor.source == row.source and same_profile(donor, row, owner)


def _spoken_again(store: Store, clear: Iterable[Orphan], max_gap_s: float) -> Iterator[Further]:
    for one in clear:
        donors = _paused(store, store.sessions[one.orphan_id], max_gap_s)
        if donors:
            yield Further(one.orphan_id, SPOKEN_AGAIN, tuple(donors), False, _REASONS[SPOKEN_AGAIN], one.gateway)


def _paused(store: Store, row: Session, max_gap_s: float) -> list[str]:
    """Keyed rows that fell silent near the start of this one and stayed so until after its last word."""
    start = row.started_at or 0.0
    pauses = store.resumed.get(row.id, {})
    return [donor for donor, pause in pauses.items() if abs(pause.quiet_at - start) <= max_gap_s]


def _marked(store: Store, sessions: Mapping[str, Session], max_gap_s: float) -> Iterator[Further]:
    """Rows that would be orphans but for a mark that names nobody; an old migration set such marks wholesale."""
    rows = [row for row in sessions.values() if _marked_in_vain(row, sessions)]
    if not rows:
        return
    donors = Donors(sessions.values(), store.owner, asked=rows)
    for row in rows:
        near = donors.near(row, max_gap_s)
        if len(near) == 1:
            yield Further(row.id, MARKED, (near[0].id,), False, _REASONS[MARKED], True)


def _marked_in_vain(row: Session, sessions: Mapping[str, Session]) -> bool:
    marks = [mark for mark in (row.delegate_from, row.branched_from) if mark is not None]
    if not marks or row.parent_session_id or not is_gateway(row.source) or any(mark in sessions for mark in marks):
        return False
    return is_orphan(row._replace(delegate_from=None, branched_from=None))
