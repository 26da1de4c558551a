"""ASI11, a community extension (the official list ends at ASI10): more reach than a task needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..severity import LOW, MEDIUM
from .finding import Finding, finding
from .memory import CRONS, CRONS_S, FAN_OUT, FAN_OUT_S, Session
from .rows import Row

TOOLS = 13


def many_tools(row: Row, number: int) -> Finding | None:
    """A finding when a session comes to its thirteenth tool that changes something."""
    if number != TOOLS:
        return None
    return finding("many-tools", "ASI11", LOW, row, f"{TOOLS} different tools that change something in one session")


def fan_out(row: Row, session: Session, args: Mapping[str, Any]) -> Finding | None:
    """Delegates started close together; a call that names several tasks starts several."""
    action = args.get("action")
    if row.at is None or row.tool_name != "delegate_task" or action in ("list", "steer", "stop"):
        return None
    tasks = args.get("tasks")
    for _ in range(len(tasks) if isinstance(tasks, list) and tasks else 1):
        rows = session.fan_out.add(row.at, row.id)
        if rows:
            text = f"{FAN_OUT} delegates started within {FAN_OUT_S / 60:.0f} min"
            return finding("delegate-fan-out", "ASI11", MEDIUM, row, text, tuple(dict.fromkeys(rows)))
    return None


def cron_series(row: Row, session: Session, args: Mapping[str, Any]) -> Finding | None:
    """Scheduled jobs created close together."""
    if row.at is None or row.tool_name not in ("cronjob", "cronjob_manage") or args.get("action") != "create":
        return None
    rows = session.crons.add(row.at, row.id)
    if not rows:
        return None
    text = f"{CRONS} scheduled jobs created within {CRONS_S / 60:.0f} min"
    return finding("cron-series", "ASI11", MEDIUM, row, text, rows)
