"""An engine for all tests, a schema of its own for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.chain.ledgers import Made

from .engines import Engine

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Engine]:
    engine = Engine()
    try:
        yield engine
    finally:
        engine.end()


@pytest.fixture
def url(server: Engine) -> str:
    server.start()  # A test that failed while it was down fails alone.
    name = f"t{next(_numbers)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server.url()}&options=-csearch_path%3D{name}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "plugin-data" / "agent-ledger").mkdir(parents=True)
    for one in (folder / "plugin-data", folder / "plugin-data" / "agent-ledger"):
        one.chmod(0o700)
    return folder


@pytest.fixture
def path(home: Path) -> Path:
    return home / "plugin-data" / "agent-ledger" / "ledger.db"


@pytest.fixture
def made(path: Path) -> Iterator[Made]:
    """A ledger with the process that writes to it."""
    ledger = Made(path)
    path.chmod(0o600)
    ledger.do(
        "PRAGMA journal_mode=WAL",
        "INSERT INTO writer(pid, started, boot_id, pid_namespace, machine, opened_ts)"
        " VALUES(4711, 'then', 'boot', 'space', 'elsewhere', '2026-01-02T11:00:00.000Z')",
    )
    yield ledger
    ledger.db.close()


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, which is empty again afterwards."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
