"""Every command in a hostile home, for people and as JSON: nothing hostile comes out, and nothing is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .corpus import SAMPLES, SURROGATES
from .homes import CHAT
from .judging import hazards
from .lines import LINES, leaves, name, takes_json

FORGED = ("ok    ledger  All is well.", "0 orphans")
"""Lines that hostile text would have in the output as its own."""


@pytest.mark.parametrize("line", LINES, ids=name)
@pytest.mark.parametrize("which", ["planted", "spoilt"])
def test_nothing_hostile_comes_out(line: tuple[str, ...], which: str, home: Any, command: Any) -> None:
    home(which)
    said = command(*line)
    both = said.out + said.err
    assert hazards(both) == []
    assert not any(forged in both.split("\n") for forged in FORGED)
    assert said.code in (0, 1, 3, 4), said.err
    assert "defect of ledger-tui" not in said.err
    if said.code in (0, 1):
        assert said.out
    if "--json" in line and said.out:
        assert said.out.isascii()
        assert json.loads(said.out) is not None


def test_every_command_is_called() -> None:
    called = {" ".join(line) for line in LINES}
    assert len(list(leaves())) > 15
    for words, one in leaves():
        assert any(line.startswith(" ".join(words)) for line in called)
        assert not takes_json(one) or any(line.startswith(" ".join(words)) and "--json" in line for line in called)


@pytest.mark.parametrize("line", [("calls", "--limit", "9999"), ("export", "calls", "--format", "csv"),
                                  ("export", "calls", "--format", "md"), ("verify",), ("policy", "report"),
                                  ("sessions", "--limit", "9999"), ("repair-routing",)], ids=name)  # fmt: skip
def test_what_was_written_can_still_be_told(line: tuple[str, ...], home: Any, command: Any) -> None:
    """By the plain words around each text, which stand in most of what is shown."""
    home("planted")
    out = command(*line).out
    shown = [sample for sample in SAMPLES if sample.first in out or sample.last in out]
    assert len(shown) >= (15 if line[0] in ("repair-routing", "verify") else 60)


def test_json_holds_the_very_values(home: Any, command: Any) -> None:
    home("planted")
    found = command("calls", "--json").json
    given = [row["args"] for row in found if isinstance(row["args"], dict)]
    for text in (*(sample.text for sample in SAMPLES), SURROGATES):
        assert {"command": text, text: [text]} in given
    assert all(row["session_id"] is None or hazards(row["session_id"]) == [] for row in found)
    assert any(row["session_id"].startswith("wren-chat \\u001b]0;hostile-title\\u0007\\u202e") for row in found)


def test_a_session_is_found_by_its_raw_id(home: Any, command: Any) -> None:
    home("planted")
    assert len(command("calls", "--session", CHAT, "--json").json) > len(SAMPLES)


def test_a_home_with_a_hostile_name(home: Any, command: Any, tmp_path: Path) -> None:
    """The folder itself may have been made by an agent."""
    made = home("planted")
    hostile = made.rename(tmp_path / f"h\x1b]0;hostile-title\x07\u202e'{chr(0xDCE9)}\n[bold]")
    for line in (*LINES, ("--profile", "none", "status"), ("--ledger", str(hostile / "\x1b[2J.db"), "calls")):
        said = command(*line, home=hostile)
        assert hazards(said.out + said.err) == [], line
        assert "defect of ledger-tui" not in said.err, line
