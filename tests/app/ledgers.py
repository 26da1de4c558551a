"""Ledgers and calls for the app's tests, at a fixed time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.records import Call, Inert, utc_text
from ledger_tui.sources.health import Health
from ledger_tui.sources.ledger import LedgerChange, Totals

NOW = 1_780_142_400.0
"""2026-05-30T12:00:00Z"""


class Clock:
    """A clock that stands still until it is moved. Its monotonic side moves along."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def mono(self) -> float:
        return self.now - NOW + 1000.0


def a_call(id: int = 1, **changes: Any) -> Call:
    """A pending `terminal` call that was issued ten seconds ago, with what is said otherwise."""
    plain = Call(
        id=id, ts=Inert(utc_text(NOW - 10)), at=NOW - 10, session_id=Inert("s1"), turn_id=None, tool_call_id=None,
        task_id=None, tool_name=Inert("terminal"), args_json=Inert('{"command": "make"}'), args_cut=False,
        args_redacted=0, status=Inert("PENDING"), effect=None, result_digest=None, grace_s=120.0, mono=None,
        writer_id=None, repeat_of=None, nested_in=None, seen=1, settled_ts=None, duration_ms=None, exit_code=None,
        closed_by=None, later_status=None, later_ts=None, later_digest=None, reported_ts=None, no_signal=False,
        changed=id,
    )  # fmt: skip
    return replace(plain, **changes)


def a_change(calls: Sequence[Call] = (), **changes: Any) -> LedgerChange:
    """A message of the source with those rows."""
    none: frozenset[int] = frozenset()
    plain = LedgerChange(NOW, False, tuple(calls), None, Totals(), none, none, Health())
    return replace(plain, **changes)


class Ledger:
    """A `ledger.db` in a home, written as the plugin writes it; open for as long as the test wants it live."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self.paths = Paths(home)
        self._clock = clock
        self.paths.data.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(self.paths.ledger, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        schema.prepare(self.db)
        self._changed = int(NOW * 1_000_000) - 10_000_000_000

    def issue(self, tool: str, args: Any, *, ago: float = 0.0, session: str | None = "s1", **columns: Any) -> int:
        """A new row, pending unless `columns` say otherwise. Returns its id."""
        values = {
            "ts": utc_text(self._clock() - ago),
            "session_id": session,
            "tool_name": tool,
            "args_json": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False),
            "status": "PENDING",
            "grace_s": 120.0,
            "changed": self._next(),
            **columns,
        }
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        row = self.db.execute(f"INSERT INTO ledger({names}) VALUES({marks})", tuple(values.values()))
        return row.lastrowid or 0

    def ago(self, moment: float) -> float:
        """How long before the clock's present that moment was."""
        return self._clock() - moment

    def settle(self, id: int, status: str = "CONFIRMED", **columns: Any) -> None:
        """Change a row: settled now, unless `columns` say otherwise."""
        values = {"status": status, "settled_ts": utc_text(self._clock()), "changed": self._next(), **columns}
        names = ", ".join(f"{name} = ?" for name in values)
        self.db.execute(f"UPDATE ledger SET {names} WHERE id = ?", (*values.values(), id))

    def report(self, id: int) -> None:
        """Make a pending row a ghost that the agent has been told of."""
        self.settle(id, "GHOST_REPORTED", settled_ts=None, reported_ts=utc_text(self._clock()))

    def done(self, tool: str, args: Any, *, ago: float, session: str | None = "s1", **columns: Any) -> int:
        """A call that was confirmed after 1.5 seconds."""
        settled: dict[str, Any] = {
            "status": "CONFIRMED",
            "effect": "done",
            "settled_ts": utc_text(self._clock() - ago + 1.5),
            "duration_ms": 1500,
            "result_digest": '{"ok": true}',
        }
        return self.issue(tool, args, ago=ago, session=session, **{**settled, **columns})

    def judge(self, id: int, verdict: str, *evidence: str, ago: float = 60.0) -> None:
        """Somebody looked whether the call landed."""
        told = (id, verdict, json.dumps(evidence), utc_text(self._clock() - ago))
        self.db.execute("INSERT INTO verdict(ledger_id, verdict, evidence, checked_ts) VALUES(?,?,?,?)", told)
        self.db.execute("UPDATE ledger SET changed = ? WHERE id = ?", (self._next(), id))

    def _next(self) -> int:
        self._changed += 1000
        return self._changed


