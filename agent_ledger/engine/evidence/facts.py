"""The read-only window on one home: small questions to files and databases, bounded in size and time.

Nothing is followed out of what was asked about: a link at the place itself is reported, not followed. Nothing but
plain files is opened: no pipe or device can hold us up. What cannot be told raises `CannotTellError` with one sentence.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..databases import could_lock_out, hindrance, read_only_uri
from ..fingerprint import KEY_BYTES, value_hash
from ..mounts import network_points
from ..paths import Paths
from ..process import is_dead
from ..queries import WRITERS_QUERY, writer_from_row
from ..records import PENDING, utc_seconds
from .recorded import Recorded
from .verdict import quoted

LONGEST_FILE = 8 * 2**20
"""Bytes of one file that are read."""

LONGEST_FOLDER = 20_000
"""Names of one folder that are read."""

LONGEST_QUICKLY = 2**19, 2_000
"""The same two where there is a deadline."""

COARSE_S = 0.05
"""A file's time may lie so far before the clock's: the kernel stamps files with the time of its last tick."""

COARSEST_S = 2.0
"""The same on a file system that keeps whole seconds, or every second one (FAT)."""

CALLS_AFTER = 20
"""Calls after one whose times are compared with its own."""

SET_BACK_S = 5.0
"""So much earlier than a call those after it cannot be unless the clock was set back: many write at once."""

_BUSY_S = 0.02
_READ_ONLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))


class CannotTellError(Exception):
    """Why something cannot be told: one plain sentence, foreign text in it quoted."""


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at a path, seen without following a link there. Times: seconds since 1970."""

    path: Path
    kind: str
    """"file", "folder", "link", "other", or empty where nothing is there."""
    size: int = 0
    modified: float = 0.0
    changed: float = 0.0
    """When anything about the entry last changed (ctime): nobody can set it back."""
    mode: int = 0
    owner: int = 0
    """Number of the user that it belongs to."""
    slack: float = COARSE_S
    """By so much may its times lie before the clock that a call's time was read from."""

    @property
    def exists(self) -> bool:
        return bool(self.kind)

    def touched_since(self, moment: float) -> bool:
        """May its content have been written at or after `moment`? Either of both times says so."""
        return max(self.modified, self.changed) >= moment - self.slack

    def put_back_since(self, moment: float) -> bool:
        """Was it moved, copied with its times, or marked at or after `moment`? A database that is written is none."""
        return self.changed - self.modified > COARSEST_S and self.changed >= moment - self.slack


