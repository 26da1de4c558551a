"""The scripts as a person starts them: from the plugin's folder, whatever it is called, with the standard library."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths, private_folder

from .ledgers import BEGIN, CLOUD_KEY, WIPE, command, ledger

SOURCE = Path(__file__).resolve().parents[2] / "agent_ledger"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The plugin's folder as it lies in a home."""
    target = tmp_path / "home" / "plugins" / "agent-ledger"
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"HERMES_HOME": str(folder.parents[1]), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-I" if words[0].endswith(".py") else "-s", *words],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def live(folder: Path) -> Path:
    paths = Paths(folder.parents[1])
    private_folder(paths.data)
    return ledger(paths.ledger, [command(1, WIPE), command(2, CLOUD_KEY)])


def test_the_live_ledger(folder: Path, live: Path) -> None:
    done = run(folder, "posture.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(live) in done.stdout
    assert "Score   60," in done.stdout


@pytest.mark.parametrize("script", [["posture.py"], ["posture_daily.py", "--dry-run"]])
def test_a_home_without_a_ledger(folder: Path, script: list[str]) -> None:
    """A mistyped HERMES_HOME must not read like a quiet day."""
    done = run(folder, *script)
    assert (done.returncode, done.stderr) == (0, "")
    assert "There is no score, since nothing was recorded.\nThis file is not there: no call" in done.stdout
    assert "HERMES_HOME" in done.stdout


@pytest.mark.parametrize("script", [["posture.py"], ["posture_daily.py", "--dry-run"]])
def test_a_ledger_without_a_call(folder: Path, script: list[str]) -> None:
    paths = Paths(folder.parents[1])
    private_folder(paths.data)
    ledger(paths.ledger, [])
    done = run(folder, *script)
    assert (done.returncode, done.stderr) == (0, "")
    assert "There is no score, since nothing was recorded.\n\n" in done.stdout
    assert "not there" not in done.stdout


def test_the_module_form(folder: Path, tmp_path: Path) -> None:
    path = ledger(tmp_path / "copy.db", [command(1, WIPE)])
    done = run(folder, "-m", "posture", str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["score"] == 75


def test_the_daily_report(folder: Path, live: Path) -> None:
    done = run(folder, "posture_daily.py", "--since", "2026-01-01", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Score 60: 2 calls, 2 findings" in done.stdout


def test_a_home_without_a_ledger_has_no_score(folder: Path) -> None:
    done = run(folder, "posture.py")
    assert done.returncode == 0
    assert "There is no score" in done.stdout


def test_since(folder: Path, live: Path) -> None:
    after_the_first = "2026-05-28T20:28:00Z"
    assert json.loads(run(folder, "posture.py", "--json", "--since", after_the_first).stdout)["score"] == 85
    assert BEGIN + 60 < 1_780_000_080 < BEGIN + 120
    assert run(folder, "posture.py", "--since", "soon").returncode == 2


@pytest.mark.parametrize("content", [None, b"no database at all" * 100, b""])
def test_files_that_are_no_ledger(folder: Path, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other.db"
    if content is not None:
        path.write_bytes(content)
    done = run(folder, "posture.py", str(path))
    assert done.returncode == (0 if content == b"" else 3)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (0 if content == b"" else 1)


def test_a_database_without_a_ledger(folder: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE notes(id INTEGER)")
    connection.close()
    done = run(folder, "posture.py", str(tmp_path / "other.db"))
    assert done.returncode == 3
    assert "without a ledger" in done.stderr


def test_a_ledger_of_five_columns_by_other_software(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)"
    )
    arguments = json.dumps({"command": WIPE})
    connection.execute("INSERT INTO ledger VALUES(1, 1780000000.5, 'terminal', 'CONFIRMED', ?)", (arguments,))
    connection.commit()
    connection.close()
    before = path.read_bytes()
    (found,) = json.loads(run(folder, "posture.py", str(path), "--json").stdout)["findings"]
    assert (found["rule"], found["session_id"], found["ledger_id"]) == ("recursive-delete", None, 1)
    assert path.read_bytes() == before
    assert sorted(tmp_path.glob("other.db*")) == [path]
