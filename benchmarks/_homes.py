"""Throwaway homes, realistic calls, and ledgers of any size made quickly."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths, private_folder
from agent_ledger.engine.records import utc_text

ROOT = Path(__file__).resolve().parents[1]

SESSION = "20260412_091500_a1b2c3"

RESULT = json.dumps({"output": "a line of what the command printed\n" * 24, "exit_code": 0, "error": None})
"""About 900 bytes, as the host's `terminal` gives it."""


def call_args(number: int) -> dict[str, Any]:
    """Arguments of about 300 bytes, different for each number; `tok0000000` names the call on a screen."""
    command = f"make report NAME=tok{number:07d} && cp build/report.html /srv/www/reports/ # "
    return {"command": command.ljust(270, "x"), "timeout": 60}


def token(number: int) -> str:
    """The text of `call_args(number)` by which the call is recognised on a screen."""
    return f"tok{number:07d}"


def call_ids(number: int) -> dict[str, str]:
    """The ids that a host passes with every hook of one call."""
    return {
        "task_id": "task-1",
        "session_id": SESSION,
        "tool_call_id": f"call_{number:09d}",
        "turn_id": f"{SESSION}:turn-{number // 7}",
        "api_request_id": f"request-{number // 3}",
    }


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """A home that is gone afterwards; `HERMES_HOME` names it meanwhile."""
    before = os.environ.get("HERMES_HOME")
    with tempfile.TemporaryDirectory(prefix="ledger-figures-", ignore_cleanup_errors=True) as name:
        os.environ["HERMES_HOME"] = name
        try:
            yield Path(name)
        finally:
            if before is None:
                del os.environ["HERMES_HOME"]
            else:
                os.environ["HERMES_HOME"] = before


def environment(name: str, *packages: str) -> Path:
    """Interpreter of a new environment under `.cache/benchmarks` with these packages, made by pip."""
    folder = ROOT / ".cache" / "benchmarks" / name
    python = folder / "bin" / "python"
    print(f"making an environment with {packages[0]} …", file=sys.stderr, flush=True)
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(step)} failed:\n{done.stderr}")
    return python


_ROW = (
    "INSERT INTO ledger(ts, session_id, turn_id, tool_call_id, task_id, request_id, tool_name, args_json, args_cut,"
    " args_redacted, args_hash, status, effect, grace_s, mono, writer_id, settled_ts, duration_ms, exit_code,"
    " closed_by, result_digest, changed) VALUES(?,?,?,?,?,?,?,?,0,0,?,?,?,900.0,?,NULL,?,?,?,?,?,?)"
)


def fill(home: Path, rows: int, *, pending: int = 0, sessions: int = 40) -> Path:
    """A ledger of `rows` settled calls and `pending` ones after them, ending a minute ago; its path.

    Call number n is `call_args(n)`. The rows look as the plugin leaves them; one in fifty is an error.
    """
    paths = Paths(home)
    private_folder(paths.data)
    connection = sqlite3.connect(paths.ledger, isolation_level=None)
    os.chmod(paths.ledger, 0o600)
    try:
        connection.execute("PRAGMA page_size=2048")
        connection.execute("PRAGMA journal_mode=WAL")
        schema.prepare(connection)
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        connection.executemany(_ROW, _rows(rows, pending, sessions))
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    return paths.ledger


def _rows(rows: int, pending: int, sessions: int) -> Iterator[tuple[Any, ...]]:
    total = rows + pending
    begin, mono = time.time() - 60 - total * 0.02, time.monotonic() - 60 - total * 0.02
    digest = RESULT[:300]
    for number in range(total):
        at = begin + number * 0.02
        ids = call_ids(number)
        open_ = number >= rows
        failed = number % 50 == 7
        status, effect = ("ERROR:tool_error", "unknown") if failed else ("CONFIRMED", "done")
        session = f"{SESSION}-{number * sessions // total:04d}"
        yield (
            utc_text(at), session, ids["turn_id"], ids["tool_call_id"], ids["task_id"], ids["api_request_id"],
            "terminal", json.dumps(call_args(number)), number.to_bytes(16, "big"),
            "PENDING" if open_ else status, None if open_ else effect, mono + number * 0.02,
            None if open_ else utc_text(at + 0.01), None if open_ else 10, None if open_ else int(failed),
            None if open_ else "post", None if open_ else digest, int(at * 1_000_000),
        )  # fmt: skip
