"""Verdicts in the notice: said with their evidence, kept beside the calls, and never at the cost of the hook's time."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ledger.engine.evidence import hook
from agent_ledger.engine.notice import ITEMS, LIMIT, Item, compose
from tests.engine.homes import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    made = Home(tmp_path / "home")
    yield made
    made.close()


def lose(home: Home, path: Path, content: str, *, call: str = "c1") -> None:
    """A write that is announced on this machine and never confirmed."""
    home.pre("write_file", {"path": str(path), "content": content}, call=call)
    home.merged()
    with contextlib.closing(sqlite3.connect(home.paths.ledger, isolation_level=None)) as db:
        db.execute("UPDATE ledger SET workplace = 'local:/' WHERE tool_call_id = ?", (call,))


def kept(home: Home) -> list[tuple[int, str, list[str]]]:
    with contextlib.closing(sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT ledger_id, verdict, evidence FROM verdict ORDER BY ledger_id").fetchall()
    return [(ledger_id, verdict, json.loads(evidence)) for ledger_id, verdict, evidence in rows]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is: what is told within a hook's time is not the question here."""
    monkeypatch.setattr(hook, "BUDGET_S", 60.0)
    monkeypatch.setattr(hook, "HOOK_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_the_notice_says_what_landed_and_what_did_not(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    lose(home, tmp_path / "there.md", "alpha")
    (tmp_path / "there.md").write_text("alpha")
    home.clock.advance(30)
    lose(home, folder / "gone.md", "beta", call="c2")
    home.clock.advance(300)
    first, second = (line for line in home.turn().splitlines() if line.startswith("- #"))
    assert ": landed (" in first
    assert ": absent (" in second
    (one, landed, why), (two, absent, _) = kept(home)
    assert (one, landed, two, absent) == (1, "landed", 2, "absent")
    assert why[0] in first
    assert home.statuses() == ["GHOST_REPORTED", "GHOST_REPORTED"], "a verdict is no settlement"


def test_without_time_nothing_is_said_and_nothing_kept(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "BUDGET_S", 0.0)
    lose(home, tmp_path / "there.md", "alpha")
    home.clock.advance(300)
    assert home.turn().splitlines()[2].endswith(": not checked")
    assert kept(home) == []


def test_evidence_gives_way_before_a_call_does() -> None:
    args = json.dumps({"path": "x" * 30})
    one = Item("ghost", 1, "2026-01-02T03:04:05.000Z", "patch", args, verdict="landed", evidence="e" * 150)
    assert "e" * 150 in compose(1, [one])
    many = [Item("ghost", n, one.ts, "patch", args, verdict="landed", evidence="e" * 150) for n in range(1, 8)]
    text = compose(1, many)
    assert len(text) <= LIMIT
    assert text.count(": landed") == 7
    assert compose(1, many) == text
    assert sum(line.startswith("- #") for line in compose(1, many * 3).splitlines()) <= ITEMS
