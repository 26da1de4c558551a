"""Has this very call been issued before in its conversation? Kept in memory; read from the ledger once a conversation.

An index in the file would answer the same at the price of one more page per call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from .records import utc_second
from .store import Store

CONVERSATIONS = 200
"""Conversations remembered at a time; a forgotten one is read again."""

NEWEST = 1000
"""Different calls of a conversation that are remembered, and rows that are looked back upon when it is first met in
this process. Some 240 bytes each: without an end, a gateway would grow with every call it makes."""

Seen = dict[bytes, tuple[int, str]]
"""Argument hash to (first row of its kind, time of the latest)."""


class Repeats:
    """The identical calls of the conversations at hand. The caller lets one thread in at a time."""

    def __init__(self) -> None:
        self._conversations: OrderedDict[str, Seen] = OrderedDict()

    def first_of(
        self, store: Store, conversation: Sequence[str], args_hash: bytes | None, *, since: float, compacted: str
    ) -> int | None:
        """The first call of this kind, if one was issued since `since` or before the compaction at `compacted`."""
        found = self._seen(store, conversation).get(args_hash) if args_hash is not None else None
        if found is None:
            return None
        return found[0] if found[1] >= utc_second(since) or found[1] < compacted else None

    def add(self, conversation: Sequence[str], args_hash: bytes | None, first: int, ts: str) -> None:
        seen = self._conversations.get(conversation[-1])
        if seen is not None and args_hash is not None:
            seen.pop(args_hash, None)  # What was issued again is among the newest.
            seen[args_hash] = (first, ts)
            if len(seen) > NEWEST:
                del seen[next(iter(seen))]

    def never_ran(self, conversation: Sequence[str], args_hash: bytes | None, call_id: int) -> None:
        """A refused call is no predecessor of the next."""
        seen = self._conversations.get(conversation[-1])
        if seen is not None and args_hash is not None and seen.get(args_hash, (0, ""))[0] == call_id:
            del seen[args_hash]

    def clear(self) -> None:
        self._conversations.clear()

    def _seen(self, store: Store, conversation: Sequence[str]) -> Seen:
        root = conversation[-1]
        seen = self._conversations.get(root)
        if seen is None:
            rows = store.rows.hashes_of(conversation, NEWEST)
            seen = self._conversations[root] = {
                same: (first, str(ts))
                for same, first, ts in reversed(rows)
                if isinstance(same, bytes) and isinstance(first, int)
            }
            if len(self._conversations) > CONVERSATIONS:
                self._conversations.popitem(last=False)
        return seen
