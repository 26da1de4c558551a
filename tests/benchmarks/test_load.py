"""The load: what it counts, and two seconds of it from end to end. No time is judged, only that nothing is lost."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from array import array
from pathlib import Path

from benchmarks._homes import fill
from benchmarks._load_host import COLUMNS, rows_of
from benchmarks.writers import lost_and_doubled

ROOT = Path(__file__).resolve().parents[2]


def test_calls_are_counted_by_their_ids(tmp_path: Path) -> None:
    ledger = fill(tmp_path, 6, pending=1)  # Numbers 0 to 5 are settled, 6 is pending.
    assert lost_and_doubled(ledger, range(2, 6)) == (0, 0, 0)
    assert lost_and_doubled(ledger, range(4, 9)) == (3, 0, 1)


def test_a_call_that_stands_there_twice_is_seen(tmp_path: Path) -> None:
    ledger = fill(tmp_path, 4)
    with sqlite3.connect(ledger) as connection:
        connection.execute(
            "UPDATE ledger SET tool_call_id = (SELECT tool_call_id FROM ledger WHERE id = 1) WHERE id = 2"
        )
    assert lost_and_doubled(ledger, range(4)) == (1, 1, 0)


def test_times_are_read_back_call_by_call(tmp_path: Path) -> None:
    rows = [[number + column / 10 for column in range(len(COLUMNS))] for number in range(3)]
    with open(tmp_path / "times", "wb") as file:
        for row in rows:
            array("d", row).tofile(file)
    assert [list(found.values()) for found in rows_of(tmp_path / "times")] == rows


def test_a_short_load_loses_nothing_and_leaves_the_app_open() -> None:
    done = subprocess.run(
        [
            sys.executable, "-m", "benchmarks.load", "--seconds", "2", "--sessions", "3", "--rate", "30",
            "--rows", "10", "--processes", "2", "--json",
        ],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = {line["what"].partition(": ")[2]: line["value"] for line in json.loads(done.stdout)["lines"]}
    assert [said[f"calls {what}"] for what in ("lost", "doubled", "still pending")] == [0, 0, 0]
    assert said["places where the chain is broken"] == 0
    assert (said["the app is still there"], said["the app showed the last call"]) == (1, 1)
