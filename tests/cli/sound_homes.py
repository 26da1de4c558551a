"""A home as the plugin leaves it, with nothing wrong in it, for the tests that plant one thing and ask `doctor`."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ledger.engine import process
from agent_ledger.engine.paths import Paths
from ledger_tui.commands import doctor
from ledger_tui.commands.checks import Check
from ledger_tui.commands.place import Place
from tests.engine.homes import worker

CALLS = 12

Found = dict[str, Check]


def record(home: Path, temporary: Path, prefix: str = "a", calls: int = CALLS) -> None:
    """The real plugin records settled calls in a process of its own, which then ends."""
    with worker(home, "calls", prefix, str(calls), TMPDIR=str(temporary)) as process_:
        said, _ = process_.communicate(timeout=60)
        assert said == "done\n"


@dataclass
class SoundHome:
    """One home and what `doctor` says of it, asked in this process."""

    folder: Path
    temporary: Path

    @property
    def paths(self) -> Paths:
        return Paths(self.folder)

    @property
    def data(self) -> Path:
        return self.paths.data

    def place(self, **more: Any) -> Place:
        environ = {"HOME": str(self.folder.parent), "TMPDIR": str(self.temporary), "PATH": ""}
        named: dict[str, Any] = {"ledger": self.paths.ledger, "state": self.paths.state, "environ": environ, **more}
        return Place(self.folder, **named)

    def examined(self, **more: Any) -> Found:
        """Every finding by its name. Asking changes nothing but what SQLite keeps beside an open database."""
        before = _everything(self.folder.parent)
        checks, _ = doctor.examine(self.place(**more))
        assert _everything(self.folder.parent) == before
        assert len({one.check for one in checks}) == len(checks)
        for one in checks:
            assert one.text.endswith("."), one
            assert "\n" not in one.text
            assert one.state == "ok" or one.remedy or one.check == "gateway", one
        return {one.check: one for one in checks}

    def troubles(self, **more: Any) -> dict[str, str]:
        """What is not well, by name."""
        return {name: one.state for name, one in self.examined(**more).items() if one.state != "ok"}

    @contextmanager
    def written(self) -> Iterator[sqlite3.Connection]:
        """A person with a database shell."""
        connection = sqlite3.connect(self.paths.ledger, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    def add_writer(self, pid: int, *, version: str = "0.1.0", started: str | None = None) -> int:
        """A row of `writer`; with the pid of a living process and without `started`, that process."""
        here = process.identity()
        with self.written() as connection:
            cursor = connection.execute(
                "INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts, plugin_version)"
                " VALUES(?,?,?,?,?,'2026-01-02T12:00:00.000Z',?)",
                (
                    pid, process.start_mark(pid) if started is None else started, here.boot_id, here.pid_namespace,
                    here.machine, version,
                ),
            )  # fmt: skip
        return int(cursor.lastrowid or 0)


_BY_SQLITE = ("-wal", "-shm")


def _everything(top: Path) -> dict[str, tuple[int, ...]]:
    """Mode, owner, size, number and time of everything below."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            info = os.lstat(path)
            if not name.endswith(_BY_SQLITE):
                times = () if name in folders else (info.st_mtime_ns, info.st_size)
                found[path] = (info.st_mode, info.st_uid, info.st_ino, *times)
    return found
