"""Which session ids are one conversation: compaction may give a chat a new id, and its ghosts must reach it.

Reads the host's `state.db`, read-only and briefly. A branch, a reset, a delegate or a tool row is a conversation of
its own. What a parent link means: Hermes 0.19 and 0.22, one column for five relations.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

DEPTH = 400
"""Longest chain that is walked; chains of about 180 are real."""

_BUSY_S = 0.01
_FORKS = ("_delegate_from", "_branched_from", "_reset_from")


def conversation(state: Path, session_id: str) -> tuple[tuple[str, ...], bool]:
    """(session and the ids it had before its compactions, newest first; whether the store knows the session).

    Only the session itself where `state.db` is missing, busy or strange.
    """
    if not session_id or not state.is_file():
        return (session_id,), False
    try:
        connection = sqlite3.connect(f"{state.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)
    except sqlite3.Error:
        return (session_id,), False
    try:
        with contextlib.closing(connection):
            return _walk(connection, session_id)
    except sqlite3.Error:
        return (session_id,), False


def _walk(connection: sqlite3.Connection, session_id: str) -> tuple[tuple[str, ...], bool]:
    have = {row[1] for row in connection.execute("PRAGMA table_info(sessions)")}
    if not {"id", "parent_session_id", "end_reason"} <= have:
        return (session_id,), False
    config = "c.model_config" if "model_config" in have else "NULL"
    source = "c.source" if "source" in have else "NULL"
    sql = (
        f"SELECT p.id, p.end_reason, {config}, {source} FROM sessions c"
        " LEFT JOIN sessions p ON p.id = c.parent_session_id WHERE c.id = ?"
    )
    chain, known = [session_id], False
    while len(chain) < DEPTH:
        row = connection.execute(sql, (chain[-1],)).fetchone()
        if row is None:
            break
        known = True
        parent, end_reason, model_config, kind = row
        if parent is None or end_reason != "compression" or kind == "tool" or _is_fork(model_config, parent):
            break
        if parent in chain:
            break
        chain.append(str(parent))
    return tuple(chain), known


def _is_fork(model_config: object, parent: str) -> bool:
    """A marker that names another row than the parent was inherited, and says nothing of this one."""
    if not isinstance(model_config, str):
        return False
    try:
        config = json.loads(model_config)
    except ValueError:
        return False
    if not isinstance(config, dict):
        return False
    markers = [config[name] for name in _FORKS if config.get(name) is not None]
    return any(not isinstance(marker, str) or marker in ("", parent) or marker.startswith("__") for marker in markers)
