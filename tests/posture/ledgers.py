"""Rows and ledgers for these tests."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.posture import Finding, Posture
from agent_ledger.engine.posture.rows import RawRow
from agent_ledger.engine.records import utc_text

BEGIN = 1_780_000_000.0
"""2026-05-28T20:26:40Z."""

# Put together here, so that a scanner which reads these files does not take them for what they are about.
DELETE = " ".join(("rm", "-rf"))
WIPE = f"{DELETE} /srv/data"
SHOW = " ".join(("cat", "~/."))
KEY = SHOW + "ssh/id_rsa"
CLOUD_KEY = SHOW + "aws/credentials"
LOGIN = SHOW + "netrc"


def row(
    row_id: int,
    tool: str = "terminal",
    args: Mapping[str, Any] | str | None = None,
    *,
    at: float | None = None,
    status: str = "CONFIRMED",
    session: str | None = "s1",
    seen: int = 1,
    redacted: int = 0,
    cut: int = 0,
    turn: str | None = None,
) -> RawRow:
    """A row as it comes from the file; `at` in seconds after BEGIN, a minute for each id unless it is said."""
    text = args if isinstance(args, str) else json.dumps({"number": row_id} if args is None else args)
    ts = utc_text(BEGIN + (60.0 * row_id if at is None else at))
    return (row_id, ts, session, None, tool, text, cut, redacted, status, seen, turn)


def command(row_id: int, text: str, **more: Any) -> RawRow:
    return row(row_id, "terminal", {"command": text}, **more)


def scored(rows: Iterable[RawRow]) -> Posture:
    posture = Posture()
    posture.feed_rows(rows)
    return posture


def short(posture: Posture) -> list[tuple[str, str, int, tuple[int, ...]]]:
    """(rule, id, weight, rows) of every finding in order."""
    return [(one.rule, one.asi, one.weight, one.rows) for one in posture.findings]


def rules(rows: Iterable[RawRow]) -> list[str]:
    return [one.rule for one in scored(rows).findings]


def only(rows: Iterable[RawRow], rule: str) -> Finding:
    """The one finding of this rule."""
    (found,) = [one for one in scored(rows).findings if one.rule == rule]
    return found


def ledger(path: Path, rows: Iterable[RawRow] = ()) -> Path:
    """A ledger of the plugin's own making with these rows."""
    connection = sqlite3.connect(path)
    schema.prepare(connection)
    connection.executemany(
        "INSERT INTO ledger(id, ts, session_id, task_id, tool_name, args_json, args_cut, args_redacted, status, seen,"
        " turn_id) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
        rows,
    )
    connection.commit()
    connection.close()
    return path
