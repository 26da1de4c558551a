"""What does not fit between a row and its parent or its continuations."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ledger.engine.end_reasons import COMPRESSION

from ..forest import Forest
from ..orphans import is_orphan
from ..read import Store
from ..relations import COMPRESSED, DELEGATE, OTHER
from ..rows import Session
from .kinds import Anomaly, note

MANY = 20
"""Messages from which on a row that no list shows is missed by somebody."""

_HIDDEN_BY_DESIGN = frozenset({"subagent", "tool", "cron", "batch"})


def link_anomalies(store: Store, forest: Forest) -> Iterator[tuple[str, Anomaly]]:
    """Findings by session id."""
    sessions = store.sessions
    for row in sessions.values():
        parent = sessions.get(forest.parents.get(row.id, ""))
        if parent is not None:
            yield from _child(row, parent, forest.relations[row.id])
        if row.end_reason == COMPRESSION and not _continued(row, forest):
            text = (
                "It ended by compression, but no row continues it: the host refuses every write to it"
                " (hermes-agent #80337)."
            )
            yield row.id, note("no-continuation", text)
    for session_id in sorted(forest.dangling):
        yield session_id, note("missing-parent", "It names a parent that is not in the store (hermes-agent #75194).")
    for session_id in sorted(forest.cut):
        if sessions[session_id].parent_session_id == session_id:
            yield session_id, note("own-parent", "It names itself as its parent.")
        else:
            yield session_id, note("parent-cycle", "Its parents lead back to it; the circle is cut here to draw it.")


def _child(row: Session, parent: Session, relation: str) -> Iterator[tuple[str, Anomaly]]:
    if relation == COMPRESSED and parent.session_key and not row.session_key:
        text = "It continues a compressed row of a chat, but did not inherit the chat's identity (hermes-agent #59527)."
        yield row.id, note("bare-continuation", text)
    if relation == OTHER and row.messages >= MANY and row.source not in _HIDDEN_BY_DESIGN:
        text = f"{row.messages} messages in a row that the host's lists take for a passing child and leave out."
        yield row.id, note("hidden-continuation", text)
    if relation in (DELEGATE, OTHER) and not is_orphan(row) and _outlived(row, parent):
        text = f"It went on after its parent had ended ({parent.end_reason}), so its result may have reached nobody."
        yield row.id, note("outlived-parent", text)


def _continued(row: Session, forest: Forest) -> bool:
    return any(forest.relations[child] == COMPRESSED for child in forest.children.get(row.id, ()))


def _outlived(row: Session, parent: Session) -> bool:
    spoke = row.last_active
    return row.open and parent.ended_at is not None and spoke is not None and spoke > parent.ended_at
