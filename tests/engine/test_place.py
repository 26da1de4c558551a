"""A ledger at its path: noticed when it was replaced, however times are kept, and spared when it cannot be seen."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_ledger.engine.place import Place, private_ledger

SECOND = 1_000_000_000
AT = 1_790_000_000 * SECOND


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("ledger.db", "ledger.db-wal"):
        (folder / name).touch()
    return folder / "ledger.db"


def watched(ledger: Path) -> Place:
    place = Place(ledger)
    place.learn()
    return place


def replace(ledger: Path) -> None:
    other = ledger.with_name("restored")
    other.touch()
    os.replace(other, ledger)


def test_a_restore_that_keeps_the_times_of_folders_is_noticed(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, folder = watched(ledger), ledger.parent
    before = folder.stat()
    with monkeypatch.context() as later:
        later.setattr(time, "time_ns", lambda: before.st_ctime_ns + 10 * SECOND)
        assert place.unchanged()
    replace(ledger)
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    while folder.stat().st_ctime_ns == before.st_ctime_ns:  # The system's own time of a change is a coarse one.
        os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert folder.stat().st_mtime_ns == before.st_mtime_ns
    assert not place.unchanged()


@pytest.mark.parametrize(
    ("changed_ns", "since_ns", "trusted"),
    [
        (AT, 1_900_000_000, False),
        (AT, 2_200_000_000, True),
        (AT + 4_000_000, 40_000_000, False),
        (AT + 4_000_000, 60_000_000, True),
    ],
)
def test_a_time_is_trusted_once_a_later_change_would_have_another(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, changed_ns: int, since_ns: int, trusted: bool
) -> None:
    """Some file systems keep whole seconds, or every other one. What is trusted costs one look."""
    place, real = watched(ledger), os.stat
    looked: list[str] = []

    def stat(path: Any, **given: Any) -> Any:
        looked.append(Path(path).name)
        if Path(path) == ledger.parent:
            return SimpleNamespace(st_mtime_ns=changed_ns, st_ctime_ns=changed_ns)
        return real(path, **given)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(time, "time_ns", lambda: changed_ns + since_ns)
    assert place.unchanged()
    looked.clear()
    assert place.unchanged()
    assert looked == (["data"] if trusted else ["data", "ledger.db", "ledger.db-wal"])
    if not trusted:
        replace(ledger)
        assert not place.unchanged()


def test_a_ledger_that_cannot_be_looked_at_is_not_taken_for_removed(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may have it open, with the memory that they share."""
    shared = ledger.with_name("ledger.db-shm")
    shared.touch()
    real = os.lstat

    def lstat(path: Any, **given: Any) -> Any:
        if Path(path) == ledger:
            raise OSError(errno.ESTALE, "the server lost it for a moment")
        return real(path, **given)

    with monkeypatch.context() as blind:
        blind.setattr(os, "lstat", lstat)
        with pytest.raises(OSError, match="for a moment"):
            private_ledger(ledger)
    assert shared.exists()
    ledger.unlink()
    private_ledger(ledger)
    assert not shared.exists()
    assert ledger.stat().st_mode & 0o777 == 0o600


def test_the_log_of_another_ledger_is_spared_beside_what_a_crashed_process_of_our_number_left(ledger: Path) -> None:
    place, log = watched(ledger), ledger.with_name("ledger.db-wal")
    replace(ledger)
    log.rename(ledger.with_name("kept"))
    log.write_bytes(b"of the other ledger")
    left = ledger.with_name(f"ledger.db-wal.{os.getpid()}")
    left.touch()
    with place.sparing_logs_of_others():
        log.unlink()  # As SQLite does at closing.
    assert log.read_bytes() == b"of the other ledger"
    left.unlink()
    assert sorted(path.name for path in ledger.parent.iterdir()) == ["kept", "ledger.db", "ledger.db-wal"]
