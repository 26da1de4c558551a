"""Can the ledger be read, and is everything in it? What a person is told when not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ledger.engine.paths import Paths

OK = "ok"
DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class Health:
    """`state` is `ok`, `missing`, `stale`, `unreadable`, `foreign-owner` or `degraded`."""

    state: str = OK
    text: str = ""
    """One plain, inert sentence; empty when all is well."""
    spooled: int = 0
    """Records that wait in the spool and are not in the ledger yet."""
    read_only_schema: bool = False
    """The ledger is by other software or by a newer plugin: shown, not written."""


class SpoolCount:
    """Counts waiting records; a file is read again only when its size changed."""

    def __init__(self, paths: Paths) -> None:
        self._folders = (paths.spool, paths.spool_elsewhere)
        self._seen: dict[Path, tuple[int, int, int]] = {}

    def count(self, merged: Mapping[str, int]) -> int:
        """Lines of spool files beyond what `merged` (bytes by file name) says is in the ledger."""
        seen: dict[Path, tuple[int, int, int]] = {}
        for path, size in self._files():
            start = merged.get(path.name, 0)
            known = self._seen.get(path)
            if known is None or known[:2] != (size, start):
                known = (size, start, _lines(path, start) if size > start else 0)
            seen[path] = known
        self._seen = seen
        return sum(waiting for _, _, waiting in seen.values())

    def _files(self) -> list[tuple[Path, int]]:
        found: list[tuple[Path, int]] = []
        for folder in self._folders:
            try:
                with os.scandir(folder) as entries:
                    found += [
                        (Path(entry.path), entry.stat(follow_symlinks=False).st_size)
                        for entry in entries
                        if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
                    ]
            except OSError:
                continue  # No spool, or none of ours: nothing waits there.
        return found


def _lines(path: Path, start: int) -> int:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 16), b""))
    except OSError:
        return 0


def spool_text(records: int) -> str:
    what = "1 record waits" if records == 1 else f"{records} records wait"
    return f"{what} beside the ledger until it can be written."
