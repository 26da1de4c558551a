"""A thousand lost calls of every kind, half of which landed: how long until each has its verdict, and it is kept?

Beside it, in turn, the least that any look costs: one `stat` and one reading of as many files. Then the app verifies
them all while `j` is pressed in the list of ghosts: from the key to the painted row, during the search and before it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections import Counter
from pathlib import Path

from agent_ledger.engine.paths import Paths
from benchmarks._ghosts import fill
from benchmarks._homes import home, token
from benchmarks._paired import Report, arguments, interleaved, note
from benchmarks._pane import APP, Pane, Watcher, panes
from ledger_tui.sources.verdicts import Search, VerdictSource


def searched(place: Path, ids: list[int], report: Report, rounds: int) -> None:
    """Through the same source that the app uses, the keeping included."""
    source = VerdictSource(Paths(place), clock=time.time)
    files = [path for path in sorted((place / "work" / "src").iterdir()) if path.is_file()]
    counts: Counter[str] = Counter()

    def verdicts(_: int) -> float:
        search, began = Search(len(ids)), time.perf_counter()
        outcome = source.verify_blocking(ids, search)
        taken = time.perf_counter() - began
        counts.clear()
        counts.update(verdict.verdict for _, verdict in outcome.found)
        assert not outcome.not_kept
        return taken

    def stats(_: int) -> float:
        began = time.perf_counter()
        for at in range(len(ids)):
            path = files[at % len(files)]
            os.stat(path)
            path.read_bytes()
        return time.perf_counter() - began

    mine, plain = interleaved(rounds, 1, verdicts, stats)
    report.add("verdicts found and kept, longest", max(mine), max(plain), unit="s", bar="at most 5 s")
    report.add("the same, median", sorted(mine)[len(mine) // 2], sorted(plain)[len(plain) // 2], unit="s")
    for name in ("landed", "absent", "unknown"):
        report.add(name, counts[name], None, unit="calls")


def kept(place: Path) -> int:
    """How many verdicts stand in the ledger by now."""
    uri = Paths(place).ledger.as_uri() + "?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        ((number,),) = connection.execute("SELECT count(*) FROM verdict").fetchall()
    return int(number)


def step(pane: Pane, watcher: Watcher, number: int) -> float:
    """From `j` to the row of that number; at most a second."""
    at = pane.press("j")
    painted = watcher.until(pane, token(number), after=at, patience_s=1.0)
    return (painted if painted == painted else at + 1.0) - at


def pressed(place: Path, ghosts: int, report: Report, keys: int) -> None:
    """The newest ghost stands first. The first presses only move the cursor to where every row is a new one."""
    with panes((APP, place)) as ((app,), watcher):
        watcher.until(app, token(ghosts - 1))
        watcher.run(3.0)
        app.press("h")
        watcher.run(0.5)
        number = ghosts - 1
        before, during = [], []
        for _ in range(keys):
            number -= 1
            before.append(step(app, watcher, number))
            watcher.run(0.03)
        began = app.press("V")
        while kept(place) < ghosts and number > 0 and time.monotonic() < began + 60:
            number -= 1
            during.append(step(app, watcher, number))
            watcher.run(0.03)
        report.add("V to the last verdict kept", time.monotonic() - began, None, unit="s", bar="at most 5 s")
        report.times("a key meanwhile (reference: before)", during, before, unit="ms", bars=("", "at most 100 ms"))
        report.add("keys pressed meanwhile", len(during), None, unit="keys")


def main() -> None:
    asked = arguments(
        __doc__ or "", ghosts=(1000, "lost calls"), settled=(9000, "settled calls among them"), rounds=(5, "rounds"),
        keys=(40, "presses of j before the search"),
    ).parse_args()  # fmt: skip
    report = Report(f"verdicts on {asked.ghosts} ghosts", "stat and read as many files, nothing else")
    with home() as place:
        note("verdicts")
        searched(place, fill(place, asked.ghosts, asked.settled), report, asked.rounds)
    with home() as place:
        note("keys")
        fill(place, asked.ghosts, asked.settled)
        pressed(place, asked.ghosts, report, asked.keys)
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
