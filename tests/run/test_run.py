"""`run.py`: what it does to a machine, and what it says when it cannot."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]

Calls = list[list[str]]


class OldVersion(NamedTuple):
    major: int
    minor: int
    micro: int


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, its checkout a folder of its own."""
    spec = importlib.util.spec_from_file_location("run_script", ROOT / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    for name, place in (
        ("ROOT", tmp_path),
        ("VENV", venv),
        ("CACHE", tmp_path / ".cache"),
        ("STAMP", venv / "stamp.json"),
    ):
        monkeypatch.setattr(module, name, place)
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    (tmp_path / "constraints.txt").write_text("rich==15.0.0\n", encoding="utf-8")
    return module


@pytest.fixture
def commands(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Commands that would have run; each succeeds, and making a venv leaves an interpreter behind."""
    seen: Calls = []

    def pretend(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        seen.append([str(part) for part in command])
        if "venv" in command:
            python = run._tool("python")
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pretend)
    return seen


def exits_with(codes: dict[str, int], seen: Calls) -> Callable[[Sequence[str]], int]:
    def call(command: Sequence[str]) -> int:
        seen.append([Path(command[0]).name, *command[1:]])
        return codes.get(Path(command[0]).name, 0)

    return call


def test_wrong_words_are_answered_with_the_usage(run: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["deploy"]) == 2
    assert run.main([]) == 2
    assert capsys.readouterr().err.count("usage: python3 run.py demo") == 2


def test_an_old_python_is_named(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", OldVersion(3, 10, 4))
    assert run.main(["demo"]) == 3
    said = capsys.readouterr().err
    assert said.startswith("run.py: Python 3.11 or newer is needed, this is 3.10.4 (")
    assert said.count("\n") == 1


def test_a_python_without_ensurepip_is_told_what_to_install(
    run: ModuleType, commands: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run.main(["test"]) == 3
    assert "python3-venv" in capsys.readouterr().err
    assert commands == []


def test_what_is_there_is_not_made_again(run: ModuleType, commands: Calls) -> None:
    run.prepare("test")
    made, installed = commands
    assert made[1:4] == ["-m", "venv", "--clear"]
    assert installed[-4:] == [".[dev]", "--constraint", "constraints.txt", "--quiet"]
    commands.clear()
    run.prepare("test")
    run.prepare("demo")
    assert commands == []


def test_a_demo_environment_gets_the_test_tools_when_they_are_wanted(run: ModuleType, commands: Calls) -> None:
    run.prepare("demo")
    assert commands[-1][-4] == "."
    commands.clear()
    run.prepare("test")
    assert [command[-4] for command in commands] == [".[dev]"]


def test_a_changed_constraint_is_installed_into_the_same_environment(run: ModuleType, commands: Calls) -> None:
    run.prepare("demo")
    commands.clear()
    (run.ROOT / "constraints.txt").write_text("rich==15.0.1\n", encoding="utf-8")
    run.prepare("demo")
    assert ["venv" in command for command in commands] == [False]


def test_another_python_or_place_gets_a_new_environment(run: ModuleType, commands: Calls) -> None:
    run.prepare("demo")
    stamp = json.loads(run.STAMP.read_text())
    for name in ("python", "root"):
        commands.clear()
        run.STAMP.write_text(json.dumps({**stamp, name: "another"}))
        run.prepare("demo")
        assert ["venv" in command for command in commands] == [True, False]


def test_checks_run_in_order_and_end_with_a_plain_line(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: Calls = []
    monkeypatch.setattr(subprocess, "call", exits_with({}, seen))
    monkeypatch.chdir(run.ROOT)
    assert run.check(["-k", "one"]) == 0
    assert [command[:2] for command in seen] == [
        ["ruff", "check"],
        ["ruff", "format"],
        ["mypy"],
        ["lint-imports", "--cache-dir"],
        ["pytest", "-k"],
    ]
    assert capfd.readouterr().out.splitlines()[-1] == "run.py: all checks passed."


def test_the_first_failing_check_ends_the_run_with_its_exit_code(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: Calls = []
    monkeypatch.setattr(subprocess, "call", exits_with({"mypy": 2, "pytest": 1}, seen))
    monkeypatch.chdir(run.ROOT)
    assert run.check([]) == 2
    assert seen[-1] == ["mypy"]
    assert capfd.readouterr().out.splitlines()[-1] == "run.py: stopped, `mypy` ended with exit code 2."


def test_ci_and_readme_call_the_same_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "python3 run.py test " in readme
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec python3 run.py test")
