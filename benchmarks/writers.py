"""Several processes write at once: is anything lost or doubled, and how long does a hook wait?"""

from __future__ import annotations

import collections
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import agent_ledger
from agent_ledger.engine.paths import Paths
from benchmarks._homes import ROOT, call_ids, home
from benchmarks._paired import Report, arguments, note, percentile
from benchmarks._writer import make_bare

LIMIT_S = 0.060


def race(kind: str, where: Path, writers: int, calls: int) -> list[float]:
    """The time of every hook (or commit) of all writers, which start together."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks._writer", kind, str(where), str(at * calls), str(calls)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for at in range(writers)
    ]  # fmt: skip
    time.sleep(1.0)  # Until all have loaded.
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    found: list[float] = []
    for process in processes:
        out, _ = process.communicate()
        found += json.loads(out)
    return found


def merge_rest(paths: Paths) -> None:
    """Let a further process do what each does when a session starts: take in what others left in the spool."""
    agent_ledger.on_session_start(session_id="")
    deadline = time.monotonic() + 20
    while any(paths.spool.glob("*.jsonl")) and time.monotonic() < deadline:
        agent_ledger.on_session_start(session_id="")
        time.sleep(0.2)
    agent_ledger.recorder().keeper.close()


def lost_and_doubled(ledger: Path, calls: range) -> tuple[int, int, int]:
    """Of the calls with these numbers: (without a settled row, with more than one row, rows still pending)."""
    wanted = {call_ids(number)["tool_call_id"] for number in calls}
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    rows = [row for row in connection.execute("SELECT tool_call_id, status FROM ledger") if row[0] in wanted]
    connection.close()
    settled = {call_id for call_id, status in rows if status == "CONFIRMED"}
    often = collections.Counter(call_id for call_id, _ in rows)
    return len(wanted - settled), sum(count > 1 for count in often.values()), sum(s == "PENDING" for _, s in rows)


def one_round(writers: int, calls: int, folder: Path, number: int) -> tuple[list[float], list[float], tuple[int, ...]]:
    bare_path = folder / f"bare-{number}.db"
    make_bare(str(bare_path))
    theirs = race("bare", bare_path, writers, calls)
    with home() as place:
        paths = Paths(place)
        ours = race("plugin", place, writers, calls)
        merge_rest(paths)
        return ours, theirs, lost_and_doubled(paths.ledger, range(writers * calls))


def main() -> None:
    asked = arguments(
        __doc__ or "",
        writers=(4, "processes"),
        calls=(2000, "calls of each"),
        rounds=(2, "rounds, each with the plugin and with bare sqlite3"),
    ).parse_args()
    report = Report(
        f"{asked.writers} processes, {asked.calls} calls each, {asked.rounds} rounds",
        "bare sqlite3 with as many processes, each waiting as long as it takes",
    )
    ours: list[float] = []
    theirs: list[float] = []
    lost = doubled = open_ = 0
    with home() as folder:
        for number in range(asked.rounds):
            note(f"round {number + 1} of {asked.rounds}")
            mine, other, (a, b, c) = one_round(asked.writers, asked.calls, folder, number)
            ours, theirs = ours + mine, theirs + other
            lost, doubled, open_ = lost + a, doubled + b, open_ + c
    report.add("calls lost", lost, None, unit="calls", bar="0")
    report.add("calls doubled", doubled, None, unit="calls", bar="0")
    report.add("calls still pending", open_, None, unit="calls", bar="0")
    within, within_bare = (100 * sum(t <= LIMIT_S for t in side) / len(side) for side in (ours, theirs))
    report.add("hooks within 60 ms", within, within_bare, unit="%", bar="at least 99.9 %")
    report.times("one hook", ours, theirs, unit="ms")
    report.add("one hook, longest", 1000 * percentile(ours, 1), 1000 * percentile(theirs, 1), unit="ms")
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
