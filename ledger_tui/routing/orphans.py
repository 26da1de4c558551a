"""Rows with real messages that lost their routing identity, and the row each one continues.

The same findings as Hermes' own command makes (hermes-agent #82712), in its order, but in time that grows with the
number of sessions and not with orphans times sessions. What the host cannot see stands in `further.py`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from .collecting import no_collections
from .owners import is_gateway
from .rows import Session

MAX_GAP_S = 900.0
"""How near to the orphan's start its predecessor fell quiet, before or after."""

NO_IDENTITY = "parent session carries no gateway identity of this source"
NOBODY = "no keyed predecessor fell quiet within {gap:.0f}s of this session's start"
AMBIGUOUS = "ambiguous: more than one keyed predecessor matches this window"
CONTESTED = "ambiguous: more than one unkeyed session claims this predecessor"


@dataclass(frozen=True, slots=True)
class Orphan:
    """One finding. Raw text, times in seconds since 1970; `reason` is empty where it may be adopted."""

    orphan_id: str
    source: str
    message_count: int
    """Rows in `messages`, whatever the session's own counter says."""
    started_at: float | None
    last_active: float | None
    donor_id: str | None
    session_key: str | None
    evidence: str
    """`lineage`, `contiguity`, or empty."""
    adoptable: bool
    reason: str
    gateway: bool
    """Of a messaging platform; rows of other sources carry no key by nature."""


@no_collections()
def find_orphans(
    sessions: Mapping[str, Session], owner: str | None, *, max_gap_s: float = MAX_GAP_S
) -> tuple[Orphan, ...]:
    """Every orphan in order of its start. `owner` is the profile of the store; None fences nothing off."""
    # Reversed, because the host's index gives rows that began at the same moment newest first.
    lost = sorted((row for row in reversed([*sessions.values()]) if is_orphan(row)), key=_start_order)
    adrift = [row for row in lost if not row.parent_session_id]
    donors = Donors(sessions.values(), owner, asked=adrift) if adrift else None
    found = []
    for row in lost:
        if row.parent_session_id:
            donor, evidence = _recorded_parent(sessions, row, owner), "lineage"
            reason = "" if donor else NO_IDENTITY
        else:
            candidates = donors.near(row, max_gap_s) if donors else ()
            donor, evidence = candidates[0] if len(candidates) == 1 else None, "contiguity"
            reason = AMBIGUOUS if len(candidates) > 1 else "" if donor else NOBODY.format(gap=max_gap_s)
        found.append(_record(row, donor, evidence, reason))
    claims = Counter(record.donor_id for record in found if record.adoptable and record.donor_id is not None)
    return tuple(_contested(record) if claims[record.donor_id or ""] > 1 else record for record in found)


def is_orphan(row: Session) -> bool:
    """Keyless with messages, and neither a tool's, a branch's nor a delegate's row: those are keyless by design."""
    return (
        row.session_key is None
        and row.messages > 0
        and row.source != "tool"
        and row.branched_from is None
        and row.delegate_from is None
    )


def _start_order(row: Session) -> tuple[bool, float]:
    return row.started_at is not None, row.started_at or 0.0


def _recorded_parent(sessions: Mapping[str, Session], row: Session, owner: str | None) -> Session | None:
    """The parent, where it carries an identity that fits; no time window, and how it ended does not matter."""
    donor = sessions.get(row.parent_session_id or "")
    if donor is None or donor.session_key is None or donor.source != row.source:
        return None
    return donor if same_profile(donor, row, owner) else None


def same_profile(donor: Session, row: Session, owner: str | None) -> bool:
    """A donor without a profile is the owner's; an orphan without one, or with an empty one, too."""
    return owner is None or _donor_profile(donor, owner) == (row.profile_name or owner)


def _donor_profile(donor: Session, owner: str | None) -> str | None:
    return donor.profile_name if donor.profile_name is not None else owner


class Donors:
    """Keyed rows by source, profile and user, in the order in which they fell quiet."""

    def __init__(
        self, sessions: Iterable[Session], owner: str | None, *, asked: Iterable[Session] | None = None
    ) -> None:
        """`asked`: the rows that `near` will be asked about; naming them saves time and memory on large stores."""
        self._owner = owner
        rows = None if asked is None else list(asked)
        sources = None if rows is None else {row.source for row in rows}
        by_user = rows is None or any(row.user_id for row in rows)
        ordered = sorted(
            (
                (quiet, row)
                for row in sessions
                if row.session_key is not None
                and (sources is None or row.source in sources)
                and (quiet := row.last_active) is not None
            ),
            key=itemgetter(0),
        )
        self._all: dict[tuple[str, str | None], _Quiet] = defaultdict(_Quiet)
        self._by_user: dict[tuple[str, str | None, str], _Quiet] = defaultdict(_Quiet)
        for quiet, row in ordered:
            profile = None if owner is None else _donor_profile(row, owner)
            self._all[row.source, profile].add(quiet, row)
            if by_user:
                self._by_user[row.source, profile, row.user_id or ""].add(quiet, row)

    def near(self, row: Session, max_gap_s: float, limit: int = 2) -> tuple[Session, ...]:
        """Donors whose last word fell near the row's start and before its own last word; at most `limit` per user."""
        until = row.last_active
        if until is None:
            return ()
        start = row.started_at or 0.0
        profile = None if self._owner is None else row.profile_name or self._owner
        if row.user_id:
            places = [self._by_user.get((row.source, profile, user)) for user in (row.user_id, "")]
        else:
            places = [self._all.get((row.source, profile))]
        window = (start - max_gap_s, start + max_gap_s, until, limit)
        return tuple(donor for place in places if place for donor in place.within(*window))


class _Quiet:
    """Rows in the order of their last word."""

    __slots__ = ("_moments", "_rows")

    def __init__(self) -> None:
        self._moments: list[float] = []
        self._rows: list[Session] = []

    def add(self, moment: float, row: Session) -> None:
        self._moments.append(moment)
        self._rows.append(row)

    def within(self, low: float, high: float, before: float, limit: int) -> list[Session]:
        """From `low` to `high`, both included, and before `before`."""
        first = bisect_left(self._moments, low)
        last = min(bisect_right(self._moments, high), bisect_left(self._moments, before))
        return self._rows[first : min(last, first + limit)]


def _record(row: Session, donor: Session | None, evidence: str, reason: str) -> Orphan:
    return Orphan(
        orphan_id=row.id,
        source=row.source,
        message_count=row.messages,
        started_at=row.started_at,
        last_active=row.last_active,
        donor_id=donor.id if donor else None,
        session_key=donor.session_key if donor else None,
        evidence=evidence if donor else "",
        adoptable=donor is not None,
        reason=reason,
        gateway=is_gateway(row.source),
    )


def _contested(record: Orphan) -> Orphan:
    return replace(record, adoptable=False, reason=CONTESTED)
