"""Homes that a demonstration made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui.demo import command

Row = dict[str, Any]


def make(home: Path, *, scenario: str | None = None, seed: int = 1) -> Path:
    made = command.run(scenario=scenario, home=home, seed=seed, speed=1.0, headless=True, duration=None)
    assert made == home
    return home


def select(path: Path, sql: str, *values: object) -> list[Row]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values).fetchall()]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default scenario's history. Read only."""
    return make(tmp_path_factory.mktemp("demo") / "home")


@pytest.fixture
def ledger(home: Path) -> Callable[..., list[Row]]:
    return lambda sql, *values: select(Paths(home).ledger, sql, *values)


@pytest.fixture
def state(home: Path) -> Callable[..., list[Row]]:
    return lambda sql, *values: select(Paths(home).state, sql, *values)
