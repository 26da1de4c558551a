"""What a parent link means: one column of the host's table that stands for several kinds of descent.

Sources: Hermes 0.22.2 (its predicates for lists and for compression chains); hermes-agent #28412, #17926.
"""

from __future__ import annotations

from agent_ledger.engine.end_reasons import BRANCHED, COMPRESSION, RESETS, SUPERSEDED

from .rows import Session

ROOT = ""
DELEGATE = "delegate"
BRANCH = "branch"
RESET = "reset"
TOOL = "tool"
COMPRESSED = "compression"
REPAIR = "repair"
OTHER = "other"

RELATIONS = (ROOT, COMPRESSED, BRANCH, RESET, DELEGATE, TOOL, REPAIR, OTHER)


def relation(child: Session, parent: Session | None) -> str:
    """One of `RELATIONS`. Without a parent row there is no link to name.

    A compression hands `model_config` on as it stands, so below a parent that ended by one, only a marker that names
    this very parent says anything. Elsewhere a marker counts by being there, as it does in the host's lists.
    """
    if parent is None:
        return ROOT
    bound = _marked(child, parent.id)
    if bound in (DELEGATE, BRANCH):
        return bound
    if parent.end_reason == SUPERSEDED:
        return REPAIR
    if bound or child.source == TOOL:
        return bound or TOOL
    if _legacy_branch(child, parent):
        return BRANCH
    if child.session_key and child.session_key == parent.session_key and parent.end_reason in RESETS:
        return RESET
    if parent.end_reason == COMPRESSION:
        return COMPRESSED
    return _marked(child) or OTHER


def _marked(child: Session, parent_id: str | None = None) -> str:
    """Kind by the first marker that is there, or that names `parent_id`; empty for none."""
    markers = ((DELEGATE, child.delegate_from), (BRANCH, child.branched_from), (RESET, child.reset_from))
    for kind, marker in markers:
        if marker is not None and (parent_id is None or marker == parent_id):
            return kind
    return ""


def _legacy_branch(child: Session, parent: Session) -> bool:
    """Before there were markers: the parent ended as branched before the child began."""
    if parent.end_reason != BRANCHED or parent.ended_at is None or child.started_at is None:
        return False
    return child.started_at >= parent.ended_at
