"""Another process holds the ledger's lock: how long do hooks take, and how soon is everything merged afterwards?"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import agent_ledger
from agent_ledger.engine.paths import Paths
from benchmarks._homes import home
from benchmarks._paired import Report, arguments, note, percentile
from benchmarks._writer import post, pre

HOLDERS = {
    "SQLite's write lock": (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        " c.execute('BEGIN IMMEDIATE'); print(flush=True); sys.stdin.readline(); c.execute('ROLLBACK')"
    ),
    "the writers' turnstile": (
        "import fcntl, os, sys; f = os.open(sys.argv[2], os.O_RDWR);"
        " fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.readline()"
    ),
    "both, one after the other": (
        "import fcntl, os, sqlite3, sys, time; f = os.open(sys.argv[2], os.O_RDWR);"
        " c = sqlite3.connect(sys.argv[1], isolation_level=None); print(flush=True); end = 0\n"
        "import select\n"
        "while not select.select([sys.stdin], [], [], 0)[0]:\n"
        "    fcntl.flock(f, fcntl.LOCK_EX); time.sleep(0.015); fcntl.flock(f, fcntl.LOCK_UN)\n"
        "    c.execute('BEGIN IMMEDIATE'); time.sleep(0.015); c.execute('ROLLBACK')"
    ),
}
"""What holds the ledger. The third makes a hook meet both locks in turn, each just short of its patience."""


def hooks(numbers: range, pause_s: float) -> list[float]:
    """Seconds of each hook, one call after another."""
    taken = []
    for number in numbers:
        taken += [pre(number), post(number)]
        time.sleep(pause_s)
    return taken


def held(paths: Paths, program: str, work: Callable[[], list[float]]) -> tuple[list[float], float]:
    """`work` while another process holds the ledger, and the moment of release (monotonic seconds)."""
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(paths.ledger), str(paths.turnstile)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    taken = work()
    released = time.monotonic()
    holder.communicate("\n")
    return taken, released


def merged_after(paths: Paths, released: float, calls: int) -> tuple[int, float]:
    """(calls settled in the ledger, seconds from the release until then), waiting for at most 20 s."""
    connection = sqlite3.connect(f"{paths.ledger.as_uri()}?mode=ro", uri=True)
    settled = 0
    while time.monotonic() < released + 20:
        (settled,) = connection.execute("SELECT count(*) FROM ledger WHERE status='CONFIRMED'").fetchone()
        if settled >= calls:
            break
        time.sleep(0.02)
    connection.close()
    return settled, time.monotonic() - released


def measure(report: Report, name: str, program: str, place: Path, calls: int, pause_s: float) -> None:
    paths = Paths(place)
    free = hooks(range(200), pause_s)
    taken, released = held(paths, program, lambda: hooks(range(200, 200 + calls), pause_s))
    settled, seconds = merged_after(paths, released, 200 + calls)
    report.times(f"{name}: one hook", taken, free, unit="ms")
    longest = percentile(taken, 1) * 1000
    report.add(f"{name}: longest hook", longest, percentile(free, 1) * 1000, unit="ms", bar="at most 60 ms")
    report.add(f"{name}: merged after release", seconds, None, unit="s", bar="at most 5 s")
    report.add(f"{name}: calls missing then", 200 + calls - settled, None, unit="calls", bar="0")


def main() -> None:
    asked = arguments(
        __doc__ or "", calls=(1000, "calls while it is held"), pause=(5, "milliseconds between two calls")
    ).parse_args()
    report = Report(
        f"{asked.calls} calls while another process holds the ledger", "200 calls just before, nobody holding it"
    )
    for name, program in HOLDERS.items():
        note(name)
        with home() as place:
            agent_ledger.on_session_start(session_id="")
            time.sleep(0.5)
            measure(report, name, program, place, asked.calls, asked.pause / 1000)
            agent_ledger.recorder().keeper.close()
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
