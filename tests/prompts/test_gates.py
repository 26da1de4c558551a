"""Limits against a real ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import agent_ledger
from agent_ledger.engine.prompts.gates import GateError, ledger_counter
from ledger_tui.demo.reference_host import ReferenceHost

from .conftest import Home

LIMIT = {"name": "hourly", "kind": "limit", "count": "calls", "per": "hour", "at_most": 2, "message": "Enough for now."}


def call(number: int, turn: str) -> None:
    agent_ledger.pre_tool_call(
        "terminal", {"command": f"echo {number}"}, session_id="s", tool_call_id=f"c{number}", turn_id=turn
    )


def test_calls_of_the_ledger_use_a_limit_up(home: Home) -> None:
    home.policy(LIMIT)
    chat = ReferenceHost(callbacks=[agent_ledger.pre_llm_call])
    call(1, "t1")
    assert chat.turn("hello").api_calls == 1
    call(2, "t1")
    assert chat.turn("hello").final_response == "Enough for now."


def test_turns_are_those_in_which_a_call_was_made(home: Home) -> None:
    for number, turn in enumerate(["t1", "t1", "t2"]):
        call(number, turn)
    count = ledger_counter(home.paths.ledger)
    assert (count("calls", 0.0), count("turns", 0.0)) == (3, 2)
    assert count("calls", 4_000_000_000.0) == 0


def test_no_ledger_holds_nothing_and_a_broken_one_closes_the_gate(home: Home, tmp_path: Path) -> None:
    assert ledger_counter(tmp_path / "none.db")("calls", 0.0) == 0
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database, but it is long enough to be read as one" * 20)
    with pytest.raises(GateError):
        ledger_counter(broken)("calls", 0.0)


def test_a_gate_that_cannot_be_asked_is_a_block(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(what: str, since: float) -> int:
        raise GateError("the ledger cannot be read (locked)")

    home.policy(LIMIT)
    monkeypatch.setattr(agent_ledger.recorder().guard, "_count", unreadable)
    done = ReferenceHost(callbacks=[agent_ledger.pre_llm_call]).turn("hello")
    assert done.api_calls == 0
    assert "the ledger cannot be read (locked)" in done.final_response
