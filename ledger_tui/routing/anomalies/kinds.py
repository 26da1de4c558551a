"""One anomaly, and the kinds that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert
from agent_ledger.engine.severity import HIGH, LOW, MEDIUM

KINDS: Mapping[str, str] = {
    "orphan": HIGH,
    "zombie": HIGH,
    "bare-continuation": HIGH,
    "marked-orphan": MEDIUM,
    "no-continuation": MEDIUM,
    "hidden-continuation": MEDIUM,
    "keyed-delegate": MEDIUM,
    "two-open": MEDIUM,
    "stale-route": MEDIUM,
    "profile-crossing": MEDIUM,
    "missing-parent": MEDIUM,
    "own-parent": MEDIUM,
    "parent-cycle": MEDIUM,
    "lost-messages": MEDIUM,
    "stuck-lease": MEDIUM,
    "no-chat": LOW,
    "phantom": LOW,
    "ended-owner": LOW,
    "no-route": LOW,
    "outlived-parent": LOW,
    "count-mismatch": LOW,
    "bad-time": LOW,
    "left-open": LOW,
}
"""Severity by kind, in the order of lists: worst first. Milder cases of a kind may weigh less."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One finding about one session."""

    kind: str
    severity: str
    text: Inert
    """One plain sentence."""


Anomalies = dict[str, tuple[Anomaly, ...]]
"""By raw session id; under the empty text stands what concerns no row of the store."""


@lru_cache(maxsize=512)
def note(kind: str, text: str, severity: str = "") -> Anomaly:
    """A finding of this kind. Large stores repeat sentences by the thousand: each is kept once."""
    return Anomaly(kind, severity or KINDS[kind], inert(text))
