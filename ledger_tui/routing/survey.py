"""Everything that is to be said about one store, in one call: for commands, `doctor`, `status` and the app."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .anomalies import Anomalies, find_anomalies
from .collecting import no_collections
from .forest import Forest, grow
from .further import Further, find_further
from .ignored import Ignored
from .orphans import MAX_GAP_S, Orphan, find_orphans
from .read import Store
from .zombies import Zombie, find_zombies, host_answers


@dataclass(frozen=True, slots=True)
class Survey:
    """Raw ids everywhere; texts for the screen are inert."""

    store: Store
    orphans: tuple[Orphan, ...]
    """As the host finds them, in its order."""
    further: tuple[Further, ...]
    """What only we see."""
    zombies: tuple[Zombie, ...]
    anomalies: Anomalies
    """Without those that were set aside."""
    forest: Forest
    ignored: Ignored
    max_gap_s: float = MAX_GAP_S
    hidden: int = 0
    """Anomalies left out because they were set aside."""

    def counts(self) -> Mapping[str, int]:
        """Anomalies by kind."""
        return Counter(one.kind for several in self.anomalies.values() for one in several)

    @property
    def lost(self) -> tuple[Orphan, ...]:
        """Orphans of messaging platforms: rows of other sources are keyless by nature."""
        return tuple(one for one in self.orphans if one.gateway)

    @property
    def troubling(self) -> tuple[Orphan, ...]:
        """The same without those that a person set aside."""
        return tuple(one for one in self.lost if (one.orphan_id, "orphan") not in self.ignored)


@no_collections()
def survey(store: Store, *, now: float, max_gap_s: float = MAX_GAP_S, ignored: Ignored = frozenset()) -> Survey:
    """Looks at every row; no database is touched. `now` in seconds since 1970."""
    orphans = find_orphans(store.sessions, store.owner, max_gap_s=max_gap_s)
    further = find_further(store, orphans, max_gap_s=max_gap_s)
    answers = host_answers(store)
    zombies = find_zombies(store, orphans, further, now=now, max_gap_s=max_gap_s, answers=answers)
    forest = grow(store.sessions)
    found = find_anomalies(store, orphans, zombies, further, now=now, forest=forest, answers=answers)
    kept = {key: tuple(one for one in several if (key, one.kind) not in ignored) for key, several in found.items()}
    kept = {key: several for key, several in kept.items() if several}
    hidden = sum(map(len, found.values())) - sum(map(len, kept.values()))
    return Survey(store, orphans, further, zombies, kept, forest, ignored, max_gap_s, hidden)
