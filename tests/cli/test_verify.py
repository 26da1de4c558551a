"""`verify`: asked about calls, it says what it found, keeps it where it may, and changes nothing else."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def lost(ledger: Any, tmp_path: Path) -> Any:
    """A write that landed, one whose place was never touched since, and one that nobody can tell of."""
    folder = tmp_path / "work"
    (folder / "still").mkdir(parents=True)
    time.sleep(0.3)  # So that the folder is older than the calls beyond doubt.
    now = time.time()
    common = {"status": "GHOST_REPORTED", "effect": "unknown", "workplace": f"local:{folder}"}
    ledger.add(at=now, args_json='{"path": "there.md", "content": "alpha"}', **common)
    ledger.add(at=now, args_json='{"path": "still/gone.md", "content": "beta"}', **common)
    ledger.add(at=now, tool_name="clarify", args_json="{}", status="PENDING")
    ledger.add(at=now)
    (folder / "there.md").write_text("alpha")
    return ledger


def test_without_ids_every_unconfirmed_call_is_judged_and_the_verdict_kept(lost: Any, program: Any) -> None:
    result = program("verify")
    assert result.code == 0
    assert result.err == ""
    heads = [line for line in result.out.splitlines() if line.startswith("#")]
    assert [line.rpartition(": ")[2] for line in heads] == ["landed", "absent", "unknown"]
    assert result.out.splitlines()[-1] == "1 landed, 1 absent, 1 unknown"
    kept = [(row["id"], row["verdict"], row["status"]) for row in program("calls", "--json").json]
    assert kept == [
        (1, "landed", "GHOST_REPORTED"), (2, "absent", "GHOST_REPORTED"), (3, "unknown", "PENDING"),
        (4, None, "CONFIRMED"),
    ]  # fmt: skip


def test_named_calls_as_json(lost: Any, program: Any) -> None:
    found = program("verify", "4", "1", "4", "--json").json
    assert [(one["ledger_id"], one["tool_name"]) for one in found] == [(1, "write_file"), (4, "write_file")]
    assert found[0]["verdict"] == "landed"
    assert found[0].keys() == {"ledger_id", "tool_name", "verdict", "evidence", "checked_at"}
    assert all(isinstance(text, str) and text for one in found for text in one["evidence"])
    assert found[0]["checked_at"].endswith("Z")


def test_nothing_to_judge(program: Any, ledger: Any, tmp_path: Path) -> None:
    assert "No unconfirmed calls." in program("verify").out
    assert program("verify", "--json").json == []


def test_no_ledger_yet_and_none_at_all(program: Any, sentence: Any, tmp_path: Path) -> None:
    result = program("verify")
    assert (result.code, "Nothing recorded yet" in result.out) == (0, True)
    sentence(program("--ledger", str(tmp_path / "none.db"), "verify"), 3)


def test_wrong_numbers(program: Any, sentence: Any, lost: Any) -> None:
    assert "no call 9" in sentence(program("verify", "9"), 2)
    sentence(program("verify", "first"), 2)
    sentence(program("verify", "0"), 2)
    sentence(program("verify", str(2**70)), 2)


def test_a_ledger_that_is_not_ours_is_judged_and_left_alone(program: Any, tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    other.execute("INSERT INTO ledger VALUES(1, 1700000000.5, 'patch', 'PENDING', '{}')")
    other.commit()
    other.close()
    before = path.read_bytes()
    result = program("--ledger", str(path), "verify", "--json")
    assert (result.code, result.json[0]["verdict"]) == (0, "unknown")
    assert "not stored" in result.err
    assert path.read_bytes() == before
