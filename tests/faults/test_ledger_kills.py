"""`kill -9` before any line of the engine, and in the middle of any write."""

from __future__ import annotations

import pytest

from .rounds import CALLS, FaultHome, dice


@pytest.mark.rounds(40)
def test_killed_before_any_line(fault_home: FaultHome, seed: int) -> None:
    thrown = dice(seed, "line")
    at = int(10 ** thrown.uniform(1, 4))
    ended = fault_home.run(f"{CALLS}\ndie_at_line({at})\nstart()\ncalls('k', 20)\nsay(lines_run())")
    assert ended.code in (0, -9), ended
    fault_home.nothing_lost()
    fault_home.recover()
    fault_home.whole()
