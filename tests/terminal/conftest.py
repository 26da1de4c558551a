"""The hostile homes, made once, and a copy of them for whoever changes something."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.cli import run

from .homes import current, plant, spoil


@dataclass(frozen=True)
class Planted:
    folder: Path
    notices: tuple[str, ...]
    """What the agent was told by the hooks of the first home."""


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Two homes: `planted`, where all can be read, and `spoilt`, where nothing can."""
    folder = tmp_path_factory.mktemp("hostile")
    notices = plant(folder / "planted")
    spoil(folder / "spoilt")
    return Planted(folder, tuple(notices))


@pytest.fixture
def home(planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Copies one of the two and makes it the current home."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def copy(name: str) -> Path:
        made = tmp_path / name
        shutil.copytree(planted.folder / name, made, symlinks=True)
        monkeypatch.setenv("HERMES_HOME", str(made))
        return made

    return copy


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Runs one command line of ours in this process, in the current home unless another is given."""
    monkeypatch.delenv("LEDGER_TUI_DEBUG", raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def told(*words: str, home: Path | None = None) -> Said:
        capsys.readouterr()
        if home is None:
            code = run(list(words))
        else:
            with current(home):
                code = run(list(words))
        return Said(code, *capsys.readouterr())

    return told
