"""What does not fit about a session: each kind with its severity, and one plain sentence for each finding.

Kinds of keyless rows that are so by design (delegates, branches, tools, CLI, cron) are none of them: openclaw and
others reported such rows as orphans for months, until people deleted their history.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from agent_ledger.engine.severity import HIGH, LOW, MEDIUM

from ..forest import Forest, grow
from ..further import EMPTY_KEY, MARKED, Further
from ..orphans import Orphan
from ..read import Store
from ..zombies import Zombie, host_answers
from .kinds import Anomalies, Anomaly, note
from .links import link_anomalies
from .routes import lease_anomalies, lost_messages, routing_anomalies
from .rows import row_anomalies

__all__ = ["Anomalies", "Anomaly", "find_anomalies"]

Gone = Callable[[int], bool | None]
"""Is there no process of this number? None where that cannot be told."""


def find_anomalies(
    store: Store,
    orphans: Iterable[Orphan],
    zombies: Iterable[Zombie],
    further: Iterable[Further] = (),
    *,
    now: float,
    forest: Forest | None = None,
    answers: frozenset[str] | None = None,
    gone: Gone | None = None,
) -> Anomalies:
    """Every anomaly by raw session id; under the empty text stands what concerns no row. `now` in seconds since 1970.

    `forest` and `answers` (see `host_answers`) where they are known already; `gone` stands for the system in tests.
    """
    alive = host_answers(store) if answers is None else answers
    found: dict[str, list[Anomaly]] = defaultdict(list)
    for several in (
        _lost_rows(orphans, further),
        _fallen_back(zombies),
        row_anomalies(store, now=now),
        link_anomalies(store, grow(store.sessions) if forest is None else forest),
        routing_anomalies(store, alive),
        lease_anomalies(store, now=now, gone=gone or _gone),
        lost_messages(store),
    ):
        for session_id, one in several:
            found[session_id].append(one)
    return {key: tuple(several) for key, several in found.items()}


def _lost_rows(orphans: Iterable[Orphan], further: Iterable[Further]) -> Iterator[tuple[str, Anomaly]]:
    """Rows of messaging platforms only: others are keyless by nature."""
    ours = {one.orphan_id: one for one in further if one.gateway}
    for one in orphans:
        if one.gateway:
            mine = ours.pop(one.orphan_id, None)
            yield one.orphan_id, _lost(one.adoptable or (mine is not None and mine.adoptable), one.reason)
    for rest in ours.values():
        if rest.kind == EMPTY_KEY:
            yield rest.orphan_id, _lost(rest.adoptable, rest.reason)
        elif rest.kind == MARKED:
            yield rest.orphan_id, note("marked-orphan", f"No message finds this row, and {rest.reason}.")


def _lost(adoptable: bool, reason: str) -> Anomaly:
    text = "Real messages, but no routing identity: after a restart no message of its chat finds this row"
    if adoptable:
        return note("orphan", f"{text}. A repair can give it back.")
    return note("orphan", f"{text}, and the program cannot tell whose it is ({reason}).", MEDIUM)


def _fallen_back(zombies: Iterable[Zombie]) -> Iterator[tuple[str, Anomaly]]:
    for one in zombies:
        yield one.session_id, note("zombie", one.text, LOW if one.grade == "dormant" else HIGH)


def _gone(pid: int) -> bool | None:
    if os.name == "nt":
        return None  # There, asking with signal 0 would interrupt the process.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False
