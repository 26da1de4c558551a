"""docs/sessions.md has every kind of anomaly with its severity, and every grade of a zombie."""

from __future__ import annotations

from typing import get_args

from ledger_tui.routing.anomalies.kinds import KINDS
from ledger_tui.routing.zombies import Grade

from .pages import code, page, sections, table

PARTS = sections(page("sessions.md"))


def test_every_kind_and_no_other() -> None:
    named = {
        kind: row[1].split()[0].rstrip(",") for row in table(PARTS["What each kind means"]) for kind in code(row[0])
    }
    assert named == dict(KINDS)


def test_every_grade() -> None:
    assert [row[0] for row in table(PARTS["The two rows of the incident"])] == list(get_args(Grade))
