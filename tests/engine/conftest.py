"""A fresh home for each test, and the door's memory cleaned up behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .chats import KEY, OTHER, Store
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


@pytest.fixture
def store(home: Home) -> Store:
    return Store(home.folder)


@pytest.fixture
def lived(home: Home, store: Store) -> Home:
    """Two chats; the first has been rotated by a compaction and has lost a call, in a script another one."""
    store.session("s0", KEY, 10.0, ended_at=20.0, end_reason="compression")
    store.session("s1", KEY, 20.0, parent_session_id="s0")
    store.session("s9", OTHER, 15.0)
    store.route(KEY, "s1")
    store.route(OTHER, "s9")
    home.pre(session_id="s0", call="a")
    home.post(session_id="s0", call="a")
    home.pre("terminal", {"command": "git -C thesis push origin ch3"}, call="b")
    home.pre("patch", {"path": "nested"}, call="", session_id="", turn_id="", task_id="s1")
    home.pre("terminal", {"command": "the other chat's own"}, session_id="s9", call="c")
    home.merged()
    return home
