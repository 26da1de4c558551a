"""A home with the plugin's hooks in it, and nothing of this machine's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from tests.engine.homes import Home
from tests.ship.engines import Engine

from .journey import Journey, travelled


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


@pytest.fixture(scope="session")
def server() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.end()


@pytest.fixture(scope="session")
def journey(tmp_path_factory: pytest.TempPathFactory, server: Engine) -> Iterator[Journey]:
    """Made once: it takes some seconds. What it holds is a record; its home may be used further."""
    root = tmp_path_factory.mktemp("journey")
    yield travelled(root, server.url())
    shutil.rmtree(root)
