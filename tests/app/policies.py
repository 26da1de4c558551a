"""A home with a tool policy, and decisions of it."""

from __future__ import annotations

import json
from pathlib import Path

from agent_ledger.engine.records import utc_text

from .ledgers import NOW, Ledger
from .risky import DELETE, PIPE, READ_KEY, SESSION

RULES = [
    {"name": "deletes", "kinds": ["recursive-delete"], "message": "Ask first."},
    {"name": "downloads-that-run", "kinds": ["pipe-to-shell"], "severity": "CRITICAL"},
    {"name": "secrets", "kinds": ["credential-read"]},
    {"name": "calls-of-terminal", "tools": ["terminal"], "budget": {"calls": 500}, "severity": "LOW"},
]


def write_policy(ledger: Ledger, *, mode: str = "dry_run", rules: object = None) -> None:
    """`policy.json` and `policy_mode` in the ledger's home."""
    (ledger.paths.data / "policy.json").write_text(json.dumps({"version": 1, "rules": rules or RULES}), "utf-8")
    write_mode(ledger.paths.policy_mode, mode)


def write_mode(path: Path, mode: str) -> None:
    path.write_text(mode + "\n", "utf-8")


def note(
    ledger: Ledger, rule: str, ledger_id: int | None, *, ago: float, mode: str = "dry_run", reason: str = ""
) -> int:
    """One decision. Returns its id."""
    row = ledger.db.execute(
        "INSERT INTO policy_decision(ts, ledger_id, session_id, tool_name, rule, severity, reason, mode, call_ids)"
        " VALUES(?, ?, ?, 'terminal', ?, 'HIGH', ?, ?, NULL)",
        (utc_text(NOW - ago), ledger_id, SESSION, rule, reason or f"a call that {rule} means", mode),
    )
    return row.lastrowid or 0


def some_decisions(ledger: Ledger) -> list[int]:
    """Three calls that were noted: deletes twice, secrets once. Returns the ids of the calls."""
    calls = [
        ledger.done("terminal", {"command": DELETE}, ago=9000, session=SESSION),
        ledger.done("terminal", {"command": READ_KEY}, ago=8000, session=SESSION),
        ledger.done("terminal", {"command": PIPE}, ago=7000, session=SESSION),
        ledger.done("terminal", {"command": DELETE}, ago=600, session=SESSION),
    ]
    note(ledger, "deletes", calls[0], ago=9000, reason="Ask first. (deletes ~ with everything in it: rm -rf ~)")
    note(ledger, "secrets", calls[1], ago=8000, reason="reads a file of secrets")
    note(ledger, "deletes", calls[3], ago=600, reason="Ask first. (deletes ~ with everything in it: rm -rf ~)")
    return calls