def a_day(ledger: Ledger) -> None:
    """A believable day in two sessions, every state among it: 11 calls."""
    morning, chat = "20260530_081204_9f3c1a", "20260530_114502_77b0de"
    ledger.done("write_file", {"path": "notes/plan.md", "content": "# Plan\n"}, ago=12_000, session=morning)
    ledger.done("terminal", {"command": "git push origin main"}, ago=11_000, session=morning, exit_code=0)
    ledger.issue(
        "cronjob", {"action": "create", "name": "nightly backup", "schedule": "0 3 * * *"}, ago=9000, session=morning,
        status="GHOST_REPORTED", reported_ts=utc_text(NOW - 8000),
    )  # fmt: skip
    ledger.done(
        "terminal", {"command": "rm -rf build"}, ago=7000, session=morning, status="ERROR:blocked", effect="none",
        result_digest="refused by policy: recursive delete", duration_ms=3,
    )  # fmt: skip
    ledger.done(
        "mcp__mail__send", {"to": "kim@example.org", "subject": "Minutes"}, ago=5400, session=chat,
        reported_ts=utc_text(NOW - 5000), settled_ts=utc_text(NOW - 4000), duration_ms=1_400_000,
    )  # fmt: skip
    edit = {"path": "src/app.py", "diff": "-a\n+b"}
    ledger.done("patch", edit, ago=3000, session=chat, args_hash=b"edit")
    ledger.done(
        "terminal", {"command": "make test", "timeout": 60}, ago=2000, session=chat, status="ERROR:timeout",
        effect="unknown", result_digest="no output for 60 s", duration_ms=60_000,
    )  # fmt: skip
    ledger.done("write_file", {"path": "五月/予算.csv", "content": "🚀"}, ago=1000, session=chat)
    ledger.issue("patch", edit, ago=300, session=chat, repeat_of=6, args_hash=b"edit")
    ledger.issue("delegate_task", {"goal": "Summarise the inbox"}, ago=60, session=chat, grace_s=1800.0)
    ledger.issue("terminal", {"command": "make release"}, ago=20, session=chat, grace_s=900.0)


def looked_at(ledger: Ledger) -> None:
    """Four lost calls after the day's 11, and what was found of three of them, and of the one that timed out."""
    chat = "20260530_114502_77b0de"
    report = {"status": "GHOST_REPORTED", "reported_ts": utc_text(NOW - 100)}
    note = {"path": "notes/minutes.md", "content": "# Minutes\n"}
    first = ledger.issue("write_file", note, ago=900, session=chat, args_hash=b"note", effect="unknown", **report)
    ledger.issue(
        "memory", {"action": "add", "target": "user", "content": "Tea, no sugar"}, ago=800, session=chat, **report
    )
    ledger.issue("mcp__mail__send", {"to": "ada@example.org"}, ago=700, session=chat, **report)
    ledger.issue("terminal", {"command": "git tag v4.2"}, ago=600, session=chat)
    ledger.done("write_file", note, ago=500, session=chat, args_hash=b"note", repeat_of=first)
    ledger.judge(first, "landed", '"/srv/notes/minutes.md" holds exactly what was to be written, written 1 s after.')
    ledger.judge(
        13, "absent", 'No entry like it is in "memories/USER.md".', "The file was last written before the call."
    )
    ledger.judge(14, "unknown", "What a remote tool did leaves no trace on this machine.")
    ledger.judge(7, "absent", "No file that the command would have made is there.")
