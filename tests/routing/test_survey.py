"""One call that says everything: held against what is known of the incident."""

from __future__ import annotations

from pathlib import Path

from ledger_tui.routing.read import read_store
from ledger_tui.routing.survey import survey
from tests.routing.corpus import case


def test_the_incident(tmp_path: Path) -> None:
    home, path = case("incident-82616").lay_out(tmp_path)
    store = read_store(path, home)
    found = survey(store, now=store.sessions[next(iter(store.sessions))].started_at or 0.0)
    proven = [one for one in found.zombies if one.grade == "proven"]
    (orphan,) = found.lost
    assert [(one.session_id, one.orphan_ids) for one in proven] == [(orphan.donor_id, (orphan.orphan_id,))]
