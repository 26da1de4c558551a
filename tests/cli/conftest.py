"""A ledger as our plugin makes it, with rows in all six states, and the real program to run on it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import process, schema
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import utc_text
from ledger_tui.cli import run
from ledger_tui.commands import enabling, plugin_folder
from tests.routing.corpus import case

from . import sound_homes

NOW = 1_767_355_200.0
"""2026-01-02T12:00:00Z, the moment that tests with a fixed clock call now."""

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Ledger:
    """A ledger under construction."""

    path: Path
    connection: sqlite3.Connection

    def add(self, **values: Any) -> int:
        """A row; `at` seconds become `ts`. What is left out is what an ordinary confirmed call has."""
        at = values.pop("at", NOW - 60)
        row = {
            "ts": utc_text(at),
            "session_id": "s1",
            "turn_id": "t1",
            "tool_call_id": "c1",
            "tool_name": "write_file",
            "args_json": '{"path":"notes.txt"}',
            "status": "CONFIRMED",
            "grace_s": 120.0,
            "changed": int(at * 1_000_000),
            **values,
        }
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        cursor = self.connection.execute(f"INSERT INTO ledger({names}) VALUES({marks})", tuple(row.values()))
        return int(cursor.lastrowid or 0)

    def writer(self, pid: int, started: str, *, host: str = "0.19.0") -> int:
        here = process.identity()
        cursor = self.connection.execute(
            "INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts, host_version)"
            " VALUES(?,?,?,?,?,?,?)",
            (pid, started, here.boot_id, here.pid_namespace, here.machine, utc_text(NOW), host),
        )
        return int(cursor.lastrowid or 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def make_ledger(path: Path) -> Ledger:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.chmod(0o700)
    connection = sqlite3.connect(path, isolation_level=None)
    path.chmod(0o600)
    connection.execute("PRAGMA journal_mode=WAL")
    schema.prepare(connection)
    return Ledger(path, connection)


@pytest.fixture
def ledger(home: Path) -> Iterator[Ledger]:
    made = make_ledger(home / "plugin-data" / "agent-ledger" / "ledger.db")
    yield made
    made.connection.close()


@pytest.fixture
def six_states(ledger: Ledger) -> Ledger:
    """One row in each state, as of `NOW` and of the real clock alike (pending rows lie in the far future)."""
    ledger.add(status="CONFIRMED", at=NOW - 500)
    ledger.add(status="ERROR:timeout", at=NOW - 400, effect="unknown")
    ledger.add(status="GHOST_REPORTED", at=NOW - 300, reported_ts=utc_text(NOW - 100), tool_name="cronjob")
    ledger.add(status="CONFIRMED", at=NOW - 250, reported_ts=utc_text(NOW - 90))
    ledger.add(status="PENDING", at=NOW - 200, session_id="s2", tool_name="terminal")
    ledger.add(status="PENDING", at=NOW - 5, session_id="s2", grace_s=10.0**10, tool_name="delegate_task")
    return ledger


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Program = Callable[..., Result]


@pytest.fixture
def state(home: Path) -> Path:
    """The session store of the incident, in the home."""
    path = home / "state.db"
    path.write_bytes(case("incident-82616").store)
    return path


@pytest.fixture
def program(home: Path, tmp_path: Path) -> Program:
    """Runs the real program in a process of its own; `home` is its HERMES_HOME unless it is told otherwise."""

    def run(*arguments: str, env: dict[str, str] | None = None, stdin: str = "") -> Result:
        environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(tmp_path),
            "HERMES_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
            **(env or {}),
        }
        done = subprocess.run(
            [sys.executable, "-m", "ledger_tui", *arguments],
            env=environ,
            cwd=tmp_path,
            input=stdin.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def one_sentence(result: Result, code: int) -> str:
    """The error as the contract wants it: that code, nothing on stdout, one line, no traceback."""
    assert result.code == code, result
    assert result.out == ""
    assert "Traceback" not in result.err
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1
    return result.err.strip()


@pytest.fixture
def sentence() -> Callable[[Result, int], str]:
    return one_sentence


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the plugin in it, and some settled calls that the real plugin recorded. To be copied."""
    top = tmp_path_factory.mktemp("recorded")
    (top / "home").mkdir(mode=0o755)
    sound_homes.record(top / "home", top)
    # Everything in the file itself: the process that wrote it ended without closing it.
    with closing(sqlite3.connect(Paths(top / "home").ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    Paths(top / "home").spool.mkdir(mode=0o700, exist_ok=True)  # It is there if the first hook had to wait.
    plugin_folder.put(top / "home", link=True)
    enabling.enable(top / "home", {"PATH": ""})
    return top / "home"


@pytest.fixture
def sound(recorded: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sound_homes.SoundHome:
    """A copy of it, and a folder for temporary files that is nobody else's."""
    shutil.copytree(recorded, home, symlinks=True, dirs_exist_ok=True)
    (tmp_path / "tmp").mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return sound_homes.SoundHome(home, tmp_path / "tmp")


@pytest.fixture
def inside(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Runs the command line in this process; `home` is its HERMES_HOME."""
    monkeypatch.setenv("HERMES_HOME", str(home))

    def command(*words: str) -> Result:
        code = run(list(words))
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return command
