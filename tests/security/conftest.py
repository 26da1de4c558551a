"""A home with the plugin's hooks in it, and nothing of this machine's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from tests.engine.homes import Home


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the home of this user nor the common temporary folder is touched, whatever a test forgets."""
    for name in ("TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Of a home that is there and empty."""
    (tmp_path / "home").mkdir(mode=0o755)
    return Paths(tmp_path / "home")


@pytest.fixture
def home(paths: Paths) -> Iterator[Home]:
    made = Home(paths.home)
    yield made
    made.close()
