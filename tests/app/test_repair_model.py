"""Findings, decisions and choices of the walkthrough. Worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger_tui.routing.read import read_store
from ledger_tui.routing.survey import Survey, survey
from screens.repair_model import ACCEPT, CHOSEN, PERSON, SKIP, RepairModel, concerned

from .ledgers import NOW
from .sessions import Sessions, a_family, two_donors


def looked(home: Path) -> Survey:
    return survey(read_store(home / "state.db", home), now=NOW)


@pytest.fixture
def family(tmp_path: Path) -> Survey:
    a_family(tmp_path).db.close()
    return looked(tmp_path)


def decided(model: RepairModel) -> list[tuple[str, str | None, str]]:
    return [(one.orphan_id, one.donor_id, one.decision) for one in model.rows.rows]


def test_clear_evidence_is_accepted_and_rows_of_other_kinds_are_no_findings(family: Survey) -> None:
    model = RepairModel()
    model.take(family)
    assert decided(model) == [("lost", "tip", ACCEPT)]
    assert (model.only, dict(model.choices), model.who_chose) == (frozenset({"lost"}), {}, None)


def test_a_skipped_one_can_be_accepted_again(family: Survey) -> None:
    model = RepairModel()
    model.take(family)
    model.decide("lost", SKIP)
    assert (decided(model), model.only) == ([("lost", "tip", SKIP)], frozenset())
    model.take(family)
    assert decided(model) == [("lost", "tip", SKIP)]
    model.decide("lost", ACCEPT)
    assert decided(model) == [("lost", "tip", ACCEPT)]


def test_two_that_fell_quiet_need_a_person(tmp_path: Path) -> None:
    two_donors(tmp_path).db.close()
    model = RepairModel()
    model.take(looked(tmp_path))
    assert decided(model) == [("lost", None, PERSON)]
    assert sorted(model.donors("lost")) == ["anna", "bert"]
    model.decide("lost", ACCEPT)
    assert decided(model) == [("lost", None, PERSON)]
    model.choose("lost", "bert", "mo: he wrote of the boat")
    assert decided(model) == [("lost", "bert", CHOSEN)]
    assert (dict(model.choices), model.who_chose) == ({"lost": "bert"}, "lost: mo: he wrote of the boat")
    model.take(looked(tmp_path))
    assert decided(model) == [("lost", "bert", CHOSEN)]
    model.decide("lost", SKIP)
    assert (model.only, dict(model.choices), model.who_chose) == (frozenset(), {}, None)


def test_what_a_row_is_about(family: Survey) -> None:
    assert concerned(family, "lost") == {"lost"}
    assert concerned(family, "tip") == {"lost"}
    assert concerned(family, "shell") == frozenset()


def test_a_chain_comes_whole(tmp_path: Path) -> None:
    """`second` goes on from `first`, which is lost itself: mending the lower one needs the upper one."""
    made = Sessions(tmp_path)
    made.chat("old", ago=90_000, messages=4)
    made.add("first", ago=89_700, messages=4, ended_at=NOW - 80_000, end_reason="compression", user_id="42")
    made.add("second", ago=80_000, messages=4, parent_session_id="first", user_id="42")
    made.db.close()
    found = looked(tmp_path)
    model = RepairModel()
    model.take(found)
    assert decided(model) == [("first", "old", ACCEPT), ("second", "first", ACCEPT)]
    assert concerned(found, "second") == {"first", "second"}
    only = RepairModel(concerned(found, "first"))
    only.take(found)
    assert "first" in only.only
