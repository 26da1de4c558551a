"""Thousands of rows in view: how long from a key to the painted row?

Two lists: pending calls, which are all held, and settled ones, of which as many are fetched as the app keeps. The same
app with 50 rows runs beside it, and the same keys are pressed there.
"""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks._homes import fill, home, token
from benchmarks._paired import Report, arguments, note
from benchmarks._pane import APP, Pane, Watcher, panes

PAGE_DOWN = "\x1b[6~"


def key_to_paint(pane: Pane, watcher: Watcher, key: str, expected: str) -> float:
    """Seconds from the key to the row it leads to; not a number when that row is not painted within a second."""
    at = pane.press(key)
    painted = watcher.until(pane, expected, after=at, patience_s=1.0)
    return painted - at


def down(pane: Pane, watcher: Watcher, numbers: list[int]) -> list[float]:
    """`j` from one row to the next; the rows have these numbers."""
    taken = []
    for number in numbers:
        taken.append(key_to_paint(pane, watcher, "j", token(number)))
        watcher.run(0.08)
    return [seconds for seconds in taken if seconds == seconds]


def measure(report: Report, name: str, places: tuple[Path, Path], start: str, rows: list[list[int]]) -> None:
    with panes((APP, places[0]), (APP, places[1])) as (both, watcher):
        for pane, numbers in zip(both, rows, strict=True):
            watcher.until(pane, token(numbers[0]))
        watcher.run(3.0)
        for key in start:
            for pane in both:
                pane.press(key)
            watcher.run(0.5)
        many = down(both[0], watcher, rows[0][1:])
        few = down(both[1], watcher, rows[1][1:])
        report.times(f"{name}: j", many, few, unit="ms", bars=("at most 100 ms", ""))


def pages(report: Report, place: Path, total: int, presses: int) -> None:
    """Page down through settled rows until the app holds as many as it ever does, then on and back."""
    with panes((APP, place)) as ((app,), watcher):
        watcher.until(app, token(total - 1))
        watcher.run(3.0)
        taken = []
        for _ in range(presses):
            before = len(app.seen)
            at = app.press(PAGE_DOWN)
            while len(app.seen) == before and time.monotonic() < at + 1:
                watcher.once(0.5)
            taken.append(max(app.seen.values()) - at)
            watcher.run(0.12)
        late = taken[len(taken) // 2 :]
        report.times(
            f"page down, after {len(taken) // 2} pages (reference: before)", late, taken[: len(taken) // 2], unit="ms",
            bars=("at most 100 ms", ""),
        )  # fmt: skip


def main() -> None:
    asked = arguments(
        __doc__ or "", rows=(5000, "rows in view"), keys=(40, "presses of j"), pages=(120, "presses of page down")
    ).parse_args()
    report = Report(f"key to paint, {asked.rows} rows in view", "the same app with 50 rows in view")
    few = 50
    with home() as many_pending, home() as few_pending:
        note("pending rows")
        fill(many_pending, 10, pending=asked.rows)
        fill(few_pending, 10, pending=few)
        # Pending calls stand by deadline, the oldest first; only a third of the screen is theirs.
        rows = [list(range(10, 10 + asked.keys)) for _ in range(2)]
        measure(report, "pending", (many_pending, few_pending), "hhg", rows)
    with home() as many_settled, home() as few_settled:
        note("settled rows")
        fill(many_settled, asked.rows + 3000)
        fill(few_settled, few)
        top = asked.rows + 3000
        rows = [list(range(top - 1, top - 1 - asked.keys, -1)), list(range(few - 1, few - 1 - asked.keys, -1))]
        measure(report, "settled", (many_settled, few_settled), "", rows)
        pages(report, many_settled, top, asked.pages)
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
