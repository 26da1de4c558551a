"""Files that one call made and a later call runs: the act that is split in two is put together again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from ..commands import Act, Examined, Made, script_acts

MOST_FILES = 200
MOST_CONVERSATIONS = 100

CallId = int | str
Search = Callable[[str], Iterable[tuple[CallId, dict[str, Made]]]]
"""Earlier calls that the ledger knows for a file's name, newest first, with the files they made."""


class Scripts:
    """What each conversation, its delegates among it, has written or downloaded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[str, OrderedDict[str, tuple[CallId, Made]]] = OrderedDict()

    def remember(self, conversation: str, call_id: CallId, made: Mapping[str, Made]) -> None:
        """A call of this conversation made these files."""
        with self._lock:
            files = self._made.setdefault(conversation, OrderedDict())
            self._made.move_to_end(conversation)
            while len(self._made) > MOST_CONVERSATIONS:
                self._made.popitem(last=False)
            for path, file in made.items():
                files[path] = (call_id, file)
                files.move_to_end(path)
                while len(files) > MOST_FILES:
                    files.popitem(last=False)

    def earlier(
        self, conversation: str, found: Examined, search: Search | None = None
    ) -> tuple[tuple[Act, tuple[CallId, ...]], ...]:
        """What the scripts that a call runs would do, with the call that made each."""
        acts: list[tuple[Act, tuple[CallId, ...]]] = []
        for path in found.run[:8]:
            if path in found.made:
                continue
            known = self._find(conversation, path)
            if known is None and search is not None:
                known = _newest(search(path), path)
            if known is not None:
                call_id, file = known
                acts += [(act, (call_id,)) for act in judged(path, file, call_id)]
        return tuple(acts)

    def _find(self, conversation: str, path: str) -> tuple[CallId, Made] | None:
        with self._lock:
            files = self._made.get(conversation)
            if not files:
                return None
            return next((files[made] for made in reversed(files) if same_file(made, path)), None)


def _newest(calls: Iterable[tuple[CallId, dict[str, Made]]], path: str) -> tuple[CallId, Made] | None:
    for call_id, made in calls:
        for written, file in made.items():
            if same_file(written, path):
                return call_id, file
    return None


def same_file(one: str, other: str) -> bool:
    """Two paths that may mean one file: equal, or one relative and the end of the other."""
    if one == other:
        return True
    shorter, longer = sorted((one.removeprefix("./"), other.removeprefix("./")), key=len)
    return not shorter.startswith("/") and longer.endswith("/" + shorter)


def judged(path: str, file: Made, call_id: CallId) -> Iterable[Act]:
    """What running a file that an earlier call made amounts to."""
    if file.network:
        yield Act(
            "download-then-run", "HIGH", f"runs {path}, which call {call_id} downloaded and nobody has looked at", path
        )
        return
    for act in script_acts(path, file.text):
        yield Act(act.kind, act.severity, f"runs {path}, which call {call_id} wrote: it {act.text}", act.target)
