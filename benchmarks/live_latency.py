"""From another process's commit to the painted row, against a bare loop that polls and prints; and what it costs.

The app and the loop run at the same time, each in a terminal, on the same ledger; one process makes calls through the
plugin. A row counts as painted when its text arrives at the terminal.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path

from benchmarks._homes import ROOT, fill, home, token
from benchmarks._paired import Report, arguments, note, percentile
from benchmarks._pane import APP, LOOP, Pane, Watcher, panes

CPU_BARS = {0: "at most 2 %", 10: "at most 25 %", 100: "at most 50 %"}


class Writer:
    """Another process that makes calls at a pace; see `benchmarks._writer`."""

    def __init__(self, place: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks._writer", "paced", str(place)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def call(self, number: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()

    def commits(self) -> dict[str, float]:
        """Token to the moment of its commit; ends the process."""
        out, _ = self._process.communicate()
        return {token(int(number)): float(at) for number, at in map(str.split, out.splitlines())}


def write_at(rate: int, seconds: float, first: int, writer: Writer, watcher: Watcher) -> int:
    """Calls at a steady rate for a while, with every fraction of the loop's beat hit alike; the next free number."""
    begin = time.monotonic()
    number = first
    while (at := begin + (number - first) / rate) < begin + seconds:
        # A period that is a multiple of the poll would always meet the loop at the same point of its beat.
        at += (number * 0.618 % 1) * min(0.1, 1 / rate)
        watcher.run(at - time.monotonic())
        writer.call(number)
        number += 1
    watcher.run(0.8)
    return number


def latencies(pane: Pane, commits: dict[str, float], numbers: range) -> tuple[list[float], int]:
    """(seconds from commit to paint of the rows that were painted, rows that were not)."""
    found = [pane.seen[token(n)] - commits[token(n)] for n in numbers if token(n) in pane.seen]
    return found, len(numbers) - len(found)


def measure(rates: list[int], seconds: float, rows: int, report: Report) -> None:
    with home() as place:
        fill(place, rows)
        with panes((APP, place), (LOOP, place)) as ((app, loop), watcher):
            watcher.until(app, token(rows - 1))
            watcher.run(3.0)
            writer = Writer(place)
            watcher.run(1.5)
            cpu: dict[int, tuple[float, float]] = {}
            spans: dict[int, range] = {}
            at = rows + 1000
            for rate in rates:
                note(f"{rate} writes a second")
                before = app.cpu_s(), loop.cpu_s(), time.monotonic()
                if rate:
                    began, at = at, write_at(rate, max(seconds, 30 / rate), at, writer, watcher)
                    spans[rate] = range(began, at)
                else:
                    watcher.run(seconds)
                spent = time.monotonic() - before[2]
                cpu[rate] = (app.cpu_s() - before[0]) / spent * 100, (loop.cpu_s() - before[1]) / spent * 100
                watcher.run(1.0)
            commits = writer.commits()
            for rate in rates:
                if rate:
                    _add(report, rate, latencies(app, commits, spans[rate]), latencies(loop, commits, spans[rate]))
                report.add(f"{rate}/s, share of a core", *cpu[rate], unit="%", bar=CPU_BARS.get(rate, ""))


def _add(report: Report, rate: int, ours: tuple[list[float], int], theirs: tuple[list[float], int]) -> None:
    p99_bar = percentile(theirs[0], 0.99) * 1000 + 75
    bars = "at most the loop's", f"the loop's + 75 ms = {'?' if math.isnan(p99_bar) else round(p99_bar)} ms"
    report.times(f"{rate}/s, commit to paint", ours[0], theirs[0], unit="ms", bars=bars)
    report.add(f"{rate}/s, rows never painted", ours[1], theirs[1], unit="rows", bar="0")


def main() -> None:
    asked = arguments(
        __doc__ or "", seconds=(15, "seconds at each rate, at least 30 rows"), rows=(2000, "rows at the start")
    )
    asked.add_argument("--rates", default="0,1,10,100", help="writes a second, with commas (default 0,1,10,100)")
    options = asked.parse_args()
    report = Report(
        f"commit by another process to the painted row, {options.rows} rows at the start",
        "a bare loop in the same run: data_version every 100 ms, then print",
    )
    measure([int(rate) for rate in options.rates.split(",")], options.seconds, options.rows, report)
    report.show(as_json=options.json)


if __name__ == "__main__":
    main()
