"""Plain text in the order in which it is read aloud: no drawing, no columns, no signs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from agent_ledger.engine.inert import inert
from ledger_tui.commands.output import amount
from ledger_tui.config import load


def sentence(row: Mapping[str, Any], args: str) -> str:
    """One call in words, with its arguments as one line."""
    kind = f" ({row['status'].removeprefix('ERROR:')})" if row["state"] == "error" else ""
    parts = [
        f"Call {row['id']}",
        f"{row['state']}{kind}",
        f"{_words(row['age_s'])} ago" if row["age_s"] is not None else "at an unknown time",
        f"tool {row['tool_name'] or 'unknown'}",
        f"session {row['session_id']}" if row["session_id"] else "no session",
    ]
    return inert(f"{', '.join(parts)}: {'no arguments' if args == '-' else args}")


def _words(seconds: float) -> str:
    """`42 seconds`, `1 hour`, `12 days`: as coarse as a person would say it."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return amount(int(seconds // size), unit)
    return amount(max(0, int(seconds)), "second")


def asked_for_plain(context: typer.Context) -> bool:
    """Was `--plain` given, or is it in the file of settings?"""
    return bool(context.find_root().params.get("plain")) or load().config.plain
