"""Ledgers that other software began: its columns keep their types and may be empty, and the chain holds nonetheless."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from .by_docs import verified
from .ledgers import Made, found

COUNTED = "id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT, tool_name TEXT, status TEXT, args_json TEXT"


@pytest.mark.parametrize("announced", [True, False])
def test_two_writers_where_a_time_may_be_empty(tmp_path: Path, announced: bool) -> None:
    path = tmp_path / "ledger.db"
    ours = Made(path, columns=COUNTED)
    others = Made(path)
    with closing(ours.db), closing(others.db):
        ours.calls(1, 1)
        ours.issue("c2")
        others.settle(2, "c2")  # Takes no number by which the next insert could be told that it is late.
        if announced:
            ours.issue("c3")
        else:
            ours.unannounced("c3")
        assert ours.db.execute("SELECT id, ts IS NULL FROM ledger ORDER BY id").fetchall() == [(1, 0), (2, 0), (3, 0)]
        assert found(ours.check()) is None
        assert len(verified(ours.db)) == (5 if announced else 6)
