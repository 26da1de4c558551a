"""All 41 stores repaired: the same rows as the host's own repair leaves, but for differences that have a name each."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.routing.read import Store, read_store
from ledger_tui.routing.repair.adoption import refusal
from ledger_tui.routing.repair.plan import Plan
from ledger_tui.routing.repair.undo import undo
from ledger_tui.routing.resolver import Peer, Resolver
from tests.routing.corpus import Case, cases
from tests.routing.stores import cells, clock, dump, gap, planned, repaired

D1_MARK = "D1 the row is marked, so that the host's list shows it"
D1_OLD_LIST = "D1 the file of a 0.19 gets no parent, since its list would hide the row"
D2_STAMP = "D2 a donor that ended on purpose keeps its reason"
D5_EMPTY_KEY = "D5 an empty key is no key"
D7_CHAIN = "D7 a chain of lost rows is mended in one go"

ADOPTED_BY_US_ALONE = {
    "011": (D7_CHAIN, 1),
    "013": (D5_EMPTY_KEY, 2),
    "016": (D7_CHAIN, 1),
    "031": (D7_CHAIN, 1),
    "033": (D5_EMPTY_KEY, 2),
    "035": (D7_CHAIN, 1),
    "036": (D7_CHAIN, 1),
}
"""Rows that the host leaves lost, by case. None is the other way round."""

OTHER_ANSWERS = {
    "006": D2_STAMP,
    "011": D7_CHAIN,
    "013": D5_EMPTY_KEY,
    "016": D7_CHAIN,
    "026": D2_STAMP,
    "031": D7_CHAIN,
    "033": D5_EMPTY_KEY,
    "035": D7_CHAIN,
    "036": D7_CHAIN,
}
"""Cases in which a chat is led elsewhere than after the host's repair. In 006 and 026 a reset (`idle`, `daily`) came
after the lost conversation: the host's repair takes the reset back with its stamp, ours lets it stand and says so."""

STAMPS_KEPT = {
    "000": ["compression", "compression", "session_reset"],
    "006": ["branched", "idle", "webhook_complete"],
    "015": ["compression"],
    "020": ["compression", "compression", "session_reset"],
    "026": ["daily", "suspended", "suspended"],
    "035": ["compression", "compression"],
    "037": ["compression"],
}
"""D2, case by case: reasons of donors that the host overwrites."""


