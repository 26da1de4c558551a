"""What the plugin adds to one tool call, against the least that any ledger must do: two commits of bare sqlite3."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import agent_ledger
from benchmarks._homes import RESULT, ROOT, call_args, call_ids, environment, home
from benchmarks._paired import Report, arguments, interleaved, percentile

WAXSEAL = "waxseal==0.1.6"

_TABLE = (
    "CREATE TABLE IF NOT EXISTS ledger(id INTEGER PRIMARY KEY, ts REAL, session_id TEXT, turn_id TEXT,"
    " tool_call_id TEXT, tool_name TEXT, args_json TEXT, status TEXT, settled_ts REAL, result TEXT)"
)


class Bare:
    """sqlite3 and nothing else: WAL, NORMAL, one insert and one update in two commits, an index on the call id and a
    partial one on what is pending, checkpoints as SQLite makes them by itself."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute(_TABLE)
        self._db.execute("CREATE INDEX IF NOT EXISTS by_call ON ledger(tool_call_id)")
        self._db.execute("CREATE INDEX IF NOT EXISTS open ON ledger(status) WHERE status='PENDING'")

    def pre(self, args: dict[str, Any], ids: dict[str, str]) -> None:
        self._db.execute(
            "INSERT INTO ledger(ts, session_id, turn_id, tool_call_id, tool_name, args_json, status)"
            " VALUES(?,?,?,?,?,?,'PENDING')",
            (time.time(), ids["session_id"], ids["turn_id"], ids["tool_call_id"], "terminal", json.dumps(args)),
        )

    def post(self, ids: dict[str, str]) -> None:
        self._db.execute(
            "UPDATE ledger SET status='CONFIRMED', settled_ts=?, result=? WHERE tool_call_id=?",
            (time.time(), RESULT[:300], ids["tool_call_id"]),
        )


def bare_call(bare: Bare) -> Callable[[int], float]:
    def call(number: int) -> float:
        args, ids = call_args(number), call_ids(number)
        began = time.perf_counter()
        bare.pre(args, ids)
        bare.post(ids)
        return time.perf_counter() - began

    return call


def our_call(number: int) -> float:
    """One call through the plugin's own door: `pre_tool_call`, then `post_tool_call`."""
    args, ids = call_args(number), call_ids(number)
    began = time.perf_counter()
    agent_ledger.pre_tool_call(tool_name="terminal", args=args, **ids)
    agent_ledger.post_tool_call(
        tool_name="terminal", args=args, result=RESULT, status="ok", duration_ms=5, error_type=None,
        error_message=None, **ids,
    )  # fmt: skip
    return time.perf_counter() - began


def reading_hook(number: int) -> float:
    """One hook of a tool that only reads, averaged over a hundred."""
    args, ids = {"path": "/srv/www/index.html"}, call_ids(number)
    began = time.perf_counter()
    for _ in range(50):
        agent_ledger.pre_tool_call(tool_name="read_file", args=args, **ids)
        agent_ledger.post_tool_call(tool_name="read_file", args=args, result=RESULT, status="ok", duration_ms=5, **ids)
    return (time.perf_counter() - began) / 100


def empty_hook(number: int) -> float:
    """The same with a hook that does nothing at all."""
    args, ids = {"path": "/srv/www/index.html"}, call_ids(number)
    began = time.perf_counter()
    for _ in range(50):
        _nothing(tool_name="read_file", args=args, **ids)
        _nothing(tool_name="read_file", args=args, result=RESULT, status="ok", duration_ms=5, **ids)
    return (time.perf_counter() - began) / 100


def _nothing(**_: Any) -> None:
    return None


# -- waxseal ---------------------------------------------------------------------------------------------------------

_DRIVER = """
import json, sys, time
from waxseal.integrations import hermes
for line in sys.stdin:
    taken = []
    for call in json.loads(line):
        args, ids, result = call["args"], call["ids"], call["result"]
        began = time.perf_counter()
        hermes.on_pre_tool_call(tool_name="terminal", args=args, **ids)
        hermes.on_post_tool_call(tool_name="terminal", args=args, result=result, status="ok", duration_ms=5,
                                 error_type=None, error_message=None, **ids)
        taken.append(time.perf_counter() - began)
    print(json.dumps(taken), flush=True)
"""

BLOCK = 50
"""Calls in a row on either side: waking the other process for each single call would measure its cold caches."""


class Waxseal:
    """waxseal's own hooks for Hermes, in a process of its own that is driven block by block."""

    def __init__(self, python: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), "-c", _DRIVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"HERMES_HOME": str(folder), "HOME": str(folder), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip

    def calls(self, numbers: range) -> list[float]:
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        calls = [{"args": call_args(number), "ids": call_ids(number), "result": RESULT} for number in numbers]
        to.write(json.dumps(calls) + "\n")
        to.flush()
        return [float(taken) for taken in json.loads(back.readline())]

    def close(self) -> None:
        self._process.communicate()


def waxseal_python() -> Path:
    """Interpreter of an environment that holds waxseal; made by pip when it is first asked for."""
    python = ROOT / ".cache" / "benchmarks" / "waxseal" / "bin" / "python"
    ready = python.parent / "waxseal"
    return python if ready.exists() else environment("waxseal", WAXSEAL)


def against_waxseal(calls: int, folder: Path) -> Report:
    report = Report("pre + post of one call, plugin against waxseal", f"{WAXSEAL}, its Hermes hooks")
    peer = Waxseal(waxseal_python(), folder)
    try:
        ours: list[float] = []
        theirs: list[float] = []
        for start in range(0, calls + BLOCK, BLOCK):
            numbers = range(start, start + BLOCK)
            mine, other = [our_call(number) for number in numbers], peer.calls(numbers)
            if start:  # The first block is the warm-up.
                ours += mine
                theirs += other
    finally:
        peer.close()
    report.times("pre + post", ours, theirs, unit="µs")
    faster = percentile(theirs, 0.5) / percentile(ours, 0.5)
    report.add("times faster, medians", faster, None, unit="x", bar="at least 8x")
    return report


def against_bare(calls: int, folder: Path) -> Report:
    report = Report(
        f"pre + post of one call, {calls} calls, each with a call of bare sqlite3 beside it",
        "bare sqlite3: WAL, NORMAL, one insert and one update in two commits, two indexes",
    )
    bare = bare_call(Bare(folder / "bare.db"))
    ours, theirs = interleaved(calls, 300, our_call, bare)
    report.times("pre + post", ours, theirs, unit="µs", bars=("at most 3x, aim 2.2x", "at most 3x, or 1 ms"))
    reading, empty = interleaved(200, 20, reading_hook, empty_hook)
    report.times("read-only tool, one hook (reference: an empty function)", reading, empty, unit="µs",
                 bars=("at most 5 µs", ""))  # fmt: skip
    return report


def main() -> None:
    parser = arguments(__doc__ or "", calls=(10_000, "calls"))
    parser.add_argument("--waxseal", action="store_true", help="measure against waxseal instead")
    asked = parser.parse_args()
    with home() as folder:
        if asked.waxseal:
            report = against_waxseal(min(asked.calls, 5_000), folder)
        else:
            report = against_bare(asked.calls, folder)
        agent_ledger.recorder().keeper.close()
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
