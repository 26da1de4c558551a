"""One call that says everything: held against what is known of the incident."""

from __future__ import annotations

from pathlib import Path

from ledger_tui.routing.read import read_store
from ledger_tui.routing.survey import survey
from tests.routing.corpus import case
from tests.routing.handmade import NOW, Sessions


def test_the_incident(tmp_path: Path) -> None:
    home, path = case("incident-82616").lay_out(tmp_path)
    store = read_store(path, home)
    found = survey(store, now=store.sessions[next(iter(store.sessions))].started_at or 0.0)
    proven = [one for one in found.zombies if one.grade == "proven"]
    (orphan,) = found.lost
    assert [(one.session_id, one.orphan_ids) for one in proven] == [(orphan.donor_id, (orphan.orphan_id,))]


def test_rows_that_began_at_the_same_moment_come_newest_first_as_from_the_hosts_index(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    for key, start in (("b", 200.0), ("first", 100.0), ("second", 100.0), ("third", 100.0)):
        made.row(key, said=(start + 5,), started_at=start)
    assert [one.orphan_id for one in made.survey().orphans] == ["third", "second", "first", "b"]


def test_counts_and_who_is_meant(tmp_path: Path) -> None:
    made = Sessions(tmp_path / "state.db")
    made.row("telegram", said=(NOW - 9,))
    made.row("discord", source="discord", said=(NOW - 9,))
    made.row("terminal", source="cli", said=(NOW - 9,))
    found = made.survey(ignored=frozenset({("discord", "orphan")}))
    assert {one.orphan_id for one in found.orphans} == {"telegram", "discord", "terminal"}
    assert {one.orphan_id for one in found.lost} == {"telegram", "discord"}
    assert [one.orphan_id for one in found.troubling] == ["telegram"]
    assert dict(found.counts()) == {"orphan": 1}
    assert found.hidden == 1
