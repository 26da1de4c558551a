"""Records that could not be written yet: one file per writer process, one JSON object a line, merged in order later.

A file is held by an advisory lock while its writer lives; whoever gets that lock afterwards may merge it. How far
a file has been merged stands in the ledger itself (`spool_merged`), written in the merging transaction, so that
a crash at any point neither loses nor doubles a record.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .paths import Paths, is_own_folder, private_file, private_folder

try:
    import fcntl
except ImportError:  # Windows: no advisory locks, so nobody else's spool is merged while its process may live.
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

SUFFIX = ".jsonl"
MEMORY_LIMIT = 20_000
"""Records held in memory where no folder at all can be written; further ones are counted as lost."""

_LONGEST_LINE = 65_536
"""Bytes kept of a line that cannot be read; what the plugin writes itself is a good deal shorter."""

_DEEPEST = 100
"""Containers within containers in a record; the plugin writes three. What Python can read at its limit of recursion
it cannot write down a few frames further on, and such a line would neither be merged nor set aside."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpoolState:
    """What waits: records and bytes not merged yet, when the oldest was recorded, why it was spooled."""

    records: int = 0
    size: int = 0
    oldest: str | None = None
    reason: str = ""


def files(paths: Paths) -> list[Path]:
    """Spool files of a home, oldest name first; an unreadable folder holds none, and neither does one not our own.

    In the temporary folder others can put a link under the very name that we would use.
    """
    found: list[Path] = []
    for folder in (paths.spool, paths.spool_elsewhere):
        with contextlib.suppress(OSError):
            if not is_own_folder(folder):
                continue
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


def waiting_of(paths: Paths, merged: Mapping[str, int], ids: Collection[str]) -> int:
    """How many of the waiting records are of one conversation, by all the ids that it has had."""
    return sum(_of(record) in ids for path in files(paths) for _, record in _lines(path, merged.get(path.name, 0)))


def _of(record: Record) -> object:
    """The session of a record, or the task that stands for it in a call from inside a script."""
    event = record.get("event")
    return (event.get("session_id") or event.get("task_id")) if isinstance(event, dict) else None


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
            yield offset, _record(line) or {"kind": "unreadable", "line": repr(line[:_LONGEST_LINE])}


def _record(line: bytes) -> Record | None:
    """The record of a line, or None where it holds none, or one that nothing could write down again."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and _depth(record) <= _DEEPEST else None


def _depth(record: Record) -> int:
    """How deep containers stand in each other, counted no further than it matters."""
    depth = 0
    level: list[Any] = [record]
    while level and depth <= _DEEPEST:
        depth += 1
        inner = (value for outer in level for value in (outer.values() if isinstance(outer, dict) else outer))
        level = [value for value in inner if isinstance(value, (dict, list))]
    return depth


_alive: weakref.WeakSet[Spool] = weakref.WeakSet()


def _after_fork() -> None:
    """A child must not keep its parent's spool: the lock on it would outlive the parent."""
    for spool in list(_alive):
        spool.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Spool:
    """This process's own spool of one home: a file there, one elsewhere once that is full, then memory. In order."""

    def __init__(self, paths: Paths, writer: Record) -> None:
        self._paths = paths
        self._writer = writer
        self._lock = threading.Lock()
        self._folders = [paths.spool, paths.spool_elsewhere]
        self._files: list[tuple[Path, int]] = []
        self._token, self._made = secrets.token_hex(6), 0
        self._memory: deque[Record] = deque()
        self.lost = 0
        """Records that were lost since their number was told last."""
        self.active = False
        """True from the first append until everything was merged; while it is, order demands to go on spooling."""
        _alive.add(self)

    def append(self, record: Record) -> None:
        """Keep a record: in a file of the home, else in one under the temporary folder, else in memory."""
        with self._lock:
            self.active = True
            if not self._memory and self._to_file(record):
                return
            if len(self._memory) < MEMORY_LIMIT:
                self._memory.append(record)
                return
            self.lost += 1
            if self.lost > 1:
                return
        log.warning(
            "agent-ledger: nothing can be written, and memory holds no more than %d records: more are lost",
            MEMORY_LIMIT,
        )

    def _to_file(self, record: Record) -> bool:
        # A file that was removed is still ours to merge, but nobody else would find in it what we leave behind.
        if self._files and os.fstat(self._files[-1][1]).st_nlink:
            if _append(self._files[-1][1], record):
                return True
            # It takes no more: the next folder, and never back, to keep the order.
            self._folders = self._folders[1:]
        while self._folders:
            opened = self._open(self._folders[0])
            if opened is not None:
                self._files.append(opened)
                if _append(opened[1], record):
                    return True
            self._folders = self._folders[1:]
        return False

    def _open(self, folder: Path) -> tuple[Path, int] | None:
        # Numbered, so that whoever merges them later goes by the order in which they were written.
        self._made += 1
        path = folder / f"{os.getpid()}-{self._token}-{self._made:06d}{SUFFIX}"
        try:
            if folder == self._paths.spool:
                private_folder(self._paths.data)
            private_folder(folder)
            descriptor = private_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        except OSError:
            return None
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Somebody may have taken the new file for an abandoned one before we had the lock.
            if os.fstat(descriptor).st_nlink and _append(descriptor, self._writer):
                return path, descriptor
        except OSError:
            pass
        os.close(descriptor)
        with contextlib.suppress(OSError):
            os.unlink(path)
        return None

    def own_files(self) -> list[Path]:
        """This process's files, oldest first."""
        with self._lock:
            return [path for path, _ in self._files]

    def read_own(self, path: Path, start: int, limit: int) -> tuple[list[Record], int]:
        """As `read`, of one of this process's files: through its descriptor, since the name may have been removed."""
        with self._lock:
            for own, descriptor in self._files:
                if own == path:
                    return read(descriptor, start, limit)
        return [], start

    def take_memory(self, limit: int) -> list[Record]:
        """The oldest records that are only in memory; `drop_memory` forgets them once they are merged."""
        with self._lock:
            return [self._memory[i] for i in range(min(limit, len(self._memory)))]

    def drop_memory(self, count: int) -> None:
        with self._lock:
            for _ in range(count):
                self._memory.popleft()

    def finish(self, merged: Mapping[Path, int]) -> bool:
        """End spooling if no record was appended since so many bytes of the own files were merged. Raises OSError."""
        with self._lock:
            if self._memory or any(_has_more(descriptor, merged.get(path, 0)) for path, descriptor in self._files):
                return False
            for path, descriptor in self._files:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                os.close(descriptor)
            self._files.clear()
            self._folders = [self._paths.spool, self._paths.spool_elsewhere]
            self.active = False
            return True

    def let_go(self) -> None:
        """Close the files without merging them."""
        for _, descriptor in self._files:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._files = []


def _has_more(descriptor: int, start: int) -> bool:
    """Is there a record behind so many bytes? A torn line that could not be taken back is none."""
    return os.fstat(descriptor).st_size > start and bool(read(descriptor, start, 1)[0])


def _append(descriptor: int, record: Record) -> bool:
    """Add one line, whole or not at all."""
    line = _line(record)
    try:
        before = os.lseek(descriptor, 0, os.SEEK_END)
        if os.write(descriptor, line) == len(line):
            return True
        # A full disk takes a part of a line: take it back, so that the next line starts clean.
        os.ftruncate(descriptor, before)
    except OSError:
        return False
    return False


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
        if not _append(descriptor, record):
            raise OSError(errno.ENOSPC, "there is no room to set a record aside")
    finally:
        os.close(descriptor)
