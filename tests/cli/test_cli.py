"""The command line as a whole: help, no command, defects, and the runner that typer itself ships."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ledger_tui import cli
from ledger_tui.commands import calls, status

COMMANDS = ("status", "calls", "watch", "prune", "export", "doctor", "plugin")


def test_help_names_every_command(program: Any) -> None:
    result = program("--help")
    assert result.code == 0
    for name in COMMANDS:
        assert f"  {name} " in result.out
        assert program(name, "--help").code == 0


def test_version(program: Any) -> None:
    assert program("--version").out.startswith("ledger-tui 0.")


def test_without_a_terminal_the_app_does_not_open(program: Any, sentence: Any) -> None:
    assert "terminal" in sentence(program(), 2)


def test_through_the_runner(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(home))
    runner = CliRunner()
    assert runner.invoke(cli.app, ["calls", "--json"]).stdout == "[]\n"
    wrong = runner.invoke(cli.app, ["calls", "--limit", "0"])
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert runner.invoke(cli.app, ["--ledger", str(home / "none.db"), "status"]).exit_code == 3


def test_a_defect_is_a_sentence_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("by\x1b zero")

    monkeypatch.setattr(status, "summary", broken)
    monkeypatch.delenv("LEDGER_TUI_DEBUG", raising=False)
    result = CliRunner().invoke(cli.app, ["--hermes-home", str(home), "status"])
    assert result.exit_code == 3
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr
    assert "\x1b" not in result.stderr


def test_interrupted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(calls, "oldest_first", interrupted)
    result = CliRunner().invoke(cli.app, ["--hermes-home", str(home), "calls"])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")


def test_profiles(program: Any, home: Path, sentence: Any) -> None:
    def place(*before: str) -> str:
        return str(program(*before, "status", "--json").json["home"])

    for path in (home / "profiles" / "work-2", home.parent / "x"):
        path.mkdir(parents=True)
    assert place("--profile", "work-2") == str(home / "profiles" / "work-2")
    assert place("--profile", "default") == str(home)
    assert place("--hermes-home", "~/x") == str(home.parent / "x")
    for name in ("../etc", "Work", "a/b", "-x", "", "x" * 65):
        sentence(program("--profile", name, "status"), 2)
        assert program("--profile", name, "status", "--tmux").code == 2


def test_odd_paths(program: Any, tmp_path: Path) -> None:
    odd = tmp_path / "we?ird #%41 ü'\""
    odd.mkdir()
    assert program("--hermes-home", str(odd), "calls", "--json").json == []
    path = odd / "a?b#c%20.db"
    made = sqlite3.connect(path)
    made.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts TEXT, tool_name TEXT, status TEXT)")
    made.execute("INSERT INTO ledger VALUES(1, '2020-01-01', 'patch', 'PENDING')")
    made.commit()
    made.close()
    assert program("--ledger", str(path), "status", "--tmux").out == "▲1 overdue\n"
    assert [row["id"] for row in program("--ledger", str(path), "calls", "--json").json] == [1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("status",), ("calls", "--json"), ("status", "--tmux")])
def test_output_that_cannot_be_written(home: Path, command: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = run_program(home, command, stdout=full, stderr=subprocess.PIPE)
    assert done.stderr.count(b"\n") <= 1
    assert b"defect" not in done.stderr
    assert done.returncode == (0 if "--tmux" in command else 3)


def test_closed_output(home: Path) -> None:
    for command in (("status",), ("status", "--tmux"), ("nonsense",)):
        done = run_program(home, command, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
        assert b"Traceback" not in done.stderr
        assert done.returncode == (2 if command == ("nonsense",) else 0)


def run_program(home: Path, command: tuple[str, ...], **options: Any) -> subprocess.CompletedProcess[bytes]:
    environ = {"HERMES_HOME": str(home), "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "LANG": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, "-m", "ledger_tui", *command], env=environ, cwd=home, check=False, timeout=60, **options
    )


def test_without_its_libraries_it_says_so_in_one_sentence(tmp_path: Path) -> None:
    """As after `pip install --no-deps` into a host's own environment: no site packages at all."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "ledger_tui", "--hermes-home", str(tmp_path), "status"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 3
    assert done.stderr.startswith("ledger-tui: the Python package 'typer' is not installed here;")
    assert done.stderr.count("\n") == 1
