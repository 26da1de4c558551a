"""A fresh home for each test, and the door's memory cleaned up behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .homes import Home


@pytest.fixture
def new_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Home]]:
    """Makes a home under a name and makes it the current one."""
    made: list[Home] = []
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def make(name: str) -> Home:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setenv("HERMES_HOME", str(folder))
        home = Home(folder)
        made.append(home)
        return home

    yield make
    for home in made:
        home.close()


@pytest.fixture
def home(new_home: Callable[[str], Home]) -> Home:
    return new_home("home")
