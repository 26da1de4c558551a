"""Scoring a million rows against a bare SELECT over them, and what one more row costs at both sizes."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from agent_ledger.engine.posture import Posture
from agent_ledger.engine.posture.reading import PAGE, rows, scored
from agent_ledger.engine.posture.rows import RawRow
from agent_ledger.engine.records import utc_text
from agent_ledger.engine.schema import columns_of
from benchmarks._homes import fill, home
from benchmarks._paired import Report, arguments, note, percentile


def bare(connection: sqlite3.Connection) -> float:
    """Seconds that a program takes which only looks at every row, with the columns that a posture needs."""
    began, seen = time.perf_counter(), 0
    for row in rows(connection, columns_of(connection)):
        seen += len(row)
    return time.perf_counter() - began


def whole(connection: sqlite3.Connection) -> tuple[float, Posture]:
    """Seconds that scoring the same rows takes, and the posture."""
    began = time.perf_counter()
    posture = scored(connection, columns_of(connection))
    return time.perf_counter() - began, posture


def one_more(posture: Posture, number: int) -> float:
    """Seconds from one more row to the new score."""
    session = f"later-{number % 40}"
    args = f'{{"command": "make report NAME=later{number}", "timeout": 60}}'
    row: RawRow = (10_000_000 + number, utc_text(time.time()), session, None, "terminal", args, 0, 0, "CONFIRMED", 1)
    began = time.perf_counter()
    posture.feed_rows([row])
    posture.score  # noqa: B018 - what a screen asks for
    return time.perf_counter() - began


_MIXED = (
    ("terminal", '{"command": "git -C app log --oneline -5 # %d"}'),
    ("terminal", '{"command": "python3 tools/build.py --number %d"}'),
    ("terminal", '{"command": "grep -rn colour src | head -%d"}'),
    ("write_file", '{"path": "src/part_%d.py", "content": "print(1)\\n"}'),
    ("patch", '{"path": "notes/day_%d.md", "old_string": "a", "new_string": "b"}'),
    ("browser_navigate", '{"url": "https://pages.example/%d"}'),
)


def mixed(count: int) -> float:
    """Rows a second of all kinds, many of which need the closer look, each with arguments of its own."""
    rows_: list[RawRow] = []
    for number in range(count):
        tool, args = _MIXED[number % len(_MIXED)]
        ts = utc_text(1_780_000_000 + number * 20.0)
        rows_.append((number + 1, ts, f"s{number // 200}", None, tool, args % number, 0, 0, "CONFIRMED", 1))
    began = time.perf_counter()
    Posture().feed_rows(rows_)
    return count / (time.perf_counter() - began)


def main() -> None:
    asked = arguments(
        __doc__ or "",
        large=(1_000_000, "rows of the large ledger"),
        small=(1_000, "rows of the small one"),
        rounds=(3, "times that the large one is read both ways"),
        mixed=(12_000, "rows of which many need a closer look"),
        rows=(2_000, "more rows, each in both"),
    ).parse_args()
    report = Report(f"scoring {asked.large:,} rows", f"a bare SELECT loop in pages of {PAGE:,}")
    with home() as large, home() as small:
        note(f"making {asked.large:,} rows")
        paths: tuple[Path, Path] = fill(large, asked.large), fill(small, asked.small)
        with closing(sqlite3.connect(paths[0])) as big, closing(sqlite3.connect(paths[1])) as little:
            taken, plain = [], []
            for number in range(asked.rounds):
                note(f"round {number + 1} of {asked.rounds}")
                plain.append(bare(big))
                seconds, posture = whole(big)
                taken.append(seconds)
            mine, other = percentile(taken, 0.5), percentile(plain, 0.5)
            report.add("all rows, median", mine, other, unit="s")
            report.add("rows a second", asked.large / mine, asked.large / other, unit="/s", bar="at least 100,000")
            _, few = whole(little)
            report.add("rows a second, mixed", mixed(asked.mixed), None, unit="/s")
        note("one more row")
        more = [(one_more(posture, number), one_more(few, number)) for number in range(asked.rows)]
        report.times("one more row", [a for a, _ in more], [b for _, b in more], unit="µs", bars=("about 1x", ""))
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
