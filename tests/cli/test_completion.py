"""`completion`: each shell is asked what it would offer, with the script that the program prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from agent_ledger.engine.records import STATES
from ledger_tui.cli import app
from ledger_tui.commands.command_tree import walk
from ledger_tui.commands.completion import SHELLS, script

ASKING: Mapping[str, str] = {
    "bash": (
        "source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1));"
        ' _ledger_tui; printf "%s\\n" "${{COMPREPLY[@]}}"'
    ),
    # The functions of zsh's own completion answer in its line editor only: here they say what they are asked for.
    "zsh": (
        "compdef() {{ :; }}; _files() {{ print -l -- *(N) }};"
        " compadd() {{ shift; print -l -- ${{(M)@:#${{words[CURRENT]}}*}} }};"
        " source {script}; words=({words}); CURRENT=$#words; _ledger_tui"
    ),
    "fish": "source {script}; complete -C {line}",
}


@pytest.fixture(scope="module", params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    return name


def offered(shell: str, folder: Path, *words: str) -> set[str]:
    """What the shell offers for the last of `words`, in a folder with the file `copy.db` and the folder `homes`."""
    path = folder / "script"
    path.write_text(script(shell, list(walk(typer.main.get_command(app)))), encoding="utf-8")
    (folder / "here" / "homes").mkdir(parents=True, exist_ok=True)
    (folder / "here" / "copy.db").touch()
    typed = ["ledger-tui", *words]
    question = ASKING[shell].format(
        script=shlex.quote(str(path)),
        words=" ".join(map(shlex.quote, typed)),
        line=shlex.quote(" ".join(typed)),
    )
    plainly = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *plainly, "-c", question],
        cwd=folder / "here",
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return {line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines() if line}


def test_commands_and_what_is_below_them(shell: str, tmp_path: Path) -> None:
    assert offered(shell, tmp_path, "sta") == {"status"}
    assert {"calls", "doctor", "policy", "export"} <= offered(shell, tmp_path, "")
    assert offered(shell, tmp_path, "export", "") >= {"calls", "posture", "sessions"}
    assert "status" not in offered(shell, tmp_path, "export", "")
    assert offered(shell, tmp_path, "--profile", "work", "plu") == {"plugin"}


def test_options_of_the_command(shell: str, tmp_path: Path) -> None:
    assert offered(shell, tmp_path, "calls", "--s") == {"--state", "--session", "--since"}
    assert offered(shell, tmp_path, "policy", "test", "--st") == {"--stdin"}
    assert offered(shell, tmp_path, "--her") == {"--hermes-home"}


def test_values(shell: str, tmp_path: Path) -> None:
    assert offered(shell, tmp_path, "calls", "--state", "") == set(STATES)
    assert offered(shell, tmp_path, "calls", "--state", "gh") == {"ghost"}
    assert offered(shell, tmp_path, "status", "--fail-on", "") == {"ghost", "orphan", "finding"}
    assert offered(shell, tmp_path, "export", "calls", "--format", "c") == {"csv"}
    assert offered(shell, tmp_path, "demo", "--scenario", "lost") == {"lost-cron"}
    assert offered(shell, tmp_path, "completion", "") >= {"bash", "zsh", "fish"}


def test_a_value_is_no_command(shell: str, tmp_path: Path) -> None:
    """`calls` is a profile's name here, and `status` a tool's."""
    assert offered(shell, tmp_path, "--profile", "calls", "sta") == {"status"}
    assert offered(shell, tmp_path, "calls", "--tool", "status", "--fail") == set()


def test_paths(shell: str, tmp_path: Path) -> None:
    assert "copy.db" in offered(shell, tmp_path, "--ledger", "")
    assert "copy.db" in offered(shell, tmp_path, "posture", "")
    if shell != "zsh":
        assert offered(shell, tmp_path, "--hermes-home", "") == {"homes"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_takes_a_value_behind_an_equals_sign(tmp_path: Path) -> None:
    """Bash hands the sign over as a word of its own."""
    assert offered("bash", tmp_path, "calls", "--state", "=", "ov") == {"overdue"}
    assert offered("bash", tmp_path, "--profile", "=", "calls", "sta") == {"status"}


def test_the_command(program: Any, sentence: Any) -> None:
    for name in SHELLS:
        assert "ledger-tui" in program("completion", name).out
    assert "bash, zsh, fish" in sentence(program("completion", "tcsh"), 2)
