"""docs/reference.md is what the program says of itself today."""

from __future__ import annotations

from .pages import anchors
from .reference import PATH, reference


def test_it_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == reference(), "make it anew: python -m tests.docs.reference"


def test_it_has_commands_settings_and_keys() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert {"ledger-tui", "ledger-tui-policy-test", "configtoml", "keys"} <= anchors(text)
    assert "| `--since WHEN` |" in text
    assert "| `calls.filter` | `slash` |" in text
    assert "4 refused for safety" in text
