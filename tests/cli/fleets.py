"""Several homes with calls in them, for the commands that answer about all at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from agent_ledger.engine.paths import Paths

from .conftest import NOW, make_ledger


def home_with(path: Path, *rows: dict[str, Any]) -> Path:
    """A home with these rows in its ledger; each is as `Ledger.add` takes it, with `at` in seconds before `NOW`."""
    path.mkdir(parents=True, exist_ok=True)
    made = make_ledger(Paths(path).ledger)
    with closing(made.connection):
        for row in rows:
            made.add(**{**row, "at": NOW - row.get("at", 60)})
    return path


def two_profiles(home: Path) -> None:
    """`home` with a ghost, its profiles `work` with a lost and a settled call, and `idle` without a ledger."""
    home_with(home, {"status": "GHOST_REPORTED", "at": 300, "tool_name": "terminal"})
    lost = {"status": "PENDING", "at": 400, "tool_name": "cronjob"}
    home_with(home / "profiles" / "work", lost, {"at": 200})
    (home / "profiles" / "idle").mkdir()


def broken(path: Path) -> Path:
    """A home whose ledger is no database."""
    paths = Paths(path)
    paths.data.mkdir(parents=True, mode=0o700)
    paths.ledger.write_bytes(b"no database" * 100)
    return path
