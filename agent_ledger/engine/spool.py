"""Records that could not be written yet: one file per writer process, one JSON object a line, merged in order later.

A file is held by an advisory lock while its writer lives; whoever gets that lock afterwards may merge it. How far
a file has been merged stands in the ledger itself (`spool_merged`), written in the merging transaction, so that
a crash at any point neither loses nor doubles a record.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .paths import Paths, private_file, private_folder

try:
    import fcntl
except ImportError:  # Windows: no advisory locks, so nobody else's spool is merged while its process may live.
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".jsonl"
MEMORY_LIMIT = 20_000
"""Records held in memory where no folder at all can be written; further ones are counted as lost."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpoolState:
    """What waits: records and bytes not merged yet, when the oldest was recorded, why it was spooled."""

    records: int = 0
    size: int = 0
    oldest: str | None = None
    reason: str = ""


def files(paths: Paths) -> list[Path]:
    """Spool files of a home, oldest name first; an unreadable folder holds none."""
    found: list[Path] = []
    for folder in (paths.spool, paths.spool_elsewhere):
        with contextlib.suppress(OSError):
            found += [entry for entry in folder.iterdir() if entry.suffix == SUFFIX and not entry.is_symlink()]
    return sorted(found, key=lambda path: path.name)


def waiting(paths: Paths, merged: Mapping[str, int]) -> SpoolState:
    """What waits in a home's spool. `merged` is the table `spool_merged`: file name to bytes merged."""
    records = size = 0
    oldest: str | None = None
    reason = ""
    for path in files(paths):
        for _, record in _lines(path, merged.get(path.name, 0)):
            if record.get("kind") in ("writer", "unreadable"):
                continue
            records += 1
            at = record.get("at")
            if isinstance(at, str) and (oldest is None or at < oldest):
                oldest = at
            reason = str(record.get("why") or reason)
        with contextlib.suppress(OSError):
            size += max(0, path.stat().st_size - merged.get(path.name, 0))
    return SpoolState(records, size, oldest, reason)


def _lines(path: Path, start: int) -> Iterator[tuple[int, Record]]:
    """(offset behind the line, record) for each whole line from `start` on. An unreadable file has none."""
    try:
        descriptor = private_file(path, os.O_RDONLY)
    except OSError:
        return
    try:
        yield from _records(descriptor, start)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _records(descriptor: int, start: int) -> Iterator[tuple[int, Record]]:
    """Whole lines only: a torn one at the end is not there yet. A line that is no record comes as an empty one."""
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        stream.seek(start)
        offset = start
        for line in stream:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            yield offset, record if isinstance(record, dict) else {"kind": "unreadable", "line": repr(line[:200])}


class Spool:
    """This process's own spool of one home. Threads may append at any time."""

    def __init__(self, paths: Paths, writer: Record) -> None:
        self._paths = paths
        self._writer = writer
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._path: Path | None = None
        self._memory: deque[Record] = deque()
        self.lost = 0
        self.active = False
        """True from the first append until everything was merged; while it is, order demands to go on spooling."""

    def append(self, record: Record) -> None:
        """Keep a record: in a file of the home, else in one under the temporary folder, else in memory."""
        with self._lock:
            self.active = True
            if not self._memory and self._to_file(record):
                return
            if len(self._memory) < MEMORY_LIMIT:
                self._memory.append(record)
            else:
                self.lost += 1

    def _to_file(self, record: Record) -> bool:
        if self._descriptor is None and not self._open():
            return False
        assert self._descriptor is not None
        line = _line(record)
        try:
            before = os.lseek(self._descriptor, 0, os.SEEK_END)
            written = os.write(self._descriptor, line)
            if written == len(line):
                return True
            # A full disk takes a part of a line: take it back, so that the next line starts clean.
            os.ftruncate(self._descriptor, before)
        except OSError:
            return False
        return False

    def _open(self) -> bool:
        name = f"{os.getpid()}-{secrets.token_hex(6)}{SUFFIX}"
        for folder in (self._paths.spool, self._paths.spool_elsewhere):
            try:
                if folder == self._paths.spool:
                    private_folder(self._paths.data)
                private_folder(folder)
                descriptor = private_file(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
            except OSError:
                continue
            line = _line(self._writer)
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.write(descriptor, line) != len(line):
                    raise OSError("short write")
            except OSError:
                os.close(descriptor)
                with contextlib.suppress(OSError):
                    os.unlink(folder / name)
                continue
            self._descriptor, self._path = descriptor, folder / name
            return True
        return False

    def own_file(self) -> Path | None:
        return self._path

    def read_own(self, start: int, limit: int) -> tuple[list[Record], int]:
        """As `read`, of this process's file: through its descriptor, since somebody may have removed the name."""
        with self._lock:
            return read(self._descriptor, start, limit) if self._descriptor is not None else ([], start)

    def take_memory(self, limit: int) -> list[Record]:
        """The oldest records that are only in memory; `drop_memory` forgets them once they are merged."""
        with self._lock:
            return [self._memory[i] for i in range(min(limit, len(self._memory)))]

    def drop_memory(self, count: int) -> None:
        with self._lock:
            for _ in range(count):
                self._memory.popleft()

    def finish(self, merged: int) -> bool:
        """End spooling if nothing was appended since `merged` bytes of the own file were merged."""
        with self._lock:
            if self._memory:
                return False
            if self._descriptor is not None and self._path is not None:
                if os.fstat(self._descriptor).st_size > merged:
                    return False
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
                os.close(self._descriptor)
                self._descriptor = self._path = None
            self.active = False
            return True


def _line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


@contextlib.contextmanager
def abandoned(path: Path) -> Iterator[int | None]:
    """The open spool file while we hold it, if its writer is gone; None when it lives or cannot be told."""
    try:
        descriptor = private_file(path, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        if fcntl is None:
            yield None
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        yield descriptor
    finally:
        os.close(descriptor)


def read(descriptor: int, start: int, limit: int) -> tuple[list[Record], int]:
    """At most `limit` records of an open spool file from byte `start`, and the offset behind them. Raises OSError."""
    records: list[Record] = []
    offset = start
    for after, record in _records(descriptor, start):
        records.append(record)
        offset = after
        if len(records) >= limit:
            break
    return records, offset


def set_aside(paths: Paths, record: Record) -> None:
    """Keep a record that cannot be merged where a person can look at it. Raises OSError."""
    private_folder(paths.spool)
    descriptor = private_file(paths.spool / "unreadable.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, _line(record))
    finally:
        os.close(descriptor)
