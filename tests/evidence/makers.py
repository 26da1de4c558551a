"""A home with a ledger in it, calls put there by hand, and files whose times are set."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.evidence import Facts, Recorded, Verdict, opened, recorded, verify
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import utc_text


class World:
    """One home. Files get the time at which a test makes them, so it is the call that is put before or after them:
    at `before`, a minute ago, or at `after`, in a minute. It is looked at in an hour."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.paths = Paths(folder / "home")
        self.paths.data.mkdir(parents=True, mode=0o700)
        start = time.time()
        self.before, self.after, self.now = start - 60.0, start + 60.0, start + 3600.0
        self.db = sqlite3.connect(self.paths.ledger, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        schema.prepare(self.db)

    def call(self, tool: str, args: dict[str, Any] | None = None, **cells: Any) -> int:
        """A row; `at` seconds become `ts`. A ghost on this machine, in the folder `work`, unless said otherwise."""
        at = cells.pop("at", self.before)
        row = {
            "ts": utc_text(at), "session_id": "s1", "turn_id": "t1", "tool_call_id": f"c{at:.3f}", "tool_name": tool,
            "args_json": json.dumps(args or {}, ensure_ascii=False), "args_cut": 0, "args_redacted": 0,
            "status": "GHOST_REPORTED", "effect": "unknown", "grace_s": 120.0, "changed": int(at * 1_000_000),
            "workplace": f"local:{self.work}", **cells,
        }  # fmt: skip
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        return int(self.db.execute(f"INSERT INTO ledger({names}) VALUES({marks})", tuple(row.values())).lastrowid or 0)

    def done(self, tool: str, args: dict[str, Any], *, at: float, took: float = 0.1, **cells: Any) -> int:
        """A confirmed call."""
        more = {"status": "CONFIRMED", "effect": "done", "settled_ts": utc_text(at + took), **cells}
        return self.call(tool, args, at=at, **more)

    def recorded(self, call_id: int) -> Recorded:
        query = recorded.query(schema.COLUMNS, "WHERE id = ?", (call_id,))
        return recorded.from_row(self.db.execute(*query).fetchone())

    @contextlib.contextmanager
    def facts(self, **more: Any) -> Iterator[Facts]:
        with opened(self.paths, now=self.now, **more) as facts:
            yield facts

    def verdict(self, call_id: int, **more: Any) -> Verdict:
        with self.facts(**more) as facts:
            return verify(self.recorded(call_id), facts)

    def says(self, call_id: int, **more: Any) -> str:
        """The word, and the first sentence of the evidence."""
        found = self.verdict(call_id, **more)
        return f"{found.verdict}: {found.evidence[0]}"
