"""Which session ids are one conversation: compaction may give a chat a new id, and its ghosts must reach it.

Reads the host's `state.db`, read-only and briefly. A branch, a reset, a delegate or a tool row is a conversation of
its own. What a parent link means: Hermes 0.19 and 0.22, one column for five relations.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from .databases import hindrance, read_only_uri

DEPTH = 400
"""Longest chain that is walked; chains of about 180 are real."""

REMEMBERED = 500
"""Sessions whose conversation is remembered."""

FRESH_S = 20.0
"""How long the answer holds for a session that the store did not know yet."""

_BUSY_S = 0.01
_FORKS = ("_delegate_from", "_branched_from", "_reset_from")


def conversation(state: Path, session_id: str) -> tuple[tuple[str, ...], bool]:
    """(session and the ids it had before its compactions, newest first; whether the store knows the session).

    Only the session itself where `state.db` is missing, busy or strange.
    """
    if not session_id or not state.is_file() or hindrance(state):
        return (session_id,), False
    try:
        connection = sqlite3.connect(read_only_uri(state), uri=True, timeout=_BUSY_S)
    except sqlite3.Error:
        return (session_id,), False
    try:
        with contextlib.closing(connection):
            return walk(connection, session_id)
    except (sqlite3.Error, UnicodeDecodeError):  # SQLite's own words may quote bytes of a damaged schema.
        return (session_id,), False


def walk(connection: sqlite3.Connection, session_id: str) -> tuple[tuple[str, ...], bool]:
    """The same of an open store. Raises sqlite3.Error and UnicodeDecodeError."""
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
        if parent is None or end_reason != "compression" or kind == "tool" or is_fork(model_config, parent):
            break
        if parent in chain:
            break
        chain.append(str(parent))
    return tuple(chain), known


def is_fork(model_config: object, parent: str) -> bool:
    """A marker that names another row than the parent was inherited, and says nothing of this one."""
    if not isinstance(model_config, str):
        return False
    try:
        config = json.loads(model_config)
    except (ValueError, RecursionError):
        return False
    if not isinstance(config, dict):
        return False
    markers = [config[name] for name in _FORKS if config.get(name) is not None]
    return any(not isinstance(marker, str) or marker in ("", parent) or marker.startswith("__") for marker in markers)


def keep_rotations(connection: sqlite3.Connection, chain: Sequence[str]) -> None:
    """Write down, once, which id each of a conversation's ids came after (newest first). The caller's transaction."""
    if len(chain) < 2 or connection.execute("SELECT 1 FROM rotation WHERE session_id = ?", chain[:1]).fetchone():
        return
    connection.executemany("INSERT OR IGNORE INTO rotation(session_id, before) VALUES(?, ?)", pairwise(chain))


class Conversations:
    """The conversations of a home's sessions, asked of the store once each."""

    def __init__(self, state: Path, mono: Callable[[], float]) -> None:
        self._state, self._mono = state, mono
        self._known: OrderedDict[str, tuple[tuple[str, ...], float]] = OrderedDict()

    def of(self, session_id: str) -> tuple[str, ...]:
        """The session and its ids before compactions, newest first."""
        known = self._known.get(session_id)
        now = self._mono()
        if known is not None and known[1] > now:
            return known[0]
        chain, found = conversation(self._state, session_id)
        if not found and known is not None:
            return known[0]
        self._remember(session_id, chain, float("inf") if found else now + FRESH_S)
        return chain

    def so_far(self, session_id: str, turn_id: str) -> tuple[str, ...]:
        """The same from memory only. A turn that began under another id was rotated by compaction on its way."""
        known = self._known.get(session_id)
        if known is not None:
            return known[0]
        began_as = turn_id.partition(":")[0]
        chain: tuple[str, ...] = (session_id,)
        if began_as and began_as != session_id and began_as in self._known:
            chain = (session_id, *self._known[began_as][0])
            self._remember(session_id, chain, 0.0)
        return chain

    def _remember(self, session_id: str, chain: tuple[str, ...], fresh_until: float) -> None:
        self._known[session_id] = (chain, fresh_until)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
