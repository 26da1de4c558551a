"""Orphans and their donors: the same answers as the host's own finder, on stores that it made."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger_tui.routing.orphans import MAX_GAP_S, Donors, Orphan, find_orphans
from ledger_tui.routing.read import Store, read_store
from tests.routing.corpus import Case, cases

HOST_FIELDS = (
    "orphan_id", "source", "message_count", "started_at", "last_active", "donor_id", "session_key", "evidence",
    "adoptable", "reason",
)  # fmt: skip


@pytest.fixture(params=cases(), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def store(case: Case, tmp_path: Path) -> Store:
    home, path = case.lay_out(tmp_path)
    return read_store(path, home)


def test_all_stores_are_there() -> None:
    assert len(cases()) == 41


def test_owner_by_place(case: Case, store: Store) -> None:
    assert store.owner == case.owner


def test_records_are_the_hosts(case: Case, store: Store) -> None:
    gap = case.expected["input"]["max_gap_s"]
    found = find_orphans(store.sessions, store.owner, max_gap_s=MAX_GAP_S if gap is None else gap)
    assert [{name: getattr(one, name) for name in HOST_FIELDS} for one in found] == case.expected["find"]


def test_every_gap(case: Case, store: Store) -> None:
    by_gap = case.expected["find_by_gap"]
    assert len(by_gap) == 8
    for gap, expected in by_gap.items():
        found = find_orphans(store.sessions, store.owner, max_gap_s=float(gap))
        assert [_short(one) for one in found] == expected, gap


def _short(one: Orphan) -> list[object]:
    return [one.orphan_id, one.donor_id, one.evidence, one.adoptable, one.reason]


def test_a_crowd_in_the_window_is_not_walked(tmp_path: Path) -> None:
    """Ten thousand donors in one window: two are enough to know that it is ambiguous."""
    one = read_store(*reversed(cases()[1].lay_out(tmp_path)))
    template = next(row for row in one.sessions.values() if row.session_key)
    crowd = [
        template._replace(id=f"k{number}", user_id=str(number), last_activity_at=1000.0 + number / 100)
        for number in range(10_000)
    ]
    stranger = template._replace(id="o", session_key=None, user_id=None, started_at=1050.0, spoken_at=5000.0)
    donors = Donors([row._replace(spoken_at=None) for row in crowd], one.owner)
    assert len(donors.near(stranger, 900.0)) == 2
    assert [row.id for row in donors.near(stranger._replace(user_id="17"), 900.0)] == ["k17"]
