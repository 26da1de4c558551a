"""Where a demonstration is made, where it is refused, and that the same seed makes the same one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui import cli
from ledger_tui.demo import command
from ledger_tui.demo.errors import AskedError, RefusedError
from ledger_tui.demo.home import MARKER, made

from .conftest import Row, make, select


def refusal(home: Path) -> str:
    with pytest.raises(RefusedError) as caught:
        make(home)
    return str(caught.value)


def test_a_folder_with_anything_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"somebody's")
    assert str(tmp_path) in refusal(tmp_path)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("state.db", b"somebody's")]


def test_a_file_of_the_markers_name_is_not_enough(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("# Notes on a simulation\n", encoding="utf-8")
    assert "no demo made it" in refusal(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere)
    assert "no folder of its own" in refusal(tmp_path / "link")
    home = make(tmp_path / "home")
    data = Paths(home).data
    data.parent.rename(elsewhere / "mine")
    data.parent.symlink_to(elsewhere / "mine")
    assert "no folder of its own" in refusal(home)
    assert (elsewhere / "mine" / data.name / "ledger.db").exists()


def test_a_demos_own_home_is_made_anew_and_what_else_lies_there_is_kept(tmp_path: Path) -> None:
    home = make(tmp_path / "home")
    (home / "notes.txt").write_text("mine", encoding="utf-8")
    before = len(select(Paths(home).ledger, "SELECT id FROM ledger"))
    make(home)
    assert len(select(Paths(home).ledger, "SELECT id FROM ledger")) == before
    assert (home / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_home_in_which_a_demo_runs_is_refused(tmp_path: Path) -> None:
    with made(tmp_path / "home", scenario="everyday", seed=1):
        assert "Another demo runs" in refusal(tmp_path / "home")


def test_the_home_is_private_and_says_what_it_is(home: Path) -> None:
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in (home / MARKER, Paths(home).state, Paths(home).ledger):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (home / MARKER).read_text(encoding="utf-8").startswith("# A simulation made by `ledger-tui demo`\n")


def test_an_unknown_scenario_is_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(AskedError, match="everyday, incident, incident-spoken, lost-cron"):
        make(tmp_path / "home", scenario="nonesuch")
    assert not (tmp_path / "home").exists()


def test_without_a_terminal_the_app_is_not_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(AskedError, match="--headless"):
        command.run(scenario=None, home=None, seed=1, speed=1.0, headless=False, duration=None)
    assert os.listdir(tmp_path) == []


def content(home: Path, *, ids: bool) -> list[Row]:
    columns = "tool_name, args_json, status, effect, result_digest"
    if ids:
        columns += ", session_id, turn_id, tool_call_id"
    return select(Paths(home).ledger, f"SELECT id, {columns} FROM ledger ORDER BY id")


def test_a_seed_decides_ids_and_content(home: Path, tmp_path: Path) -> None:
    again, other = make(tmp_path / "again"), make(tmp_path / "other", seed=2)
    assert content(again, ids=True) == content(home, ids=True)
    assert content(other, ids=False) == content(home, ids=False)
    sessions = {row["session_id"] for row in content(home, ids=True)}
    assert sessions.isdisjoint(row["session_id"] for row in content(other, ids=True))


def test_the_command_says_where_the_home_is_and_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "a home"
    assert cli.run(["demo", "--headless", "--home", str(home)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"The simulated home is {home} (see SIMULATION.md in it).",
        f"Next: ledger-tui --hermes-home '{home}'",
    ]


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert cli.run(["demo", "--headless", "--home", str(tmp_path)]) == 4
    assert cli.run(["demo", "--headless", "--home", str(tmp_path / "new"), "--scenario", "nonesuch"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 2
