"""A home with a prompt policy in it, and the plugin's door on it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agent_ledger
from agent_ledger.engine.paths import Paths

RULE: dict[str, Any] = {
    "name": "customer-number",
    "kind": "identifier",
    "shapes": ["KD-######"],
    "message": "Customer numbers belong into the ticket system.",
}


class Home:
    """A throw-away home; `version` is the host that the plugin believes to run in."""

    def __init__(self, path: Path) -> None:
        self.paths = Paths(path)
        self.paths.data.mkdir(parents=True, mode=0o700)
        self.version: str | None = "0.22.6"

    def policy(self, *rules: dict[str, Any], mode: str = "enforce", **more: Any) -> None:
        self.paths.prompt_policy.write_text(json.dumps({"rules": list(rules) or [RULE], **more}), encoding="utf-8")
        self.mode(mode)

    def mode(self, word: str) -> None:
        self.paths.prompt_policy_mode.write_text(f"{word}\n", encoding="utf-8")

    def decisions(self) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(f"file:{self.paths.ledger}?mode=ro", uri=True)
        try:
            found = "SELECT session_id, turn_id, rule, mode, outcome FROM prompt_decision ORDER BY id"
            return connection.execute(found).fetchall()
        finally:
            connection.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """The home that the door serves in this test."""
    made = Home(tmp_path / "home")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(agent_ledger, "_versions", lambda: {"host": made.version} if made.version else {})
    monkeypatch.setattr(agent_ledger, "_recorders", {})
    monkeypatch.setattr(agent_ledger, "_refused_turns", type(agent_ledger._refused_turns)())
    agent_ledger.on_session_start(session_id="reference")  # Opens the ledger, as a session's start does.
    assert agent_ledger.recorder().keeper._opened.wait(10)
    yield made
    agent_ledger.recorder().keeper.close()
