"""Which conversation a session belongs to, through compactions and delegates, and how deep it stands.

Reads the host's `state.db`, read-only and briefly. A delegate is a session whose parent's turn started it: Hermes 0.19
and 0.22 keep the parent's id, and mark the delegate in `model_config`.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from ..databases import hindrance, read_only_uri

DEPTH = 400
_BUSY_S = 0.01


@dataclass(frozen=True, slots=True)
class Family:
    """`root`: the first session of the conversation; `members`: from this session up to it; `depth`: delegations."""

    root: str
    members: tuple[str, ...]
    depth: int
    known: bool


def family(state: Path, session_id: str) -> Family:
    """Only the session itself where `state.db` is missing, busy or strange."""
    alone = Family(session_id, (session_id,), 0, False)
    if not session_id or not state.is_file() or hindrance(state):
        return alone
    try:
        connection = sqlite3.connect(read_only_uri(state), uri=True, timeout=_BUSY_S)
        with contextlib.closing(connection):
            return _walk(connection, session_id) or alone
    except (sqlite3.Error, OSError, ValueError):
        return alone


def _walk(connection: sqlite3.Connection, session_id: str) -> Family | None:
    have = {row[1] for row in connection.execute("PRAGMA table_info(sessions)")}
    if not {"id", "parent_session_id"} <= have:
        return None
    config = "c.model_config" if "model_config" in have else "NULL"
    reason = "p.end_reason" if "end_reason" in have else "NULL"
    sql = (
        f"SELECT p.id, {reason}, {config} FROM sessions c LEFT JOIN sessions p ON p.id = c.parent_session_id"
        " WHERE c.id = ?"
    )
    members, depth, known = [session_id], 0, False
    while len(members) < DEPTH:
        row = connection.execute(sql, (members[-1],)).fetchone()
        if row is None:
            break
        known = True
        parent, end_reason, model_config = row
        if parent is None or parent in members:
            break
        delegated = _delegated(model_config, parent)
        if not delegated and end_reason != "compression":
            break
        depth += delegated
        members.append(str(parent))
    return Family(members[-1], tuple(members), depth, known)


def _delegated(model_config: object, parent: str) -> bool:
    try:
        config = json.loads(model_config) if isinstance(model_config, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("_delegate_from") == parent
