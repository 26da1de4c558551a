"""The calls of this process that are pending: writing an event with what is remembered of them, so nothing is searched.

The caller lets one thread in at a time.
"""

from __future__ import annotations

from collections import OrderedDict

from .events import (
    Contradiction,
    Event,
    Issue,
    Key,
    Settlement,
    announced_before,
    parent_id,
    write_contradiction,
    write_issue,
    write_late,
    write_settlement,
)
from .repeats import Repeats
from .store import Store

REMEMBERED = 20_000
"""Pending calls whose rows are remembered; a forgotten one is found in the ledger."""

Open = OrderedDict[Key, tuple[int, bytes | None, tuple[str, ...]]]
"""Per pending call: its row, the hash of its arguments, its conversation."""


class OpenCalls:
    """Rows by call, and which calls are repeats of which."""

    def __init__(self) -> None:
        self.open: Open = OrderedDict()
        self._repeats = Repeats()
        self._of_another = False

    def of_another(self) -> OpenCalls:
        """The same for the records of another process: its calls are not ours, the conversations are the same."""
        other = OpenCalls()
        other._repeats, other._of_another = self._repeats, True
        return other

    def forget(self) -> None:
        """Another file took the ledger's place: its rows have other ids."""
        self.open.clear()
        self._repeats.clear()

    def is_settlement_of_ours(self, event: object) -> bool:
        """Does it settle a call whose row this process wrote?"""
        return isinstance(event, Settlement) and event.key in self.open

    def write(self, store: Store, event: Event, writer_id: int) -> int | None:
        """Write one event in the name of a writer. The row's id, or None where there is none for it."""
        if isinstance(event, Issue):
            return self._issue(store, event, writer_id)
        if isinstance(event, Contradiction):
            return write_contradiction(store, event)
        return self._settle(store, event, writer_id)

    def _issue(self, store: Store, issue: Issue, writer_id: int) -> int | None:
        if issue.late:
            write_late(store, issue)
            return None
        key = issue.key
        if key in self.open and (found := announced_before(store, issue)) is not None:
            return found
        parent = self.open.get(issue.parent) if issue.parent else None
        nested_in = parent[0] if parent else parent_id(store, issue.parent)
        call_id = write_issue(store, issue, writer_id, nested_in, self._repeats)
        if issue.tool_call_id:
            self.open[key] = (call_id, issue.args_hash, issue.conversation)
            if len(self.open) > REMEMBERED:
                self.open.popitem(last=False)
        return call_id

    def _settle(self, store: Store, done: Settlement, writer_id: int) -> int | None:
        pending = self.open.get(done.key)
        call_id = write_settlement(store, done, writer_id, pending[0] if pending else None)
        # Not before it is written: what could not be is spooled, and comes here once more.
        self.open.pop(done.key, None)
        if done.outcome.effect == "none":
            if pending is not None:
                self._repeats.never_ran(pending[2], pending[1], pending[0])
            elif self._of_another:
                self._repeats.clear()  # It may be among them, read while it was pending: they are read anew.
        return call_id
