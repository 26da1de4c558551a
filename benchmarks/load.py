"""Twenty sessions, 200 calls a second, for as long as wanted, with the app open: is anything lost, does anything grow?

The hosts are real processes with the real plugin, a session a thread; each call of the plugin has one of bare sqlite3
beside it. The app runs in a terminal of its own on the same home.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.paths import Paths
from benchmarks import _sessions
from benchmarks._homes import ROOT, fill, home, token
from benchmarks._load_host import Plan, rows_of
from benchmarks._paired import Report, arguments, note, percentile
from benchmarks._pane import APP, Pane, Watcher, memory_mb, panes
from benchmarks.writers import lost_and_doubled, merge_rest

LIMIT_S = 0.060
EARLY_S = 60.0
"""Memory is compared with what it was after this long; in a short run, after a third of it."""

CALLS_SCREEN = 1

STORE = 200
"""Sessions in the host's own store."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for."""

    seconds: int
    sessions: int
    rate: int
    rows: int
    screen: int

    @property
    def calls(self) -> int:
        """Calls of one session."""
        return max(1, self.seconds * self.rate // self.sessions)

    @property
    def numbers(self) -> range:
        """Numbers of all calls; those before them stand in the ledger already."""
        return range(self.rows, self.rows + self.calls * self.sessions)


@dataclass(slots=True)
class Sample:
    """How things stand at one moment: seconds since the start, and MB."""

    at: float
    hosts_mb: float
    app_mb: float
    app_cpu_s: float
    log_mb: float


@dataclass(slots=True)
class Seen:
    """What one run of the load showed."""

    samples: list[Sample]
    took_s: float
    """From the first call to the last."""
    app_lives: bool
    app_shows: bool
    """Did the last call's row come to the screen?"""
    lost: tuple[int, int, int] = (0, 0, 0)
    """Calls lost, doubled, and still pending."""
    bytes_a_call: float = math.nan
    broken: int = 0
    """Places at which the ledger's chain does not hold."""
    checked_a_s: float = math.nan
    """Rows that a check of the chain reads a second."""
    calls: list[dict[str, float]] = field(default_factory=list)


class Hosts:
    """The processes that make the calls."""

    def __init__(self, load: Load, processes: int, place: Path, folder: Path) -> None:
        sessions = list(_session_ids(place, load.sessions))
        self._times = [folder / f"times-{number}" for number in range(processes)]
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks._load_host", self._plan(load, sessions, number, place, times)],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number, times in enumerate(self._times)
        ]  # fmt: skip
        for process in self.processes:
            _hear(process, "ready")

    def _plan(self, load: Load, sessions: list[str], number: int, place: Path, times: Path) -> str:
        mine = {name: at for at, name in enumerate(sessions) if at % len(self._times) == number}
        period_s = load.sessions / load.rate
        bare = times.with_name("bare.db")
        return Plan(str(place), str(bare), str(times), mine, load.rows, load.sessions, load.calls, period_s).text()

    def tell(self, text: str) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{text}\n")
            process.stdin.flush()

    def memory_mb(self) -> float:
        return sum(memory_mb(process.pid) for process in self.processes)

    def done(self) -> None:
        for process in self.processes:
            _hear(process, "done")

    def end(self) -> list[dict[str, float]]:
        """Close the ledgers; the times of all calls."""
        self.tell("")
        for process in self.processes:
            process.communicate()
        return [row for path in self._times for row in rows_of(path)]

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def _hear(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    if process.stdout.readline().strip() != word:
        sys.exit(f"a host ended before it was {word}")


def _session_ids(place: Path, number: int) -> Iterator[str]:
    """Sessions that the host's store knows."""
    with contextlib.closing(sqlite3.connect(Paths(place).state)) as connection:
        for (name,) in connection.execute("SELECT id FROM sessions ORDER BY started_at DESC LIMIT ?", (number,)):
            yield str(name)


def under_load(load: Load, processes: int) -> Seen:
    """One run of the load with that many processes."""
    with home() as folder, home() as place:
        paths = Paths(place)
        _sessions.make(paths.state, max(STORE, load.sessions))
        fill(place, load.rows)
        os.sync()  # Or the first hooks would wait for the disk to take what was made here.
        before = _size(paths)
        with panes((APP, place)) as ((app,), watcher):
            if load.rows:
                watcher.until(app, token(load.rows - 1), patience_s=120)
            watcher.run(2.0)
            app.press(str(load.screen))
            hosts = Hosts(load, processes, place, folder)
            try:
                seen = _run(load, hosts, app, watcher, paths)
                seen.calls = hosts.end()
            finally:
                hosts.close()
            merge_rest(paths)
        seen.lost = lost_and_doubled(paths.ledger, load.numbers)
        with contextlib.closing(sqlite3.connect(paths.ledger)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            began = time.perf_counter()
            report = check_chain(connection)
            seen.broken, seen.checked_a_s = report.broken, report.rows / (time.perf_counter() - began)
        seen.bytes_a_call = (_size(paths) - before) / len(load.numbers)
        return seen


def _size(paths: Paths) -> int:
    return sum(path.stat().st_size for path in paths.data.iterdir() if path.is_file())


def _run(load: Load, hosts: Hosts, app: Pane, watcher: Watcher, paths: Paths) -> Seen:
    start = time.monotonic() + 0.5
    hosts.tell(repr(start))
    watcher.run(start - time.monotonic())
    step = max(1.0, load.seconds / 60)
    samples = []
    while (at := time.monotonic() - start) < len(load.numbers) / load.rate:
        log = paths.ledger.with_name(paths.ledger.name + "-wal")
        log_mb = log.stat().st_size / 2**20 if log.exists() else 0.0
        samples.append(Sample(at, hosts.memory_mb(), app.memory_mb(), app.cpu_s(), log_mb))
        if len(samples) % 10 == 1:
            now = samples[-1]
            note(f"{at:5.0f} s  hosts {now.hosts_mb:.1f} MB  app {now.app_mb:.1f} MB  log {log_mb:.1f} MB")
        watcher.run(step)
    hosts.done()
    took_s = time.monotonic() - start
    shown = load.screen != CALLS_SCREEN or not math.isnan(watcher.until(app, token(load.numbers[-1]), patience_s=5.0))
    return Seen(samples, took_s, app.process.poll() is None, shown)


def add(report: Report, load: Load, processes: int, seen: Seen) -> None:
    """The figures of one run."""
    who = "1 process" if processes == 1 else f"{processes} processes"

    def line(what: str, value: float, reference: float | None = None, *, unit: str, bar: str = "") -> None:
        report.add(f"{who}: {what}", value, reference, unit=unit, bar=bar)

    for what, value in zip(("lost", "doubled", "still pending"), seen.lost, strict=True):
        line(f"calls {what}", value, unit="calls", bar="0")
    ours, bare = ([row[f"{side}pre"] + row[f"{side}post"] for row in seen.calls] for side in ("", "bare "))
    report.times(f"{who}: pre + post", ours, bare, unit="µs", bars=("at most 3x", "at most 3x, or 1 ms"))
    line("pre + post, longest", 1e3 * max(ours), 1e3 * max(bare), unit="ms")
    turns = [row["turn"] for row in seen.calls if not math.isnan(row["turn"])]
    line("a turn's start, p99", 1e3 * percentile(turns, 0.99), unit="ms")
    hooks = [*turns, *(row[name] for row in seen.calls for name in ("pre", "post"))]
    commits = [row[name] for row in seen.calls for name in ("bare pre", "bare post")]
    line("one hook, longest", 1e3 * max(hooks), 1e3 * max(commits), unit="ms", bar="at most 60 ms")
    late, late_bare = (sum(took > LIMIT_S for took in side) for side in (hooks, commits))
    line("hooks over 60 ms", late, late_bare, unit="hooks", bar="0")
    line("calls a second", len(load.numbers) / seen.took_s, load.rate, unit="calls")
    line("a call behind its time, longest", 1e3 * max(row["behind"] for row in seen.calls), unit="ms")
    early = min(EARLY_S, load.seconds / 3)
    first, last = next(sample for sample in [*seen.samples, seen.samples[-1]] if sample.at >= early), seen.samples[-1]
    when = f"at the end (reference: after {first.at:.0f} s)"
    line(f"memory of the hosts {when}", last.hosts_mb, first.hosts_mb, unit="MB", bar="flat")
    line(f"memory of the app {when}", last.app_mb, first.app_mb, unit="MB", bar="flat")
    busy = (last.app_cpu_s - first.app_cpu_s) / max(1e-9, last.at - first.at)
    line("the app's share of a core", 100 * busy, unit="%")
    line("the app is still there", int(seen.app_lives), unit="", bar="1")
    line("the app showed the last call", int(seen.app_shows), unit="", bar="1")
    line("SQLite's log, largest", max(sample.log_mb for sample in seen.samples), unit="MB")
    line("places where the chain is broken", seen.broken, unit="", bar="0")
    line("a check of the chain, rows a second", seen.checked_a_s, unit="rows", bar="at least 50,000")
    line("on disk for each call", seen.bytes_a_call, unit="bytes", bar="at most 1,200")


def parser() -> argparse.ArgumentParser:
    made = arguments(
        __doc__ or "",
        seconds=(60, "seconds; the promise is about 600"),
        sessions=(20, "sessions"),
        rate=(200, "calls a second, all sessions together"),
        rows=(2_000, "rows in the ledger before"),
        screen=(1, "the app's screen meanwhile, by its key"),
    )
    made.add_argument("--processes", default="1,4", help="numbers of hosts, with commas (default 1,4)")
    return made


def main() -> None:
    asked = parser().parse_args()
    load = Load(asked.seconds, asked.sessions, asked.rate, asked.rows, asked.screen)
    report = Report(
        f"{load.sessions} sessions, {load.rate} calls a second for {load.seconds} s, {load.rows:,} rows before",
        "bare sqlite3, a call beside each of ours; of memory what it was earlier",
    )
    for processes in map(int, asked.processes.split(",")):
        note(f"{processes} process(es)")
        add(report, load, processes, under_load(load, processes))
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
