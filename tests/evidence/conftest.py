"""A home to look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ledger.engine.evidence import files, terminal_archives, terminal_files, terminal_git, terminal_installs

from .makers import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The call is a minute before what the test does, so what counts as at once is longer here. The tests of the
    judging by itself have the real spans."""
    for module in (files, terminal_files, terminal_archives, terminal_git):
        monkeypatch.setattr(module, "AT_ONCE_S", 300.0)
    monkeypatch.setattr(files, "SOON_S", 300.0)
    monkeypatch.setattr(terminal_git, "PUSH_S", 300.0)
    monkeypatch.setattr(terminal_installs, "SOON_S", 300.0)
    return World(tmp_path)
