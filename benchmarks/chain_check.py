"""How fast is a chain checked, in what memory, and what does a call weigh in the file? Against reading and hashing."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import agent_ledger
from agent_ledger.engine import schema
from agent_ledger.engine.call_rows import CallRows
from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.outcome import Outcome
from agent_ledger.engine.paths import Paths, private_folder
from agent_ledger.engine.records import utc_text
from benchmarks._homes import RESULT, call_args, call_ids, home
from benchmarks._paired import Report, arguments, interleaved, note, percentile
from benchmarks._sessions import run
from benchmarks.hook_overhead import our_call

_CHILD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from benchmarks.chain_check import one
one(sys.argv[1])
"""


def chained(folder: Path, calls: int) -> Path:
    """A ledger of so many settled calls, written by the plugin's own writer in one transaction; its path.

    One call in fifty was contradicted later, so its row has an amendment.
    """
    paths = Paths(folder)
    private_folder(paths.data)
    with closing(sqlite3.connect(paths.ledger, isolation_level=None)) as db:
        os.chmod(paths.ledger, 0o600)
        db.execute("PRAGMA page_size=2048")
        db.execute("PRAGMA synchronous=OFF")
        schema.prepare(db)
        rows = CallRows(db)
        db.execute("BEGIN")
        for number in range(calls):
            _add(rows, number)
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode=WAL")
    return paths.ledger


def _add(rows: CallRows, number: int) -> None:
    at, ids = 1_780_000_000 + number * 0.1, call_ids(number)
    ts, now_us = utc_text(at), int(at * 1_000_000)
    call_id = rows.insert(
        (
            ts, ids["session_id"], ids["turn_id"], ids["tool_call_id"], ids["task_id"], ids["api_request_id"],
            "terminal", json.dumps(call_args(number)), 0, 0, number.to_bytes(16, "big"), None, "PENDING", 900.0, at,
            1, None, None, None,
        ),
        now_us=now_us,
    )  # fmt: skip
    done = Outcome("CONFIRMED", "done", 0, 20, RESULT[:300])
    rows.settle(call_id, ids["tool_call_id"], done, by="post", ts=ts, now_us=now_us)
    if number % 50 == 7:
        rows.contradict(call_id, Outcome("ERROR:timeout", "unknown", None, 9, "later"), ts=ts, now_us=now_us)


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)


def checked(path: Path) -> float:
    """Seconds of the processor for a whole check."""
    with closing(_opened(path)) as db:
        began = time.process_time()
        found = check_chain(db)
        taken = time.process_time() - began
    assert found.whole, found.found
    return taken


def bare(path: Path) -> float:
    """The same for reading every row and hashing its text twice, with no chain to look after."""
    with closing(_opened(path)) as db:
        began = time.process_time()
        for row in db.execute("SELECT * FROM ledger ORDER BY id"):
            text = json.dumps(row[:-2], default=bytes.hex).encode()
            hashlib.sha256(hashlib.sha256(text).digest() + text).digest()
        return time.process_time() - began


def one(name: str) -> None:
    """One check in this process, which does nothing else; prints the peak of its memory in MB."""
    import resource

    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    began = time.perf_counter()
    checked(Path(name))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps({"before": before, "peak": peak, "seconds": time.perf_counter() - began}))


def weight(calls: int, report: Report) -> None:
    """Bytes of the file for each call made through the hooks, with all indexes; and what the chain adds to it."""
    with home() as folder:
        recorder = agent_ledger.recorder()
        for number in range(calls):
            our_call(number)
        recorder.keeper.close()
        with closing(sqlite3.connect(Paths(folder).ledger, isolation_level=None)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (rows,) = db.execute("SELECT count(*) FROM ledger").fetchone()
            size = Paths(folder).ledger.stat().st_size
            db.execute("UPDATE ledger SET issue_seal=NULL, settle_seal=NULL")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            without = Paths(folder).ledger.stat().st_size
    report.add("bytes a call", size / rows, without / rows, unit="B", bar="at most 1,200 (reference: without seals)")


def main() -> None:
    asked = arguments(
        __doc__ or "",
        rows=(200_000, "calls of the ledger that is checked again and again"),
        large=(1_000_000, "calls of the one whose check is weighed"),
        rounds=(3, "times that it is checked, and read without checking"),
        calls=(10_000, "calls through the hooks, to see what one weighs"),
    ).parse_args()
    report = Report(f"checking the chain of {asked.rows:,} calls", "reading every row and hashing its text twice")
    note(f"making {asked.rows:,} calls")
    with home() as folder:
        path = chained(folder, asked.rows)
        ours, plain = interleaved(asked.rounds, 0, lambda _: checked(path), lambda _: bare(path))
    mine, other = percentile(ours, 0.5), percentile(plain, 0.5)
    report.add("whole check, median", mine, other, unit="s")
    report.add("calls a second", asked.rows / mine, asked.rows / other, unit="/s", bar="at least 50,000")
    note(f"making {asked.large:,} calls")
    with home() as folder:
        found = json.loads(run(sys.executable, _CHILD, chained(folder, asked.large)))
    report.add(f"{asked.large:,} calls, by the clock", found["seconds"], None, unit="s")
    report.add("memory at its peak, before it", found["peak"], found["before"], unit="MB", bar="at most 100 MB")
    note("calls through the hooks")
    weight(asked.calls, report)
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
