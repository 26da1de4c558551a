"""A repair or an undo in a process of its own, killed at one step: `killed.py apply|undo STORE HOME STEP NTH SPILL`."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(what: str, path: Path, home: Path, step: str, nth: int = 1, *, spill: bool = False) -> int:
    """Exit code of such a process; -9 where it came to that step.

    `spill`: with so little memory that SQLite writes into the file before the commit, as it does in a large change.
    """
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, __file__, what, str(path), str(home), step, str(nth), str(int(spill))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def main(what: str, path: Path, home: Path, step: str, nth: int, spill: bool) -> None:
    from ledger_tui.routing.repair import writing
    from ledger_tui.routing.repair.undo import undo
    from tests.routing.stores import clock, planned

    if spill:
        setattr(writing, "lenient", _cramped)  # noqa: B010 - mypy lets no function be replaced
    seen = 0

    def fault(name: str) -> None:
        nonlocal seen
        seen += name == step
        if seen == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    if what == "undo":
        undo(path, home, clock=clock, stopped_by="the test", fault=fault)
        return
    from ledger_tui.routing.repair.apply import apply

    apply(path, home, planned(home, path), clock=clock, stopped_by="the test", fault=fault)


def _cramped(connection: sqlite3.Connection) -> None:
    from ledger_tui.routing.read import lenient

    lenient(connection)
    connection.execute("PRAGMA cache_size=1")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6] == "1")
