"""The statements that write rows of `sessions`, each over an open connection and inside the caller's transaction.

The columns are those of Hermes 0.22. Sources: hermes-agent #82633, #59527, #111999, #116322, #12857.
"""

from __future__ import annotations

import json
import sqlite3

from agent_ledger.engine.end_reasons import COMPRESSION, RECOVERABLE

from ..owners import key_profile
from ..rows import markers
from .shapes import PLAIN, Identity, Origin

UNKNOWN = "unknown"
"""Placeholder of a writer that did not know better; the next one who does replaces it."""

_KEPT = (
    "created_source", "session_key", "chat_id", "chat_type", "thread_id", "display_name", "origin_json",
    "transport_profile", "parent_session_id", "model", "system_prompt", "cwd", "git_repo_root", "profile_name",
)  # fmt: skip
"""Filled where they are empty, never replaced. `user_id` is not among them: a row's person is not guessed later."""

_COLUMNS = ("id", "source", "user_id", *_KEPT, "model_config", "started_at", "title")

_UPSERT = (
    f"INSERT INTO sessions({', '.join(_COLUMNS)}) VALUES({', '.join(f':{name}' for name in _COLUMNS)})"
    " ON CONFLICT(id) DO UPDATE SET"
    f" source = CASE WHEN sessions.source = '{UNKNOWN}' THEN excluded.source ELSE sessions.source END, "
    + ", ".join(f"{name} = COALESCE(sessions.{name}, excluded.{name})" for name in _KEPT)
)

_PLACE = ("cwd", "git_repo_root")
_ROUTE = (
    "user_id", "session_key", "chat_id", "chat_type", "thread_id", "display_name", "origin_json", "transport_profile",
)  # fmt: skip


def upsert(
    connection: sqlite3.Connection,
    session_id: str,
    identity: Identity,
    origin: Origin = PLAIN,
    *,
    owner: str | None,
    at: float,
) -> None:
    """A row with its whole identity; of a row that is there only the gaps are filled. Raises sqlite3.Error."""
    config = json.dumps(dict(origin.model_config)) if origin.model_config else None
    connection.execute(
        _UPSERT,
        {
            "id": session_id,
            "source": identity.source,
            "created_source": identity.source,
            "user_id": identity.user_id,
            "session_key": identity.session_key,
            "chat_id": identity.chat_id,
            "chat_type": identity.chat_type,
            "thread_id": identity.thread_id,
            "display_name": identity.display_name,
            "origin_json": identity.origin_json,
            "transport_profile": identity.transport_profile,
            "parent_session_id": origin.parent,
            "model": origin.model,
            "system_prompt": origin.system_prompt,
            "cwd": origin.cwd,
            "git_repo_root": origin.git_repo_root,
            "profile_name": origin.profile_name or owner,
            "model_config": config,
            "started_at": at,
            "title": origin.title,
        },
    )
    if config is not None:
        _merge_config(connection, session_id, config)
    if origin.parent is not None:
        _inherit(connection, session_id)


def _merge_config(connection: sqlite3.Connection, session_id: str, config: str) -> None:
    """The first configuration stays; one that holds nothing but the mark of a reset takes the rest of the second."""
    ((stored,),) = connection.execute("SELECT model_config FROM sessions WHERE id = ?", (session_id,)).fetchall()
    if stored is None:
        merged = config
    else:
        try:
            held = json.loads(stored)
        except (ValueError, RecursionError):  # Nested deeper than Python reads.
            return
        if not isinstance(held, dict) or set(held) != {"_reset_from"}:
            return
        merged = json.dumps({**json.loads(config), **held})
    connection.execute("UPDATE sessions SET model_config = ? WHERE id = ?", (merged, session_id))


def _inherit(connection: sqlite3.Connection, session_id: str) -> None:
    """A child takes over where its parent worked, and what it was reached by if it continues a compressed one."""
    connection.row_factory, factory = sqlite3.Row, connection.row_factory
    try:
        child = connection.execute("SELECT * FROM sessions WHERE id = ?", (session_id,)).fetchone()
        parent = connection.execute("SELECT * FROM sessions WHERE id = ?", (child["parent_session_id"],)).fetchone()
    finally:
        connection.row_factory = factory
    if parent is None:
        return
    names = [*_PLACE]
    if _same_profile(child["session_key"], parent["session_key"]):
        names.append("profile_name")
    if parent["end_reason"] == COMPRESSION and not _forked(child["model_config"], parent["id"]):
        names += _ROUTE
    filled = {name: parent[name] for name in names if child[name] is None and parent[name] is not None}
    if filled:
        connection.execute(
            f"UPDATE sessions SET {', '.join(f'{name} = :{name}' for name in filled)} WHERE id = :id",
            {**filled, "id": session_id},
        )


def _same_profile(one: str | None, other: str | None) -> bool:
    return one is None or other is None or key_profile(one) == key_profile(other)


def _forked(config: object, parent_id: str) -> bool:
    """A delegate or a branch of this very parent; a mark that names another row was only copied along."""
    delegate, branch, _ = markers(config)
    return parent_id in (delegate, branch)


def insert_bare(connection: sqlite3.Connection, session_id: str, source: str, *, at: float) -> None:
    """The old way to make a row late: nobody will find it by its chat (hermes-agent #99714). Raises sqlite3.Error."""
    connection.execute("INSERT OR IGNORE INTO sessions(id, source, started_at) VALUES(?,?,?)", (session_id, source, at))


def update_identity(connection: sqlite3.Connection, session_id: str, identity: Identity) -> bool:
    """Who the row is for now, NULLs included; name and origin stay where none is told. True if there is such a row."""
    changed = connection.execute(
        "UPDATE sessions SET session_key = ?, source = ?, user_id = ?, chat_id = ?, chat_type = ?, thread_id = ?,"
        " display_name = COALESCE(?, display_name), origin_json = COALESCE(?, origin_json),"
        " transport_profile = COALESCE(?, transport_profile) WHERE id = ?",
        (
            identity.session_key, identity.source, identity.user_id, identity.chat_id, identity.chat_type,
            identity.thread_id, identity.display_name, identity.origin_json, identity.transport_profile, session_id,
        ),
    )  # fmt: skip
    return changed.rowcount > 0


def end(connection: sqlite3.Connection, session_id: str, reason: str, *, at: float) -> bool:
    """The first end stands. True if this was it."""
    changed = connection.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL", (at, reason, session_id)
    )
    return changed.rowcount > 0


def promote(connection: sqlite3.Connection, session_id: str, reason: str, *, at: float) -> bool:
    """Draw a boundary: an open row, or one that ended by accident, ends for this reason; another end stands."""
    reasons = sorted(RECOVERABLE)
    changed = connection.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ?"
        f" AND (ended_at IS NULL OR end_reason IN ({','.join('?' * len(reasons))}))",
        (at, reason, session_id, *reasons),
    )
    return changed.rowcount > 0


def reopen(connection: sqlite3.Connection, session_id: str) -> None:
    """The row goes on; its other times stay as they were."""
    connection.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", (session_id,))
