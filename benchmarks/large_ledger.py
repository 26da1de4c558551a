"""A million rows against a thousand: time to the first screen, memory, and what one new row costs."""

from __future__ import annotations

from pathlib import Path

from benchmarks._homes import fill, home, token
from benchmarks._paired import Report, arguments, note, percentile
from benchmarks._pane import APP, Pane, Watcher, panes
from benchmarks.live_latency import Writer


def first_screen(place: Path, newest: str) -> float:
    """Seconds from the start of the program to the newest row on its screen."""
    with panes((APP, place)) as ((app,), watcher):
        return watcher.until(app, newest, patience_s=120) - app.started


def new_rows(large: Path, small: Path, sizes: tuple[int, int], rows: int, settle_s: float) -> tuple[list[list[float]],
    list[float], list[float]]:  # fmt: skip
    """(commit-to-paint of both apps, CPU seconds a row of both, memory of both in MB), both running side by side."""
    with panes((APP, large), (APP, small)) as (both, watcher):
        for pane, size in zip(both, sizes, strict=True):
            watcher.until(pane, token(size - 1), patience_s=120)
        watcher.run(settle_s)
        writers = [Writer(large), Writer(small)]
        watcher.run(1.5)
        for writer in writers:
            writer.call(9_000_000)  # The first call opens the ledger.
        watcher.run(1.0)
        quiet = cpu_of(both, watcher, 5.0)
        memory = [pane.memory_mb() for pane in both]
        before = [pane.cpu_s() for pane in both]
        for number in range(rows):
            for writer in writers:
                writer.call(9_000_001 + number)
                watcher.run(0.15)
        watcher.run(0.7)
        spent = [
            (pane.cpu_s() - then - rest * (rows * 0.3 + 0.7)) / rows
            for pane, then, rest in zip(both, before, quiet, strict=True)
        ]
        commits = [writer.commits() for writer in writers]
        painted = [
            [pane.seen[name] - at for name, at in sorted(known.items())[1:] if name in pane.seen]
            for pane, known in zip(both, commits, strict=True)
        ]
        return painted, spent, memory


def cpu_of(both: list[Pane], watcher: Watcher, seconds: float) -> list[float]:
    """Share of a core that each takes when nothing is written."""
    before = [pane.cpu_s() for pane in both]
    watcher.run(seconds)
    return [(pane.cpu_s() - then) / seconds for pane, then in zip(both, before, strict=True)]


def main() -> None:
    asked = arguments(
        __doc__ or "",
        large=(1_000_000, "rows of the large ledger"),
        small=(1_000, "rows of the small one"),
        starts=(7, "starts of the app on each"),
        rows=(60, "new rows in each"),
    ).parse_args()
    report = Report(f"{asked.large:,} rows against {asked.small:,}", f"the same app on {asked.small:,} rows")
    with home() as large, home() as small:
        note(f"making {asked.large:,} rows")
        fill(large, asked.large)
        fill(small, asked.small)
        slow: list[float] = []
        quick: list[float] = []
        for number in range(asked.starts + 1):
            note(f"start {number + 1} of {asked.starts + 1}")
            taken = first_screen(large, token(asked.large - 1)), first_screen(small, token(asked.small - 1))
            if number:  # The first brings files and code into memory.
                slow.append(taken[0])
                quick.append(taken[1])
        report.add("first screen, median", percentile(slow, 0.5), percentile(quick, 0.5), unit="s", bar="at most 1.5x")
        note("new rows")
        painted, spent, memory = new_rows(large, small, (asked.large, asked.small), asked.rows, 8.0)
        report.add("memory", memory[0], memory[1], unit="MB", bar=f"at most +60 MB (is {memory[0] - memory[1]:+.0f})")
        report.times("one new row, commit to paint", painted[0], painted[1], unit="ms", bars=("at most 1.5x", ""))
        report.add("one new row, the app's CPU", spent[0] * 1000, spent[1] * 1000, unit="ms", bar="at most 1.5x")
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
