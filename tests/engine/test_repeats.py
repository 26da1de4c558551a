"""Repeats are told from memory, and memory has an end."""

from __future__ import annotations

import pytest

from agent_ledger.engine import repeats

from .homes import Home


def test_the_newest_different_calls_are_remembered(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "NEWEST", 3)
    home.start()
    # `a` is issued again, so `b` is the oldest when `d` comes.
    for number, path in enumerate("abcadab"):
        home.pre(args={"path": path, "content": "x"}, call=f"c{number}")
        home.post(args={"path": path, "content": "x"}, call=f"c{number}")
    assert [row["repeat_of"] for row in home.rows()] == [None, None, None, 1, None, 1, None]
    (seen,) = home.recorder.keeper._calls._repeats._conversations.values()
    assert len(seen) == 3
