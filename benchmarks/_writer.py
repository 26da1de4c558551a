"""A process that makes calls, for the scripts that need one beside themselves. Prints JSON on standard output.

`python -m benchmarks._writer plugin|bare PATH FIRST CALLS` makes calls as fast as they go and prints how long each
hook (or each commit) took. `python -m benchmarks._writer paced HOME` makes one call for each number that it reads from
standard input, and answers each with the moment (monotonic seconds) at which its row was committed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterable

import agent_ledger
from benchmarks._homes import RESULT, call_args, call_ids


def pre(number: int) -> float:
    """Seconds that `pre_tool_call` took."""
    began = time.perf_counter()
    agent_ledger.pre_tool_call(tool_name="terminal", args=call_args(number), **call_ids(number))
    return time.perf_counter() - began


def post(number: int) -> float:
    """Seconds that `post_tool_call` took."""
    began = time.perf_counter()
    agent_ledger.post_tool_call(
        tool_name="terminal", args=call_args(number), result=RESULT, status="ok", duration_ms=5, **call_ids(number)
    )
    return time.perf_counter() - began


def plugin(home: str, numbers: Iterable[int]) -> list[float]:
    """All calls through the plugin, pre and post; the time of each hook in seconds."""
    os.environ["HERMES_HOME"] = home
    taken = [hook(number) for number in numbers for hook in (pre, post)]
    agent_ledger.recorder().keeper.close()
    return taken


def bare(path: str, numbers: Iterable[int]) -> list[float]:
    """The same calls as two commits of bare sqlite3 each, which waits for its locks as long as it takes."""
    db = sqlite3.connect(path, isolation_level=None, timeout=60)
    db.execute("PRAGMA synchronous=NORMAL")
    taken = []
    for number in numbers:
        ids, args = call_ids(number), json.dumps(call_args(number))
        began = time.perf_counter()
        db.execute("INSERT INTO ledger(ts, call_id, args, status) VALUES(?,?,?,'PENDING')",
                   (time.time(), ids["tool_call_id"], args))  # fmt: skip
        taken.append(time.perf_counter() - began)
        began = time.perf_counter()
        db.execute("UPDATE ledger SET status='CONFIRMED', result=? WHERE call_id=?",
                   (RESULT[:300], ids["tool_call_id"]))  # fmt: skip
        taken.append(time.perf_counter() - began)
    return taken


def make_bare(path: str) -> None:
    """An empty ledger for `bare`."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(
        "CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, call_id TEXT, args TEXT, status TEXT, result TEXT)"
    )
    db.execute("CREATE INDEX by_call ON ledger(call_id)")
    db.execute("CREATE INDEX open ON ledger(status) WHERE status='PENDING'")
    db.close()


def paced(home: str) -> None:
    """One call for each number on standard input, its commit's moment on standard output."""
    os.environ["HERMES_HOME"] = home
    agent_ledger.on_session_start(session_id="")
    for line in sys.stdin:
        number = int(line)
        pre(number)
        committed = time.monotonic()
        post(number)
        print(f"{number} {committed!r}", flush=True)


def main() -> None:
    what, where, *rest = sys.argv[1:]
    if what == "paced":
        paced(where)
        return
    first, calls = map(int, rest)
    sys.stdin.readline()  # All writers start when they are told.
    print(json.dumps((plugin if what == "plugin" else bare)(where, range(first, first + calls))))


if __name__ == "__main__":
    main()
