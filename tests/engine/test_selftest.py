"""The self-test as a person runs it: from the plugin's folder, whatever that is called, and from a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

DOORS_ONLY = "no Hermes in this Python: checked against the plugin's own doors only"


def run(folder: Path, *command: str) -> tuple[int, list[str], str]:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "HERMES_HOME": str(folder / "a home of mine")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "agent-ledger"
    shutil.copytree(ROOT / "agent_ledger", copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_sound_plugin_passes_and_nothing_is_left_behind(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    code, lines, errors = run(folder, "selftest.py")
    assert (code, errors) == (0, "")
    assert [line[:6] for line in lines[:-1]] == ["ok    "] * 9
    assert lines[-1] == DOORS_ONLY
    assert sorted(folder.rglob("*")) == before


def test_it_runs_as_a_module_too() -> None:
    code, lines, _ = run(ROOT, "-m", "agent_ledger.selftest")
    assert (code, lines[-1]) == (0, DOORS_ONLY)


def failures(folder: Path) -> list[str]:
    code, lines, _ = run(folder, "selftest.py")
    assert code == 1
    return [line for line in lines if line.startswith("FAIL")]


def test_recording_what_only_reads_is_noticed(folder: Path) -> None:
    change(folder / "engine" / "tools.py", '        "web_search",\n', "")
    (line,) = failures(folder)
    assert "only tools that change something are recorded: the rows are ['CONFIRMED', 'PENDING'" in line


def test_a_notice_that_is_not_handed_over_is_noticed(folder: Path) -> None:
    change(folder / "__init__.py", 'return {"context": text} if text else None', "return None")
    assert [line[:22] for line in failures(folder)] == ["FAIL  a call that was ", "FAIL  a ghost that is "]


def test_a_missing_hook_is_noticed(folder: Path) -> None:
    change(folder / "__init__.py", '    ctx.register_hook("post_tool_call", post_tool_call)\n', "")
    lines = failures(folder)
    assert lines[0].startswith("FAIL  the host loads the plugin")
    assert "['on_session_start', 'pre_llm_call', 'pre_tool_call']" in lines[0]


def test_a_plugin_that_does_not_load_is_said_in_one_line(folder: Path) -> None:
    change(folder / "__init__.py", "def register(ctx: Any) -> None:\n", "def register() -> None:\n    ctx = None\n")
    (line,) = failures(folder)
    assert line.startswith("FAIL  the host loads the plugin")
    assert "TypeError" in line


def test_a_command_that_shows_calls_to_nobody_in_particular_is_noticed(folder: Path) -> None:
    change(folder / "chat.py", "return short_words.NOT_TOLD", 'return "#1 terminal"')
    (line,) = failures(folder)
    assert "/ledger told nobody '#1 terminal'" in line
