"""SQLite's log of a ledger that was removed: ours goes with it, that of the ledger in its place stays."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_ledger.engine import place
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.place import Place
from agent_ledger.engine.store import Store

from .children import Child
from .rounds import CALLS, FaultHome

NEXT = b"of the next ledger"


class Closing:
    """A connection behind whose closing something happens at once, as it does where another process is at work."""

    def __init__(self, connection: sqlite3.Connection, then: Callable[[], None]) -> None:
        self._connection, self._then = connection, then

    def close(self) -> None:
        self._connection.close()
        self._then()


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "home")


@pytest.fixture
def store(paths: Paths) -> Iterator[Store]:
    """A store with something in its log, whose ledger was replaced."""
    made = Store(paths, durability="normal")
    made.forget_merged("none")
    made.settle_in()
    assert made.is_in_place()
    os.unlink(paths.ledger)
    paths.ledger.touch(0o600)
    yield made
    made.close()


def log_of(paths: Paths) -> Path:
    return Path(f"{paths.ledger}-wal")


def pretend(monkeypatch: pytest.MonkeyPatch, path: Path, number: tuple[int, int] | None) -> None:
    """Let a path have the number of a file that is gone, as file systems give it to the next file."""
    real = place._inode
    monkeypatch.setattr(place, "_inode", lambda asked: number if asked == str(path) else real(asked))


def test_our_log_goes_before_a_new_ledger_can_be_made_beside_it(store: Store, paths: Paths) -> None:
    store.let_go()
    assert not log_of(paths).exists()
    assert [entry.name for entry in sorted(paths.data.iterdir())] == ["ledger.db", "ledger.lock"]


def test_the_next_log_stays_though_it_was_given_the_number_of_ours(
    store: Store, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(paths)
    ours = place._inode(str(log))

    def another_makes_its_log() -> None:
        log.write_bytes(NEXT)
        pretend(monkeypatch, log, ours)

    store.connection = Closing(store.connection, another_makes_its_log)  # type: ignore[assignment]  # it only closes
    store.let_go()
    assert log.read_bytes() == NEXT


def test_a_log_made_in_the_very_moment_in_which_ours_is_removed_is_put_back(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.data.mkdir(parents=True)
    paths.ledger.touch()
    log = log_of(paths)
    log.touch()
    watched = Place(paths.ledger)
    watched.learn()
    ours = place._inode(str(log))
    os.unlink(paths.ledger)
    os.rename(log, log.with_name("kept"))  # So that its number is not given away.
    log.write_bytes(NEXT)
    pretend(monkeypatch, log, ours)
    watched.remove_own_log()
    assert log.read_bytes() == NEXT
    assert sorted(entry.name for entry in paths.data.iterdir()) == ["kept", "ledger.db-wal"]


def test_a_new_ledger_shares_no_memory_with_one_that_was_removed_alone(fault_home: FaultHome) -> None:
    """A host still has the former one open; what it does to its log must not be done to that of the new one."""
    old = f"{CALLS}\nstart(); merged(); calls('early', 4); say('ready')\nsys.stdin.readline()\n"
    new = f"{CALLS}\nstart(); merged(); calls('new', 4); say('ready')\nsys.stdin.readline()\n"
    with fault_home.child(f"{old}turn(); calls('later', 4); say(merged())") as first:
        heard(fault_home, first, "ready")
        shared = Path(f"{fault_home.paths.ledger}-shm")
        before = shared.stat().st_ino
        os.unlink(fault_home.paths.ledger)
        with fault_home.child(new) as second:
            heard(fault_home, second, "ready")
            assert shared.stat().st_ino != before
            first.tell()
            heard(fault_home, first, "True")
            second.kill()
    fault_home.recover()
    fault_home.whole(apart={f"early-{n}" for n in range(4)})


def heard(home: FaultHome, child: Child, word: str) -> None:
    """Enter what a child announces until it says a word."""
    while (line := child.line()) != word:
        assert line, f"it ended before it said {word}"
        home.enter(line)


def test_the_log_beside_another_ledger_does_not_count_as_ours(paths: Paths) -> None:
    """As where the ledger is removed, and made anew by another process, while this one opens it."""
    paths.data.mkdir(parents=True)
    paths.ledger.touch()
    watched = Place(paths.ledger)
    os.rename(paths.ledger, paths.ledger.with_name("kept"))
    paths.ledger.touch()
    log_of(paths).write_bytes(NEXT)
    watched.learn()
    watched.remove_own_log()
    assert log_of(paths).read_bytes() == NEXT


def test_a_log_that_we_made_beside_another_ledger_is_ours_and_goes(paths: Paths) -> None:
    paths.data.mkdir(parents=True)
    paths.ledger.touch()
    watched = Place(paths.ledger)
    os.rename(paths.ledger, paths.ledger.with_name("kept"))
    paths.ledger.touch()
    with log_of(paths).open("wb"):
        watched.learn()
        assert not watched.unchanged()
        watched.remove_own_log()
    assert not log_of(paths).exists()