class Facts:
    """Asked by the verifiers. Every method may raise CannotTellError and nothing else."""

    def __init__(
        self,
        paths: Paths,
        *,
        now: float,
        state: Path | None = None,
        ledger: sqlite3.Connection | None = None,
        deadline: float | None = None,
        mono: Callable[[], float] = time.monotonic,
    ) -> None:
        """`deadline` on the clock `mono`, where there is one; then network mounts are not asked at all."""
        self.paths, self.home, self.now = paths, paths.home, now
        self.state = state or paths.state
        self.ledger = ledger
        self._deadline, self._mono = deadline, mono
        self._key: bytes | None = None
        self._key_asked = False
        self._mounts: list[tuple[str, str]] | None = None
        self._open: dict[Path, sqlite3.Connection] = {}
        self._dead: set[int] | None = None
        self._folders: dict[Path, Path] = {}

    def close(self) -> None:
        """Close what was opened for the questions."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    # -- time and keys ---------------------------------------------------------------------------------------------

    @property
    def quick(self) -> bool:
        """Is there a deadline, as inside the agent's hook?"""
        return self._deadline is not None

    @property
    def time_is_up(self) -> bool:
        return self._deadline is not None and self._mono() >= self._deadline

    def step(self) -> None:
        """Called before anything that takes time."""
        if self.time_is_up:
            raise CannotTellError("Not checked: the time for it had run out.")

    @property
    def key(self) -> bytes | None:
        """The home's key for argument hashes; None where there is none to be had. It is never made here."""
        if not self._key_asked:
            self._key_asked = True
            with contextlib.suppress(CannotTellError):
                data = self.content(self.paths.key, limit=4096)
                self._key = data if len(data) == KEY_BYTES else None
        return self._key

    def argument(self, call: Recorded, name: str) -> Any:
        """An argument as the agent gave it; None where it is missing, cut or redacted."""
        if name not in call.args:
            return None
        value = call.args[name]
        return value if not call.args_redacted or self.is_value(call, name, value) else None

    def is_value(self, call: Recorded, name: str, value: Any) -> bool:
        """Was the argument `name` exactly this value? By the stored value, else by its keyed hash.

        Raises CannotTellError where neither is there to compare with.
        """
        hashed = call.value_hashes.get(name)
        if hashed is not None:
            if self.key is None:
                raise CannotTellError(
                    "The arguments are not stored whole, and the key to compare them is not to be had."
                )
            return value_hash(self.key, value) == hashed
        if name in call.args and not call.args_redacted:
            return bool(call.args[name] == value)
        raise CannotTellError(f"The argument {quoted(name, 40)} is not stored whole.")

    # -- files -----------------------------------------------------------------------------------------------------

    def look(self, path: Path) -> Place:
        """What stands at `path`. Raises CannotTellError where that cannot be seen (no right, a network mount)."""
        self.step()
        self.refuse_network(path)
        try:
            info = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return Place(path, "")
        except (OSError, ValueError) as error:
            raise CannotTellError(f"{quoted(path)} cannot be looked at ({_reason(error)}).") from error
        kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link"))
        kind = next((name for test, name in kinds if test(info.st_mode)), "other")
        whole_seconds = not info.st_mtime_ns % 10**9 and not info.st_ctime_ns % 10**9
        slack = COARSEST_S if whole_seconds else COARSE_S
        return Place(
            path, kind, info.st_size, info.st_mtime, info.st_ctime, stat.S_IMODE(info.st_mode), info.st_uid, slack
        )

    def folder(self, path: Path) -> Path:
        """A folder by its real name, the links on the way resolved as the system resolves them."""
        known = self._folders.get(path)
        if known is None:
            self.refuse_network(path)
            try:
                known = self._folders[path] = Path(os.path.realpath(path))
            except (OSError, ValueError) as error:
                raise CannotTellError(f"{quoted(path)} cannot be resolved.") from error
        return known

    def refuse_network(self, path: Path) -> None:
        """Raise CannotTellError for a place on a network mount where there is a deadline: asking it may hang."""
        if not self.quick:
            return
        if self._mounts is None:
            self._mounts = network_points()
        text = os.path.abspath(path)
        for point, kind in self._mounts:
            if text == point or text.startswith(point.rstrip("/") + "/"):
                raise CannotTellError(f"Not checked: {quoted(path)} lies on a network mount ({kind}).")

    def content(self, path: Path, *, limit: int = LONGEST_FILE) -> bytes:
        """The content of a plain file. Raises CannotTellError for anything else, or for more than `limit` bytes."""
        place = self.look(path)
        limit = min(limit, LONGEST_QUICKLY[0]) if self.quick else limit
        if place.kind != "file":
            what = {"": "is not there", "folder": "is a folder", "link": "is a link, which is not followed"}
            raise CannotTellError(f"{quoted(path)} {what.get(place.kind, 'is no plain file')}.")
        if place.size > limit:
            raise CannotTellError(f"{quoted(path)} has {place.size} bytes, more than are read.")
        try:
            descriptor = os.open(path, os.O_RDONLY | _READ_ONLY)
        except (OSError, ValueError) as error:
            raise CannotTellError(f"{quoted(path)} cannot be read ({_reason(error)}).") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise CannotTellError(f"{quoted(path)} is no plain file.")
            return self._all(descriptor, path, limit)
        finally:
            os.close(descriptor)

    def _all(self, descriptor: int, path: Path, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            self.step()
            try:
                part = os.read(descriptor, 2**20)
            except OSError as error:
                raise CannotTellError(f"{quoted(path)} cannot be read ({_reason(error)}).") from error
            if not part:
                return b"".join(parts)
            size += len(part)
            if size > limit:
                raise CannotTellError(f"{quoted(path)} has more than {limit} bytes, more than are read.")
            parts.append(part)

    def text(self, path: Path, *, limit: int = LONGEST_FILE) -> str:
        """The same as UTF-8 text, its line ends as they stand. Raises CannotTellError also for what is no such text."""
        try:
            return self.content(path, limit=limit).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CannotTellError(f"{quoted(path)} holds no UTF-8 text.") from error

    def link(self, path: Path) -> str:
        """What a link names. Raises CannotTellError where there is none."""
        self.step()
        self.refuse_network(path)
        try:
            return os.readlink(path)
        except (OSError, ValueError) as error:
            raise CannotTellError(f"{quoted(path)} is no link.") from error

    def json(self, path: Path) -> Any:
        """A JSON file. Raises CannotTellError where it is missing, unreadable or no JSON."""
        try:
            return json.loads(self.text(path))
        except (ValueError, RecursionError) as error:
            raise CannotTellError(f"{quoted(path)} cannot be understood: it is no JSON.") from error

    def names(self, folder: Path) -> list[str]:
        """The names in a folder, all of them. Raises CannotTellError where it cannot be read whole."""
        place = self.look(folder)
        if place.kind != "folder":
            raise CannotTellError(f"{quoted(folder)} is no folder.")
        most = LONGEST_QUICKLY[1] if self.quick else LONGEST_FOLDER
        found: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    found.append(entry.name)
                    if len(found) > most:
                        raise CannotTellError(f"{quoted(folder)} holds more than {most} names.")
                    if not len(found) % 500:
                        self.step()
        except OSError as error:
            raise CannotTellError(f"{quoted(folder)} cannot be read ({_reason(error)}).") from error
        return sorted(found)

    # -- databases -------------------------------------------------------------------------------------------------

    def database(self, path: Path) -> sqlite3.Connection:
        """A read-only connection to one of the host's databases, kept until `close`. Ask it through `rows`."""
        self.step()
        known = self._open.get(path)
        if known is not None:
            return known
        place = self.look(path)
        if place.kind != "file":
            raise CannotTellError(f"{quoted(path)} is {'not there' if not place.exists else 'no plain file'}.")
        if could_lock_out(path, place.owner):
            raise CannotTellError(f"{quoted(path)} belongs to another user, whom a look into it could lock out.")
        why_not = hindrance(path)
        if why_not:
            raise CannotTellError(f"{quoted(path)} {why_not}.")
        try:
            connection = sqlite3.connect(
                read_only_uri(path),
                uri=True,
                timeout=0.0 if self.quick else _BUSY_S,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise CannotTellError(f"{quoted(path)} cannot be opened ({error}).") from error
        if self._deadline is not None:
            connection.set_progress_handler(lambda: int(self.time_is_up), 2000)
        self._open[path] = connection
        return connection

    def rows(self, path: Path, sql: str, params: Sequence[Any] = (), *, limit: int = 10_000) -> list[tuple[Any, ...]]:
        """The answer to one question, read whole. Raises CannotTellError also for more than `limit` rows."""
        return self.ask(self.database(path), path, sql, params, limit=limit)

    def ask(
        self, connection: sqlite3.Connection, path: Path, sql: str, params: Sequence[Any] = (), *, limit: int = 10_000
    ) -> list[tuple[Any, ...]]:  # fmt: skip
        """The same on a connection that the caller has."""
        self.step()
        try:
            found = connection.execute(sql, tuple(params)).fetchmany(limit + 1)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # Words of SQLite may quote a damaged schema.
            if self.time_is_up:
                raise CannotTellError("Not checked: the time for it had run out.") from error
            raise CannotTellError(f"{quoted(path)} cannot be asked ({error}).") from error
        if len(found) > limit:
            raise CannotTellError(f"{quoted(path)} holds more than {limit} rows to look at.")
        return found

    def columns(self, path: Path, table: str) -> frozenset[str]:
        """Names of a table's columns; empty where there is no such table."""
        return frozenset(str(row[0]) for row in self.rows(path, "SELECT name FROM pragma_table_info(?)", (table,)))

    # -- the ledger's own calls ------------------------------------------------------------------------------

    def may_still_run(self, call: Recorded) -> bool:
        """Is it too early to miss its effect? Within its grace, unless the process that issued it is proven gone."""
        if call.status != PENDING or call.at is None or self.now - call.at > call.grace_s:
            return False
        if self._dead is None:
            self._dead = set()
            if self.ledger is not None:
                with contextlib.suppress(CannotTellError):
                    found = map(writer_from_row, self.ask(self.ledger, self.paths.ledger, *WRITERS_QUERY))
                    self._dead = {writer.id for writer in found if is_dead(writer)}
        return call.writer_id not in self._dead

    def clock_went_back(self, call: Recorded) -> bool:
        """Was the clock set back since the call? Then what happened after it may carry a time from before it.

        Asked of the calls that were recorded right after it, and of the clock now.
        """
        if call.at is None or self.ledger is None:
            return False
        sql = "SELECT ts FROM ledger WHERE id > ? ORDER BY id LIMIT ?"
        after = (utc_seconds(row[0]) for row in self.ask(self.ledger, self.paths.ledger, sql, (call.id, CALLS_AFTER)))
        return min((self.now, *(one for one in after if one is not None))) < call.at - SET_BACK_S


def _reason(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


@contextlib.contextmanager
def opened(
    paths: Paths,
    *,
    now: float,
    ledger: Path | None = None,
    state: Path | None = None,
    deadline: float | None = None,
    mono: Callable[[], float] = time.monotonic,
) -> Iterator[Facts]:
    """Facts with a read-only connection to the ledger of their own, where there is one."""
    facts = Facts(paths, now=now, state=state, deadline=deadline, mono=mono)
    try:
        with contextlib.suppress(CannotTellError):
            facts.ledger = facts.database(ledger or paths.ledger)
        yield facts
    finally:
        facts.close()
