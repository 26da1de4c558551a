"""A policy from rules written down in a test, and what it says of a message."""

from __future__ import annotations

import json
from typing import Any

from agent_ledger.engine.prompts import PromptPolicy, Verdict, parse, read

NOON = 1_767_355_200.0
"""2026-01-02T12:00:00Z, a Friday."""


def policy(*rules: dict[str, Any]) -> PromptPolicy:
    made = parse(json.dumps({"rules": [{"name": "r", "message": "m", **rule} for rule in rules]}))
    assert isinstance(made, PromptPolicy), made
    return made


def judge(made: PromptPolicy, message: object, *, now: float = NOON, counted: int = 0) -> Verdict:
    return made.decide(read(message), now=now, mono=lambda: 0.0, count=lambda what, since: counted)


def blocked(kind: str, text: str, **more: Any) -> bool:
    return judge(policy({"kind": kind, **more}), text).blocks
