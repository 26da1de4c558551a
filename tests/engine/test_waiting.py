"""What policies decided, on its way into the ledger: in order, each once, whatever kept it out before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from agent_ledger.engine import waiting
from agent_ledger.engine.policy.decisions import Decisions as CallDecisions
from agent_ledger.engine.policy.rules import BLOCK, Decision
from agent_ledger.engine.prompts import Refusal
from agent_ledger.engine.prompts.decisions import Decisions as PromptDecisions

from .homes import Home


def decided(home: Home, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home.paths.ledger)) as ledger:
        return ledger.execute(f"SELECT session_id, rule FROM {table} ORDER BY id").fetchall()


def test_names_that_are_no_text_are_recorded_as_their_escapes(home: Home) -> None:
    home.merged()
    prompts = PromptDecisions(home.recorder.keeper, home.clock.wall)
    prompts.keep(Refusal("no \ud800", "enforce", "blocked", "Not here."), session_id="s\udfff", turn_id="t")
    calls = CallDecisions(home.recorder.keeper, home.clock.wall)
    calls.keep(
        Decision(BLOCK, "no \ud800", "HIGH", "for \udc00"), "enforce", ledger_id=1, session_id="s1", turn_id="t",
        tool_call_id="c1", tool_name="terminal",
    )  # fmt: skip
    assert decided(home, "prompt_decision") == [("s\\udfff", "no \\ud800")]
    assert decided(home, "policy_decision") == [("s1", "no \\ud800")]


@pytest.mark.parametrize("trouble", [None, RuntimeError("no"), UnicodeEncodeError("utf-8", "x", 0, 1, "no")])
def test_what_was_kept_out_is_written_with_the_next_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, trouble: Exception | None
) -> None:
    def refuses(_: object) -> None:
        if trouble is not None:
            raise trouble

    home.merged()
    prompts = PromptDecisions(home.recorder.keeper, home.clock.wall)
    with monkeypatch.context() as patch:
        patch.setattr(home.recorder.keeper, "ask", refuses)
        for number in range(3):
            prompts.keep(Refusal(f"r{number}", "enforce", "blocked", ""), session_id="s1", turn_id="t")
    assert (prompts.waiting, decided(home, "prompt_decision")) == (3, [])
    prompts.keep(Refusal("r3", "enforce", "blocked", ""), session_id="s1", turn_id="t")
    assert (prompts.waiting, decided(home, "prompt_decision")) == (0, [("s1", f"r{number}") for number in range(4)])


def test_of_more_than_can_wait_the_oldest_go(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.merged()
    monkeypatch.setattr(waiting, "MOST_WAITING", 3)
    prompts = PromptDecisions(home.recorder.keeper, home.clock.wall)
    with monkeypatch.context() as patch:
        patch.setattr(home.recorder.keeper, "ask", lambda _: None)
        for number in range(5):
            prompts.keep(Refusal(f"r{number}", "enforce", "blocked", ""), session_id="s1", turn_id="t")
    prompts.write()
    assert decided(home, "prompt_decision") == [("s1", "r2"), ("s1", "r3"), ("s1", "r4")]
