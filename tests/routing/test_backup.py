"""The copy before a repair: whole, private, checked; where it cannot be made, nothing is touched."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger_tui.routing.repair import apply as applying
from ledger_tui.routing.repair import backup as backups
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.backup import make_backup, need_room
from ledger_tui.routing.repair.journal import alone, folder
from ledger_tui.routing.repair.refused import RefusedError
from tests.routing.corpus import case
from tests.routing.killed import ROOT
from tests.routing.stores import change, clock, digest, dump, planned, repaired

Place = tuple[Path, Path]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return case("incident-82616").lay_out(tmp_path)


@pytest.fixture
def reader(place: Place) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{place[1]}?mode=ro", uri=True, isolation_level=None)) as connection:
        yield connection


@pytest.fixture
def wide_open() -> Iterator[None]:
    """A umask that takes nothing away."""
    former = os.umask(0)
    yield
    os.umask(former)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_the_copy_holds_every_row(place: Place, reader: sqlite3.Connection, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    copy = make_backup(reader, tmp_path / "copy.db", copied=lambda done, total: seen.append((done, total)))
    assert copy.rows == {"sessions": 2, "messages": 810}
    assert copy.bytes == copy.path.stat().st_size
    assert dump(copy.path) == dump(place[1])
    assert seen[-1][0] == seen[-1][1] > 0


def test_rows_that_lie_in_the_log_are_in_the_copy(place: Place, tmp_path: Path) -> None:
    _, path = place
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL").fetchone()
        writer.execute("PRAGMA wal_autocheckpoint=0").fetchone()
        writer.execute("UPDATE sessions SET display_name = 'only in the log'")
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as connection:
            copy = make_backup(connection, tmp_path / "copy.db")
        with closing(sqlite3.connect(f"file:{copy.path}?mode=ro", uri=True)) as there:
            assert there.execute("SELECT DISTINCT display_name FROM sessions").fetchall() == [("only in the log",)]
            assert there.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert not Path(f"{copy.path}-wal").exists()


@pytest.mark.usefixtures("wide_open")
def test_private_from_the_first_moment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    home, path = place
    modes: set[int] = set()
    copying, replacing = backups._copy, os.replace

    def watched(connection: sqlite3.Connection, target: Path, copied: backups.Copied | None) -> None:
        modes.add(mode(target))
        copying(connection, target, copied)
        modes.add(mode(target))

    def replaced(source: Path, target: Path) -> None:
        modes.add(mode(source))
        replacing(source, target)

    monkeypatch.setattr(backups, "_copy", watched)
    monkeypatch.setattr(os, "replace", replaced)
    done = repaired(home, path)
    assert modes == {0o600}
    assert {mode(one) for one in folder(home).iterdir()} == {0o600}
    assert len(list(folder(home).iterdir())) == 3
    assert (mode(folder(home)), mode(folder(home).parent)) == (0o700, 0o700)
    assert done.backup.parent == folder(home)


def refused(place: Place) -> RefusedError:
    """What is said; the store is as it was, to the byte, and neither copy nor journal is there."""
    home, path = place
    plan = planned(home, path)
    before = digest(path)
    with pytest.raises(RefusedError) as caught:
        apply(path, home, plan, clock=clock, stopped_by="the test")
    assert digest(path) == before
    there = folder(home)
    left = [one.name for one in there.iterdir()] if there.is_dir() and not there.is_symlink() else []
    assert set(left) <= {"lock"}
    return caught.value


def test_no_room(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "need_room", lambda reader, there: need_room(reader, there, free=lambda _: 1_000_000))
    assert "1 MB are free" in str(refused(place))


def test_a_disk_that_fills_up_while_the_copy_is_written(place: Place) -> None:
    """In a process that may write no file of more than 100 kB; the store has 180."""
    home, path = place
    before = digest(path)
    script = (
        "import sys; from pathlib import Path; from tests.routing.stores import clock, planned\n"
        "from ledger_tui.routing.repair.apply import apply\n"
        "from ledger_tui.routing.repair.refused import RefusedError\n"
        "path, home = map(Path, sys.argv[1:])\n"
        "try:\n    apply(path, home, planned(home, path), clock=clock, stopped_by='the test')\n"
        "except RefusedError as error:\n    print(error)\n"
    )

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-c", script, path, home],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=limited, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert done.stdout.startswith("The backup ")
    assert "cannot be written" in done.stdout
    assert done.stdout.count("\n") == 1
    assert digest(path) == before
    assert [one.name for one in folder(home).iterdir()] == ["lock"]


def test_a_folder_that_is_a_link(place: Place, tmp_path: Path) -> None:
    home, _ = place
    (tmp_path / "elsewhere").mkdir()
    folder(home).parent.mkdir(parents=True)
    folder(home).symlink_to(tmp_path / "elsewhere")
    assert "is not a folder of this user" in str(refused(place))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_where_the_folder_should_be(place: Place) -> None:
    home, _ = place
    folder(home).parent.mkdir(parents=True)
    folder(home).write_text("in the way", encoding="utf-8")
    assert "cannot be used" in str(refused(place))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights(place: Place) -> None:
    home, _ = place
    folder(home).mkdir(parents=True, mode=0o700)
    folder(home).parent.chmod(0o700)
    folder(home).chmod(0o500)
    assert "Permission denied" in str(refused(place))


def test_a_folder_that_says_no(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, wanted: not str(path).endswith("repairs") and asked(path, wanted))
    assert "Permission denied" in str(refused(place))


@pytest.mark.parametrize("what", ["state.db", "home"])
def test_a_store_that_this_user_may_not_write(place: Place, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Said before the copy is made: of a large store that takes minutes."""
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, wanted: Path(path).name != what and asked(path, wanted))
    monkeypatch.setattr(applying, "make_backup", lambda *_, **__: pytest.fail("no copy was to be made"))
    assert str(refused(place)).startswith("This user may not write ")


def test_a_journal_that_cannot_be_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert str(refused(place)).startswith("The journal cannot be written (No space left on device)")


def test_a_name_that_is_taken(reader: sqlite3.Connection, tmp_path: Path) -> None:
    taken = tmp_path / "copy.db"
    taken.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(RefusedError, match="cannot be made"):
        make_backup(reader, taken)
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_damaged_store_is_not_copied_and_called_good(place: Place) -> None:
    home, path = place
    change(path, "PRAGMA writable_schema=ON")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        # The index says that it is sorted the other way round.
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'started_at DESC', 'started_at ASC') WHERE type = 'index'"
        )
        assert connection.total_changes > 0
    assert "is damaged" in str(refused((home, path)))


def test_another_repair_under_way(place: Place) -> None:
    home, path = place
    with alone(home), pytest.raises(RefusedError, match="Another repair"):
        repaired(home, path)
