"""Verdicts kept beside the calls: table `verdict`, the newest answer for each call. The status is never touched."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from ..chain.writer import ChainWriter, kept_out
from ..records import utc_text
from ..turnstile import Turnstile
from ..writing import PATIENCE_S, opened
from .verdict import Verdict

BITE = 200
"""Verdicts in one transaction: no hook of the agent waits for more."""


def keep(connection: sqlite3.Connection, found: Sequence[tuple[int, Verdict]]) -> None:
    """Write verdicts on an open writing connection, inside the caller's transaction; each row counts as changed."""
    chain = ChainWriter(connection)
    for ledger_id, verdict in found:
        written = connection.execute(
            "INSERT INTO verdict(ledger_id, verdict, evidence, checked_ts) VALUES(?,?,?,?) ON CONFLICT(ledger_id)"
            " DO UPDATE SET verdict=excluded.verdict, evidence=excluded.evidence, checked_ts=excluded.checked_ts",
            (
                ledger_id,
                verdict.verdict,
                json.dumps(verdict.evidence, ensure_ascii=False, separators=(",", ":")),
                utc_text(verdict.checked_at),
            ),
        )
        if not written.rowcount:
            raise kept_out()
        chain.amend(ledger_id, f"verdict: {verdict.verdict}", {}, now_us=int(verdict.checked_at * 1_000_000))


def save(path: Path, found: Sequence[tuple[int, Verdict]]) -> None:
    """The same for a command, in turn with the other writers.

    Raises UnsafePathError and ForeignSchemaError where the ledger is not ours to write, TimeoutError, OSError,
    sqlite3.Error.
    """
    if not found:
        return
    with opened(path) as connection, contextlib.closing(Turnstile(path.with_name("ledger.lock"))) as turnstile:
        for start in range(0, len(found), BITE):
            if not turnstile.enter(PATIENCE_S):
                raise TimeoutError("other processes write without a break")
            try:
                connection.execute("BEGIN IMMEDIATE")
                keep(connection, found[start : start + BITE])
                connection.execute("COMMIT")
            finally:
                turnstile.leave()
