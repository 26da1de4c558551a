"""What the tests of repairs share: a store's exact content, and one laid out, planned and repaired."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ledger_tui.routing.orphans import MAX_GAP_S
from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.apply import Applied, apply
from ledger_tui.routing.repair.plan import Plan, look, propose
from tests.routing.corpus import Case

NOW = 1_786_298_400.0
"""The moment at which the host repaired these stores."""


def clock() -> float:
    return NOW


def dump(path: Path) -> list[tuple[Any, ...]]:
    """Every cell of `sessions` as its storage class and its bytes."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(sessions)")]
        cells = ", ".join(f'typeof("{name}"), CAST("{name}" AS BLOB)' for name in names)
        return connection.execute(f"SELECT rowid, {cells} FROM sessions ORDER BY rowid").fetchall()


def cells(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of `sessions` by id."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.row_factory = sqlite3.Row
        return {row["id"]: dict(row) for row in connection.execute("SELECT * FROM sessions")}


def digest(path: Path) -> str:
    """Of the file, byte by byte. Only where no connection of this process is open on it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def gap(case: Case) -> float:
    given = case.expected["input"]["max_gap_s"]
    return MAX_GAP_S if given is None else float(given)


def planned(home: Path, path: Path, *, max_gap_s: float = MAX_GAP_S, **asked: Any) -> Plan:
    findings = look(read_store(path, home), max_gap_s=max_gap_s)
    return propose(path, findings, now=NOW, max_gap_s=max_gap_s, **asked)


def repaired(home: Path, path: Path, **asked: Any) -> Applied:
    """The store, repaired. That everything is stopped is vouched for: some systems show no open files."""
    return apply(path, home, planned(home, path, **asked), clock=clock, stopped_by="the test", chosen_by="the test")


def change(path: Path, sql: str, *values: Any) -> None:
    """One statement in the store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql, values)