@pytest.fixture(params=cases(), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


class Repaired:
    """One case, before and after."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.home, self.path = case.lay_out(folder)
        self.before = cells(self.path)
        self.store = read_store(self.path, self.home)
        self.plan: Plan = planned(self.home, self.path, max_gap_s=gap(case))
        if self.plan.adoptions:
            done = repaired(self.home, self.path, max_gap_s=gap(case))
            assert done.proven, done.checks
            assert done.answers == self.plan.answers
        self.after = cells(self.path)

    @property
    def theirs(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in self.case.expected["sessions_after"]}

    @property
    def alone(self) -> set[str]:
        """Orphans that only we adopt."""
        return {one.orphan_id for one in self.plan.adoptions} - set(self.case.expected["apply"]["repaired"])


@pytest.fixture
def mended(case: Case, tmp_path: Path) -> Repaired:
    return Repaired(case, tmp_path)


def test_every_row_that_the_host_repairs_is_repaired(mended: Repaired) -> None:
    ours = {one.orphan_id for one in mended.plan.adoptions}
    assert set(mended.case.expected["apply"]["repaired"]) <= ours
    assert len(mended.alone) == ADOPTED_BY_US_ALONE.get(mended.case.name, ("", 0))[1]


def test_only_what_was_announced_has_changed(mended: Repaired) -> None:
    announced = {(one.session_id, one.column): (one.before, one.after) for one in mended.plan.changes}
    found = {
        (key, column): (mended.before[key][column], cell)
        for key, row in mended.after.items()
        for column, cell in row.items()
        if cell != mended.before[key][column] or type(cell) is not type(mended.before[key][column])
    }
    assert found == announced


def test_the_rows_are_the_hosts_but_for_named_differences(mended: Repaired) -> None:
    """Compared over every cell that the host's dump has; what is left over would be a difference without a name."""
    unnamed = []
    stamps = []
    for key, row in mended.theirs.items():
        for column, theirs in row.items():
            ours = mended.after[key].get(column, theirs)
            if ours == theirs:
                continue
            name = _named(mended, key, column, theirs, ours)
            if name == D2_STAMP:
                stamps.append(ours)
            elif not name:
                unnamed.append((key, column, theirs, ours))
    assert unnamed == []
    assert sorted(stamps) == STAMPS_KEPT.get(mended.case.name, [])


def _named(mended: Repaired, key: str, column: str, theirs: Any, ours: Any) -> str:
    """The name of one difference between the host's row and ours; empty where it has none."""
    by_orphan = {one.orphan_id: one for one in mended.plan.adoptions}
    donors_of_ours = {by_orphan[one].donor_id for one in mended.alone}
    if key in mended.alone or (key in donors_of_ours and column in ("ended_at", "end_reason")):
        return ADOPTED_BY_US_ALONE[mended.case.name][0]
    if column == "end_reason" and theirs == "superseded_by_repair" and ours == mended.before[key]["end_reason"]:
        return D2_STAMP
    if key in by_orphan and column == "model_config":
        marked = {**json.loads(theirs or "{}"), "_reset_from": by_orphan[key].donor_id}
        return D1_MARK if json.loads(ours) == marked else ""
    if key in by_orphan and column == "parent_session_id" and not mended.store.recent_host:
        return D1_OLD_LIST if theirs == by_orphan[key].donor_id and ours is None else ""
    return ""


def test_chats_are_led_where_the_host_leads_them_but_for_named_differences(mended: Repaired) -> None:
    after = read_store(mended.path, mended.home)
    resolver = Resolver(after.sessions.values(), after.owner)
    others = []
    for asked in mended.case.expected["resolve"]:
        found = resolver.resolve(Peer(**asked["query"]))
        if (found.id if found else None) != asked["after"]:
            others.append(asked)
    assert bool(others) == (mended.case.name in OTHER_ANSWERS)
    if OTHER_ANSWERS.get(mended.case.name) == D2_STAMP:
        assert {resolver.resolve(Peer(**asked["query"])) for asked in others} == {None}
        key = others[0]["query"]["session_key"]
        assert [one.effective for one in mended.plan.answers if one.session_key == key] == [False]


def test_one_by_one_the_host_agrees_too(case: Case, tmp_path: Path) -> None:
    """Single adoptions that the host tried, right and wrong ones: we refuse what it refuses, and D5 besides."""
    home, path = case.lay_out(tmp_path)
    store: Store = read_store(path, home)
    refused = {
        (one["orphan"], one["donor"]): refusal(
            store.sessions.get(one["orphan"]), store.sessions.get(one["donor"]), store.owner
        )
        for one in case.expected["adopt_probes"]
    }
    for one in case.expected["adopt_probes"]:
        assert bool(refused[one["orphan"], one["donor"]]) == (not one["result"]), one


def test_undone_every_row_is_as_before(case: Case, tmp_path: Path) -> None:
    home, path = case.lay_out(tmp_path)
    before = dump(path)
    if not planned(home, path, max_gap_s=gap(case)).adoptions:
        assert not case.expected["apply"]["repaired"]
        return
    done = repaired(home, path, max_gap_s=gap(case))
    assert dump(path) != before
    assert undo(path, home, clock=clock, stopped_by="the test").repair_id == done.repair_id
    assert dump(path) == before


def test_the_differences_are_as_many_as_named() -> None:
    assert Counter(name for name, _ in ADOPTED_BY_US_ALONE.values()) == {D7_CHAIN: 5, D5_EMPTY_KEY: 2}
    assert len(cases()) == 41
