"""The search after a restart: the same answers as the host's own, before and after its repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger_tui.routing.read import read_store
from ledger_tui.routing.resolver import Peer, Resolver
from tests.routing.corpus import Case, cases


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_answers_are_the_hosts(case: Case, tmp_path: Path) -> None:
    home, path = case.lay_out(tmp_path)
    store = read_store(path, home)
    resolver = Resolver(store.sessions.values(), store.owner)
    assert case.expected["resolve"]
    for asked in case.expected["resolve"]:
        found = resolver.resolve(Peer(**asked["query"]))
        assert (found.id if found else None) == asked["before"], asked["query"]
