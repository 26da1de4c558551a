"""What a person may choose from, and nothing that would be refused."""

from __future__ import annotations

from typing import Any

import pytest

from ledger_tui.routing.further import candidates
from ledger_tui.routing.read import read_store
from ledger_tui.routing.repair.adoption import refusal
from ledger_tui.routing.repair.options import options
from ledger_tui.routing.repair.plan import look
from tests.routing.corpus import Case, cases
from tests.routing.stores import gap


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_for_all_at_once_as_for_each(case: Case, tmp_path: Any) -> None:
    """Everything that is offered for one row alone is offered here too, and all of it may be chosen."""
    home, path = case.lay_out(tmp_path)
    findings = look(read_store(path, home), max_gap_s=gap(case))
    sessions, owner = findings.store.sessions, findings.store.owner
    lost = [one.orphan_id for one in findings.orphans]
    found = options(findings, lost, max_gap_s=gap(case))
    assert list(found) == lost
    for key, several in found.items():
        alone = candidates(findings.store, key, max_gap_s=gap(case))
        assert {one for one in alone if not refusal(sessions[key], sessions[one], owner)} <= set(several)
        assert not [one for one in several if refusal(sessions[key], sessions[one], owner)]


def test_ambiguous_rows_have_several_to_choose_from(tmp_path: Any) -> None:
    (case,) = [one for one in cases() if one.name == "002"]
    home, path = case.lay_out(tmp_path)
    findings = look(read_store(path, home))
    ambiguous = [one.orphan_id for one in findings.orphans if "more than one keyed" in one.reason]
    assert ambiguous
    assert all(len(several) > 1 for several in options(findings, ambiguous).values())
    assert options(findings, ["no such row"]) == {}
