"""`doctor` on repairs: one that was cut short, and a journal that nobody can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.routing.corpus import case


@pytest.fixture
def journal(home: Path, program: Any) -> Path:
    """The journal of a repair that took effect."""
    (home / "state.db").write_bytes(case("incident-82616").store)
    done = program("repair-routing", "--apply", "--yes", "--json").json
    return home / "plugin-data" / "agent-ledger" / "repairs" / f"{done['repair_id']}.json"


def _check(program: Any) -> dict[str, str]:
    (found,) = [one for one in program("doctor", "--json").json if one["check"] == "repairs"]
    assert isinstance(found, dict)
    return found


def test_a_repair_that_ended_well(journal: Path, program: Any) -> None:
    assert journal.exists()
    assert _check(program)["state"] == "ok"


def test_a_repair_whose_process_died(journal: Path, program: Any) -> None:
    text = json.loads(journal.read_text())
    journal.write_text(json.dumps({**text, "state": "prepared"}))
    found = _check(program)
    assert found["state"] == "warn"
    assert f"{journal.stem}: it took effect" in found["text"]
    assert "repair-undo" in found["remedy"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}'])
def test_a_journal_that_cannot_be_understood(journal: Path, program: Any, content: str) -> None:
    journal.write_text(content)
    found = _check(program)
    assert (found["state"], journal.name in found["text"]) == ("warn", True)
