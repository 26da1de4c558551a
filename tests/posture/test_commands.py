"""`posture`, `export posture`, and what `status` says of the posture."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths, private_folder
from agent_ledger.engine.posture import LIMITS
from ledger_tui import cli
from ledger_tui.commands import status

from .ledgers import CLOUD_KEY, WIPE, command, ledger


@pytest.fixture
def home(tmp_path: Path) -> Path:
    paths = Paths(tmp_path / "home")
    private_folder(paths.data)
    ledger(paths.ledger, [command(1, WIPE), command(2, "ls -la"), command(3, CLOUD_KEY)])
    return paths.home


class Program:
    """Runs commands on one home."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self.capsys = home, capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        code = cli.run(["--hermes-home", str(self.home), *words])
        self.err = ""
        out, self.err = self.capsys.readouterr()
        return code, out


@pytest.fixture
def program(home: Path, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(home, capsys)


def test_posture(program: Program) -> None:
    code, out = program("posture", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["score"] == 60
    assert document["trust"] == list(LIMITS)
    code, out = program("posture")
    assert code == 0
    assert "Score   60, from 3 recorded calls and 2 findings" in out


def test_another_ledger_and_a_time(program: Program, tmp_path: Path) -> None:
    path = ledger(tmp_path / "other.db", [command(1, WIPE)])
    assert json.loads(program("posture", str(path), "--json")[1])["score"] == 75
    assert json.loads(program("posture", "--json", "--since", "2026-05-28T20:28:00")[1])["score"] == 85
    assert json.loads(program("posture", "--json", "--since", "2026-05-29")[1])["score"] is None
    assert program("posture", str(tmp_path / "none.db")) == (3, "")
    assert "none.db" in program.err
    assert program("posture", "--since", "soon")[0] == 2


def test_a_home_without_a_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new").mkdir()
    code, out = Program(tmp_path / "new", capsys)("posture", "--json")
    assert (code, json.loads(out)["score"]) == (0, None)


def test_status(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(program("status", "--json")[1])["posture"] == {"score": 60, "findings": 2}
    assert "posture   60 with 2 findings" in program("status")[1]
    monkeypatch.setattr(status, "SCORED_AT_ONCE", 2)
    assert json.loads(program("status", "--json")[1])["posture"] == {"score": None, "findings": None}
    code, out = program("status", "--json", "--fail-on", "finding")
    assert (code, json.loads(out)["posture"]) == (1, {"score": 60, "findings": 2})
    assert program("status", "--tmux", "--fail-on", "finding")[0] == 1


def test_status_of_quiet_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ledger(tmp_path / "quiet.db", [command(1, "ls")])
    code = cli.run(["--hermes-home", str(tmp_path), "--ledger", str(path), "status", "--fail-on", "finding"])
    assert code == 0
    assert "posture   100 with 0 findings" in capsys.readouterr().out


def test_export(program: Program, tmp_path: Path) -> None:
    lines = list(csv.DictReader(io.StringIO(program("export", "posture", "--format", "csv")[1])))
    assert [(line["rule"], line["weight"], line["left"]) for line in lines] == [
        ("recursive-delete", "25", "75"), ("credential-read", "15", "60")
    ]  # fmt: skip
    assert json.loads(program("export", "posture", "--format", "json")[1])["score"] == 60
    out = program("export", "posture", "--format", "md")[1]
    assert out.startswith("# Posture: 60\n")
    assert "tidy habits" in out
    file = tmp_path / "week.md"
    for format_name in ("md", "json", "csv"):  # Each replaces the one before, as an earlier export of ours.
        assert program("export", "posture", "--format", format_name, "-o", str(file), "--force")[0] == 0, program.err
    assert file.read_text(encoding="utf-8").startswith("ledger_id,ts,")
    assert program("export", "posture", "--format", "csv", "-o", str(file))[0] == 4
    assert program("export", "posture", "--format", "pdf")[0] == 2
