"""A home to look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from .makers import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
