"""Which programs and modules run, and where credentials come from: nothing that an agent could put in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.posture.telegram import Bot, TelegramError
from ledger_tui import tmux_line
from ledger_tui.commands import hosts
from ledger_tui.demo import process

from . import journey as journeys
from .journey import Journey
from .programs import ROOT, run


def planted(folder: Path, name: str) -> Path:
    """A program that leaves a trace when it is run."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\ntouch '{folder / 'ran'}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("entry", ["", ".", "bin", "../home/bin"])
def test_no_hermes_out_of_a_folder_that_the_path_does_not_name_in_full(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """The command runs in the home, where an agent writes; a relative entry of PATH would mean a folder there."""
    monkeypatch.chdir(paths.home)
    planted(paths.home, "hermes")
    planted(paths.home / "bin", "hermes")
    environ = {"PATH": f"{entry}{os.pathsep}{paths.home.parent}"}
    assert hosts.run_hermes(["--version"], paths.home, environ) is None
    assert not list(paths.home.rglob("ran"))


def test_the_hermes_of_the_path_is_found(tmp_path: Path) -> None:
    program = planted(tmp_path / "bin", "hermes")
    assert hosts.executable({"PATH": f".{os.pathsep}{program.parent}"}) == str(program)
    assert hosts.executable({"PATH": ""}) is None


def test_a_demonstration_imports_nothing_out_of_the_folder_it_is_started_in(tmp_path: Path) -> None:
    for name in ("sqlite3.py", "json.py", "typing.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    done = subprocess.run(
        [*process._PYTHON, "{}"],
        cwd=tmp_path, env=process.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Plan" in done.stderr, "it came as far as its plan, which is an empty one here"
    assert not (tmp_path / "ran").exists()


# The tmux line


def test_the_line_says_nothing_of_a_folder_that_somebody_else_put_there(paths: Paths, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "1-aaaaaaaaaaaa-000001.jsonl").write_text('{"kind": "issue"}\n')
    os.symlink(other, paths.spool_elsewhere)
    assert not tmux_line._waiting(str(paths.data), {})
    paths.spool_elsewhere.unlink()
    other.rename(paths.spool_elsewhere)
    assert tmux_line._waiting(str(paths.data), {})


@pytest.mark.parametrize("named", ["{tmp}", "/nowhere/at/all", ""])
def test_the_line_looks_where_the_plugin_writes(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", named.format(tmp=tmp_path))
    assert tmux_line._spool_elsewhere(str(paths.data)) == str(paths.spool_elsewhere)


# Credentials


@pytest.mark.parametrize("address", ["https://kim:geheim@api.example", "https://kim@api.example"])
def test_no_credentials_in_an_argument(paths: Paths, address: str) -> None:
    token = journeys.TOKEN
    with pytest.raises(TelegramError, match="no user or password"):
        Bot(token, "1", address)
    done = run(
        paths.home, "--api", address, program=[str(ROOT / "agent_ledger" / "posture_daily.py")],
        env={"POSTURE_TELEGRAM_BOT_TOKEN": token, "POSTURE_TELEGRAM_CHAT_ID": "1"},
    )  # fmt: skip
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "geheim" not in done.err
    assert token not in done.err


def test_no_option_takes_a_credential() -> None:
    done = run(Path("/"), "--help", program=[str(ROOT / "agent_ledger" / "posture_daily.py")])
    assert done.code == 0
    options = {word.strip("[],") for word in done.out.split() if word.strip("[],").startswith("--")}
    assert options == {"--help", "--since", "--dry-run", "--api"}


def test_hermes_own_credentials_are_never_opened(journey: Journey) -> None:
    files = {str(journey.home / name) for name in journeys.CREDENTIALS}
    assert all(Path(file).is_file() for file in files)
    touched = {event["path"] for seen in journey.seen.values() for event in seen.events}
    assert not touched & files


def test_the_token_is_in_no_word_of_a_command_and_in_nothing_that_is_said(journey: Journey) -> None:
    secret = journeys.TOKEN.partition(":")[2]
    for seen in journey.seen.values():
        assert secret not in seen.out + seen.err
        assert not [event for event in seen.events if secret in " ".join(event.get("words", ()))]


def test_python_is_what_runs_the_tests() -> None:
    """The demonstration starts the interpreter it runs in, not one that it looks for."""
    assert process._PYTHON[:2] == (sys.executable, "-P")
