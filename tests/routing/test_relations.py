"""What a parent link means, by the rows themselves: worked out by hand from the host's own rules."""

from __future__ import annotations

from typing import Any

import pytest

from ledger_tui.routing.relations import relation
from ledger_tui.routing.rows import COLUMNS, Session, session


def row(**cells: Any) -> Session:
    values = {"rowid": 1, "id": "c", "source": "telegram", "started_at": 200.0, "archived": 0, **cells}
    return session([values.get(name) for name in COLUMNS])


def parent(**cells: Any) -> Session:
    return row(**{"id": "p", "started_at": 100.0, **cells})


def test_a_row_without_a_parent_has_no_link() -> None:
    assert relation(row(model_config='{"_delegate_from": "__orphaned__"}'), None) == ""


@pytest.mark.parametrize(
    ("config", "ended", "kind"),
    [
        ('{"_delegate_from": "p"}', None, "delegate"),
        ('{"_delegate_from": "p", "_branched_from": "p"}', None, "delegate"),
        ('{"_delegate_from": "p"}', "compression", "delegate"),
        ('{"_delegate_from": "other"}', "compression", "compression"),
        ('{"_branched_from": "p"}', "compression", "branch"),
        ('{"_branched_from": "other"}', "compression", "compression"),
        ('{"_branched_from": ""}', None, "branch"),
        ('{"_branched_from": false}', None, "branch"),
        ('{"_branched_from": null}', None, "other"),
        ('["_branched_from"]', None, "other"),
        ('{"_branched_from": "p"', None, "other"),
        ('{"_reset_from": "p"}', "session_reset", "reset"),
        ('{"_reset_from": "p"}', "superseded_by_repair", "repair"),
        ('{"_delegate_from": "p"}', "superseded_by_repair", "delegate"),
        (None, "superseded_by_repair", "repair"),
        (None, "compression", "compression"),
        (None, "agent_close", "other"),
        (None, None, "other"),
    ],
)
def test_markers_and_the_parents_end(config: str | None, ended: str | None, kind: str) -> None:
    assert relation(row(model_config=config), parent(end_reason=ended, ended_at=150.0)) == kind


def test_a_tools_row_is_no_continuation() -> None:
    assert relation(row(source="tool"), parent(end_reason="compression")) == "tool"


@pytest.mark.parametrize(("ended", "kind"), [(200.0, "branch"), (200.5, "other"), (None, "other")])
def test_an_old_branch_began_after_its_parent_ended(ended: float | None, kind: str) -> None:
    assert relation(row(), parent(end_reason="branched", ended_at=ended)) == kind


@pytest.mark.parametrize(
    ("own", "parents", "reason", "kind"),
    [
        ("k", "k", "daily", "reset"),
        ("k", "k", "new_session", "other"),
        ("k", "l", "daily", "other"),
        ("", "", "daily", "other"),
        (None, None, "daily", "other"),
    ],
)
def test_an_old_reset_kept_the_key(own: str | None, parents: str | None, reason: str, kind: str) -> None:
    assert relation(row(session_key=own), parent(session_key=parents, end_reason=reason, ended_at=150.0)) == kind
