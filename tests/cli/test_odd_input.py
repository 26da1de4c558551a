"""Numbers beyond all measure, digits of other scripts, pipes where files are expected, paths that lead nowhere."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Result
from .fleets import home_with

NOBODYS = "~nobody-here/file"
HUGE = "99999999999999999999999999"


@pytest.mark.parametrize("format_", [("calls", "--json"), ("calls",), ("export", "calls", "--format", "json")])
@pytest.mark.parametrize("state", [(), ("--state", "pending,overdue")])
def test_a_huge_limit_means_all(
    six_states: Any, program: Any, format_: tuple[str, ...], state: tuple[str, ...]
) -> None:
    without, huge = program(*format_, *state), program(*format_, *state, "--limit", HUGE)
    assert huge.code == 0, huge
    assert huge.out.count("write_file") == without.out.count("write_file")
    assert huge.out.count("terminal") == 1


def test_a_huge_keep_keeps_all(six_states: Any, program: Any) -> None:
    found = program("prune", "--keep", HUGE, "--apply", "--json").json
    assert (found["rows"], found["drop"], found["rows_after"]) == (6, 0, 6)


@pytest.mark.parametrize("when", ["٣h", "３h", "２０２６-01-02"])
def test_only_ascii_digits_are_a_time(six_states: Any, program: Any, sentence: Any, when: str) -> None:
    assert "is no time" in sentence(program("calls", "--since", when), 2)


@pytest.mark.parametrize("limit", ["٣", "３"])
def test_only_ascii_digits_are_a_limit(six_states: Any, program: Any, sentence: Any, limit: str) -> None:
    sentence(program("calls", "--limit", limit), 2)


@pytest.mark.parametrize(
    "name",
    [
        "plugin-data/agent-ledger/settings.json", "plugin-data/agent-ledger/policy_mode", "config.yaml",
        "active_profile", "gateway.pid", "gateway.lock", "logs/agent.log", "plugins/agent-ledger/plugin.yaml",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", [("doctor", "--json"), ("plugin", "status", "--json"), ("status", "--json")])
def test_nobody_waits_for_a_pipe(
    six_states: Any, program: Any, home: Path, name: str, command: tuple[str, ...]
) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    done = program(*command)
    assert done.code == 0
    assert done.json


@pytest.mark.parametrize(
    "command",
    [("status", "--json"), ("calls", "--json"), ("export", "calls", "--format", "json"), ("posture", "--json")],
)
def test_one_cell_that_is_no_utf8_hides_no_other(
    six_states: Any, program: Any, home: Path, command: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(home / "plugin-data" / "agent-ledger" / "ledger.db")) as ledger, ledger:
        ledger.execute(
            "UPDATE ledger SET tool_name = CAST(X'74FF' AS TEXT), session_id = CAST(X'73FF' AS TEXT) WHERE id = 2"
        )
    done = program(*command)
    assert done.code == 0, done
    assert done.out


@pytest.mark.parametrize(
    ("named", "command"),
    [
        ("--hermes-home", ("--hermes-home", NOBODYS, "status")),
        ("--hermes-home", ("--hermes-home", NOBODYS, "status", "--tmux")),
        ("--ledger", ("--ledger", NOBODYS, "status")),
        ("--ledger", ("--ledger", NOBODYS, "status", "--tmux")),
        ("--state", ("--state", NOBODYS, "status")),
        ("LEDGER", ("posture", NOBODYS)),
        ("--output", ("export", "calls", "--format", "csv", "-o", NOBODYS)),
        ("--output", ("export", "posture", "--format", "csv", "-o", NOBODYS)),
        ("--output", ("export", "sessions", "--format", "csv", "-o", NOBODYS)),
        ("--policy", ("policy", "test", "--policy", NOBODYS, "ls")),
        ("--policy", ("policy", "replay", "--policy", NOBODYS)),
        ("--policy", ("policy", "lint", "--policy", NOBODYS)),
        ("--policy", ("prompt-policy", "lint", "--policy", NOBODYS)),
        ("--home", ("demo", "--home", NOBODYS, "--headless", "--duration", "1")),
    ],
)
def test_the_home_of_nobody_is_no_path(
    six_states: Any, program: Any, sentence: Any, named: str, command: tuple[str, ...]
) -> None:
    assert sentence(program(*command), 2).startswith(f"{named}: ")


@pytest.mark.parametrize(
    "command",
    [
        ("status",), ("calls",), ("watch",), ("verify",), ("sessions",), ("posture",), ("ledger-check",),
        ("prune", "--keep", "1"), ("repair-routing",), ("repair-undo", "--list"), ("plugin", "status"),
        ("export", "calls", "--format", "csv"), ("export", "posture", "--format", "csv"),
        ("export", "sessions", "--format", "csv"), ("policy", "report"), ("policy", "replay"), ("policy", "lint"),
        ("policy", "test", "ls"), ("prompt-policy", "test", "hello"), ("prompt-policy", "lint"),
    ],
)  # fmt: skip
def test_a_home_that_is_a_file_is_told_in_one_sentence(
    program: Any, sentence: Any, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    told = sentence(program("--hermes-home", str(tmp_path / "file"), *command), 3)
    assert told == f"The Hermes home {tmp_path / 'file'} is no folder; check --hermes-home, --profile or HERMES_HOME."


def test_the_environment_is_named_where_it_names_nobodys_home(program: Any, sentence: Any) -> None:
    assert sentence(program("status", env={"HERMES_HOME": NOBODYS}), 2).startswith("HERMES_HOME: ")


def test_two_dots_behind_a_link_lead_where_the_system_says(
    six_states: Any, program: Any, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "far" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "below")
    made = program("export", "calls", "--format", "csv", "-o", str(tmp_path / "link" / ".." / "calls.csv"))
    assert (made.code, (tmp_path / "far" / "calls.csv").exists()) == (0, True)
    plain = program("--hermes-home", str(tmp_path / "far" / ".." / home.name), "status", "--json").json
    assert plain["home"] == str(home)


@pytest.mark.parametrize(
    ("home", "ledger"), [("link/..", "far"), ("link/../../far", "far"), ("far/below/..", "far"), ("link", "far/below")]
)
def test_the_status_line_goes_there_too(program: Any, tmp_path: Path, home: str, ledger: str) -> None:
    (tmp_path / "far" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "below")
    home_with(tmp_path / ledger, {"status": "GHOST_REPORTED", "at": 300})
    assert "1 ghost" in program("--hermes-home", str(tmp_path / home), "status", "--tmux").out
    assert program("--hermes-home", str(tmp_path / home), "status", "--json").json["ledger"]["ghost"] == 1


@pytest.mark.parametrize(
    ("named", "command"),
    [
        ("--hermes-home", ("--hermes-home", "here", "status")),
        ("--hermes-home", ("--hermes-home", "here", "status", "--tmux")),
        ("--hermes-home", ("--hermes-home", "here", "--all-profiles", "status", "--tmux")),
        ("--ledger", ("--ledger", "here.db", "status", "--tmux")),
        ("--output", ("export", "calls", "--format", "csv", "-o", "calls.csv")),
    ],
)
def test_a_path_from_a_folder_that_is_gone(
    six_states: Any, sentence: Any, home: Path, tmp_path: Path, named: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "gone").mkdir()
    started = ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", sys.executable, "-m", "ledger_tui", *command]
    environ = {**os.environ, "HERMES_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(started, cwd=tmp_path, env=environ, timeout=60, capture_output=True, text=True)
    told = sentence(Result(done.returncode, done.stdout, done.stderr), 2)
    assert told.startswith(f"{named}: ")
    assert "write it out in full" in told
