"""What does not fit about a session, one plain sentence each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert
from agent_ledger.engine.severity import HIGH, LOW, MEDIUM

from .forest import Forest
from .orphans import Orphan
from .read import Store
from .zombies import Zombie


@dataclass(frozen=True, slots=True)
class Anomaly:
    """`kind` is a word with hyphens, `severity` one of the four of the posture."""

    kind: str
    severity: str
    text: Inert


Anomalies = dict[str, tuple[Anomaly, ...]]
"""By raw session id; under the empty text stands what concerns no row of the store."""


def find_anomalies(
    store: Store, orphans: Iterable[Orphan], zombies: Iterable[Zombie], *, forest: Forest, now: float
) -> Anomalies:
    """Every anomaly. `now` in seconds since 1970."""
    found: dict[str, list[Anomaly]] = {}
    for one in orphans:
        if one.gateway:
            text = f"It holds {one.message_count} messages but no routing identity, so no message finds it again."
            found.setdefault(one.orphan_id, []).append(Anomaly("orphan", HIGH, inert(text)))
    for zombie in zombies:
        severity = LOW if zombie.grade == "dormant" else HIGH
        found.setdefault(zombie.session_id, []).append(Anomaly("zombie", severity, zombie.text))
    for key in forest.dangling:
        text = "It names a parent that is not in the store."
        found.setdefault(key, []).append(Anomaly("missing-parent", MEDIUM, inert(text)))
    return {key: tuple(several) for key, several in found.items()}
