"""Findings of the posture as they come, for `watch`: what stands in the ledger at the start is no news."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent_ledger.engine.posture import Posture
from agent_ledger.engine.records import utc_text
from ledger_tui.commands.happenings import Change, Event


class FindingNews:
    """Feed it every change of the ledger. Rules over several calls see those that it was fed, and no older ones."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._posture = Posture()
        self._begun = False

    def take(self, change: Change) -> Iterator[Event]:
        """The findings that this change brought."""
        found = self._posture.feed(sorted(change.calls, key=lambda call: call.id))
        if self._begun:
            for one in found:
                yield {"at": utc_text(self._clock()), "kind": "finding", **one.as_json()}
        self._begun = self._begun or not change.more
