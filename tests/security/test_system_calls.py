"""The same as the system sees it, SQLite's own files among it: what is made, with which mode, never through a link."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.engine.homes import WORKER
from tests.ship.engines import Engine

from .journey import Journey
from .programs import ROOT, environment

_CALLS = "open,openat,creat,mkdir,mkdirat,socket,connect"


def _can_trace() -> bool:
    found = shutil.which("strace")
    return found is not None and not subprocess.run([found, "-qq", "-o", os.devnull, "true"], check=False).returncode


pytestmark = pytest.mark.skipif(not _can_trace(), reason="no strace here, or it may not trace")


@dataclass(frozen=True)
class Opened:
    path: str
    flags: frozenset[str]
    mode: int | None
    """What it is made with; None where it is opened only."""


@dataclass(frozen=True)
class Traced:
    code: int
    opened: list[Opened]
    sockets: list[str]

    def made(self, below: Path) -> list[Opened]:
        """What may be made by the first opening of each path."""
        first: dict[str, Opened] = {}
        for one in self.opened:
            if one.mode is not None and one.path.startswith(f"{below}/"):
                first.setdefault(one.path, one)
        return list(first.values())


_OPEN = re.compile(r'open(?:at)?\((?:AT_FDCWD, )?"(?P<path>[^"]*)", (?P<flags>[A-Z_|]+)(?:, (?P<mode>0\d*))?\) = \d')


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Calls as lines; one that another thread's call fell into is put together again."""
    begun: dict[str, str] = {}
    for line in lines:
        thread = line.partition(" ")[0]
        if line.endswith(" <unfinished ...>"):
            begun[thread] = line.removesuffix(" <unfinished ...>")
        elif " resumed>" in line:
            yield begun.pop(thread, "") + " ".join(line.partition(" resumed>")[2].split())
        else:
            yield line


def traced(home: Path, temporary: Path, words: Sequence[str], *, stdin: str = "") -> Traced:
    """Python with these words, its umask taking nothing away."""
    log = temporary / "strace.log"
    env = environment(home, {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)})
    done = subprocess.run(
        ["strace", "-f", "-qq", "-s", "4096", "-e", f"trace={_CALLS}", "-o", str(log), sys.executable, *words],
        env=env, cwd=home.parent, input=stdin, capture_output=True, text=True, timeout=120, check=False, umask=0,
    )  # fmt: skip
    lines = list(_whole(log.read_text(errors="replace").splitlines()))
    opened = [
        Opened(found["path"], frozenset(found["flags"].split("|")), int(found["mode"], 8) if found["mode"] else None)
        for found in map(_OPEN.search, lines)
        if found
    ]
    sockets = [line for line in lines if re.search(r"(socket|connect)\(", line) and "AF_UNIX" not in line]
    return Traced(done.returncode, opened, sockets)


def private(seen: Traced, folder: Path) -> None:
    """Everything that is made there is made 0600, and neither made nor opened through a link."""
    made = seen.made(folder)
    assert made, "at least one file is new"
    assert {one.path: one.mode for one in made if one.mode != 0o600} == {}
    writing = [one for one in seen.opened if one.path.startswith(f"{folder}/") and {"O_RDWR", "O_WRONLY"} & one.flags]
    assert [one.path for one in writing if "O_NOFOLLOW" not in one.flags and "O_EXCL" not in one.flags] == []
    assert any(one.path.endswith("-wal") for one in made), "SQLite's own files are seen"


def quiet(seen: Traced, *allowed: Path) -> None:
    """Nothing is asked over a network, and nothing written but below these folders."""
    assert seen.code == 0
    assert seen.sockets == []
    writing = {one.path for one in seen.opened if {"O_RDWR", "O_WRONLY", "O_CREAT"} & one.flags}
    assert {path for path in writing if not path.startswith((*(f"{top}/" for top in allowed), "/dev/"))} == set()


def test_the_hooks(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "t"
    home.mkdir()
    temporary.mkdir()
    script = "start(); pre('c1'); post('c1'); turn(); say(merged())"
    seen = traced(home, temporary, [str(WORKER), "script"], stdin=script)
    quiet(seen, home)
    private(seen, home / "plugin-data" / "agent-ledger")


def test_ship_asks_the_engine_that_it_was_given_and_nobody_else(
    journey: Journey, server: Engine, tmp_path: Path
) -> None:
    seen = traced(journey.home, tmp_path, ["-m", "ledger_tui", "ship", "--to", server.url(), "--once"])
    quiet(seen, journey.home)  # The engine listens at a file, not at a network.
    seen = traced(journey.home, tmp_path, ["-m", "ledger_tui", "--source", server.url(), "posture"])
    quiet(seen, tmp_path)
    assert {one.mode for one in seen.made(tmp_path)} == {0o600}


@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("prune", "--keep", "3", "--apply"),
        ("repair-routing", "--apply", "--yes"),
        ("export", "calls", "--format", "csv"),
        ("posture",),
    ],
    ids=lambda command: command[0],
)
def test_commands(journey: Journey, tmp_path: Path, command: tuple[str, ...]) -> None:
    seen = traced(journey.home, tmp_path, ["-m", "ledger_tui", *command])
    quiet(seen, journey.home)
    data = journey.home / "plugin-data" / "agent-ledger"
    assert {one.path: one.mode for one in seen.made(data) if one.mode is not None and one.mode & 0o077} == {}
    if command[0] == "repair-routing":
        private(seen, data / "repairs")
