"""The app over files that break: it lives on, marks what it still shows, and goes on by itself with a sound file."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from .children import Nursery
from .rounds import DAMAGE, dice, flip, overwrite
from .screens import KEYS, Stage, write_a_log

UNREADABLE, STALE = "✕ unreadable", "▲ stale"

GONE = "what is shown was read before"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    made.close()


def no_database(path: Path, _: random.Random) -> None:
    path.write_bytes(b"certainly no database " * 200)


def removed(path: Path, _: random.Random) -> None:
    path.unlink()


def folder_in_its_place(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def pipe_in_its_place(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def link_to_nowhere(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to("nowhere.db")


def link_to_itself(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to(path)


def head_overwritten(path: Path, _: random.Random) -> None:
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)


def tables_of_somebody_else(path: Path, _: random.Random) -> None:
    other = path.with_name("other.db")
    other.unlink(missing_ok=True)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE recipes(name, butter)")
    os.replace(other, path)


LOCK = """
db = sqlite3.connect(os.environ["TARGET"], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
db.execute("INSERT INTO ledger(ts, tool_name, args_json, status, grace_s, changed)"
           " SELECT ts, tool_name, 'make of-the-holder', status, grace_s, changed + 1 FROM ledger"
           " ORDER BY id DESC LIMIT 1")
say("locked")
sys.stdin.readline()
db.execute("COMMIT")
db.close()
"""

SURE = {
    no_database: UNREADABLE, removed: STALE, folder_in_its_place: UNREADABLE, pipe_in_its_place: UNREADABLE,
    link_to_nowhere: STALE, link_to_itself: UNREADABLE, head_overwritten: UNREADABLE,
}  # fmt: skip
"""Harm that cannot be overlooked, and the mark that comes of it."""

UNSURE = (*DAMAGE, tables_of_somebody_else)
"""Harm that may be overlooked, or seen later, or make another file of it."""

UNCUT = (flip, overwrite)
"""Whoever cuts a `-shm` ends every process that has the database open: the system does that (SIGBUS), not SQLite."""


@pytest.mark.rounds(8)
def test_a_ledger_breaks_under_the_app(stage: Stage, seed: int) -> None:
    thrown = dice(seed, "ledger")
    mode = thrown.choice(("delete", "wal"))
    word = stage.good_ledger(mode)
    stage.show("1")
    stage.until("● live", word)

    harm, mark = thrown.choice(list(SURE.items()))
    harm(stage.ledger, thrown)
    seen = stage.until(mark, GONE)
    assert word in seen, f"{harm.__name__} took away what was read: {seen}"
    stage.show(thrown.choice(KEYS[1:]))
    stage.show("1")
    stage.until(mark, word)

    word = stage.good_ledger(mode)
    stage.until("● live", word)
    assert GONE not in stage.text()


@pytest.mark.rounds(6)
def test_a_ledger_is_damaged_under_the_app(stage: Stage, seed: int) -> None:
    """Where nobody can foretell what will be seen of it."""
    thrown = dice(seed, "damage")
    mode = thrown.choice(("delete", "wal"))
    word = stage.good_ledger(mode)
    stage.show("1")
    stage.until("● live", word)
    close = write_a_log(stage.ledger) if mode == "wal" else lambda: None
    for _ in range(thrown.randint(1, 3)):
        end = thrown.choice(("", "", "-wal", "-shm"))
        target = Path(f"{stage.ledger}{end}")
        if target.is_file():
            thrown.choice(UNSURE if not end else UNCUT if end == "-shm" else DAMAGE)(target, thrown)
        stage.terminal.send(*thrown.choices("gGjk", k=3))
    stage.goes_round()
    close()

    word = stage.good_ledger(mode)
    stage.until("● live", word)


@pytest.mark.rounds(1)
def test_somebody_locks_the_ledger(stage: Stage, nursery: Nursery, seed: int) -> None:
    word = stage.good_ledger("delete")
    stage.show("1")
    stage.until("● live", word)
    with nursery.child(LOCK, TARGET=str(stage.ledger)) as child:
        assert child.line() == "locked"
        seen = stage.until(STALE, "is locked by another process")
        assert word in seen
        child.tell()
        assert child.end().code == 0
    stage.until("● live", "make of-the-holder")


@pytest.mark.rounds(2)
def test_a_session_store_breaks_under_the_app(stage: Stage, seed: int) -> None:
    thrown = dice(seed, "state")
    mode = thrown.choice(("delete", "wal"))
    stage.good_ledger("wal")
    title = stage.good_state(mode)
    stage.show("3")
    stage.until("● live", title)

    harm, mark = thrown.choice(list(SURE.items()))
    harm(stage.state, thrown)
    seen = stage.until(mark, GONE)
    assert title in seen, f"{harm.__name__} took away what was read: {seen}"
    stage.show("5")
    stage.until(mark)
    stage.show("3")
    stage.until(mark, title)

    title = stage.good_state(mode)
    stage.until("● live", title)


@pytest.mark.rounds(2)
def test_a_session_store_is_damaged_under_the_app(stage: Stage, seed: int) -> None:
    """Where nobody can foretell what will be seen of it: on the screens that read all of it, and in its details."""
    thrown = dice(seed, "state damage")
    mode = thrown.choice(("delete", "wal"))
    title = stage.good_state(mode)
    stage.show("3")
    stage.until("● live", title)
    for _ in range(thrown.randint(1, 4)):
        thrown.choice(DAMAGE)(stage.state, thrown)
    stage.terminal.send(*thrown.choices("gGjk", k=3), "Enter")
    stage.goes_round()
    stage.show(thrown.choice("35"))

    title = stage.good_state(mode)
    stage.show("3")
    stage.until("● live", title)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def bytes_of_no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00\x80" * 500)


def nested_deeply(path: Path) -> None:
    path.write_text("[" * 200_000, encoding="ascii")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


BESIDE = {
    "policy.json": "4", "policy_mode": "4", "prompt_policy.json": "4", "prompt_policy_mode": "4", "ignored.json": "3",
    "settings.json": "1", "spool/unreadable.txt": "1", "repairs/20260809T180100Z-abcd.json": "5", "repairs": "5",
}  # fmt: skip
"""Files and folders beside the ledger, and the screen that shows most of each."""


@pytest.mark.rounds(4)
def test_what_lies_beside_the_ledger_is_not_what_it_should_be(stage: Stage, seed: int) -> None:
    thrown = dice(seed, "beside")
    name, key = thrown.choice(list(BESIDE.items()))
    target = stage.ledger.parent / name
    shutil.rmtree(stage.ledger.parent / "repairs", ignore_errors=True)
    target.parent.mkdir(exist_ok=True)
    stage.good_state("wal")
    stage.show(key)
    thrown.choice((endless, bytes_of_no_text, nested_deeply, pipe, folder))(target)
    stage.goes_round()
    stage.show(key)
    word = stage.good_ledger("wal")
    stage.show("1")
    stage.until(word)
    shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()
    stage.until("● live", word)
