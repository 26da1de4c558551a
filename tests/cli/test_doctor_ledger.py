"""`doctor` on the ledger itself: damage, what is missing, what was changed, who holds it, and when it was written."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.commands.checks import held, ledger, record

from .sound_homes import CALLS, SoundHome

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lists of locks and open files are Linux'")


def log_of(path: Path) -> bytes:
    """A log with one page in it, as it stands beside a ledger that is open."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t(x)")
    log = Path(f"{path}-wal").read_bytes()
    connection.close()
    return log


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["gone", "empty"])
def test_a_log_without_its_ledger(sound: SoundHome, tmp_path: Path, what: str) -> None:
    for file in sound.data.glob("ledger.db*"):
        file.unlink()
    log = Path(f"{sound.paths.ledger}-wal")
    log.write_bytes(log_of(tmp_path / "other.db"))
    log.chmod(0o600)
    if what == "empty":
        sound.paths.ledger.touch(mode=0o600)
    found = sound.examined()["ledger"]
    assert (found.state, f"is {what}, while {log}" in found.text) == ("fail", True)
    assert found.remedy.startswith("Stop Hermes at once")
    assert log.exists(), "asking must not take it away"


def test_a_ledger_that_became_a_view_cannot_be_written(sound: SoundHome) -> None:
    with sqlite3.connect(sound.paths.ledger) as db:
        db.execute("ALTER TABLE ledger RENAME TO kept")
        db.execute("CREATE VIEW ledger AS SELECT * FROM kept")
    db.close()
    found = sound.examined()["schema"]
    assert (found.state, "`ledger` is a view, not a table" in found.text) == ("fail", True)


@pytest.mark.parametrize(
    ("columns", "words"), [(("workplace",), "1 column."), (("workplace", "no_signal"), "2 columns.")]
)
def test_columns_that_are_missing_are_counted(sound: SoundHome, columns: tuple[str, ...], words: str) -> None:
    with sqlite3.connect(sound.paths.ledger) as db:
        for name in columns:
            db.execute(f"ALTER TABLE ledger DROP COLUMN {name}")
    db.close()
    found = sound.examined()["schema"]
    assert (found.state, found.text) == ("warn", f"The ledger is of an older version: it lacks {words}")


@pytest.mark.parametrize("left", [0.5, 0.1])
def test_a_ledger_that_was_cut_off(sound: SoundHome, left: float) -> None:
    size = sound.paths.ledger.stat().st_size
    os.truncate(sound.paths.ledger, int(size * left))
    troubles = sound.troubles()
    assert "fail" in (troubles.get("ledger"), troubles.get("integrity"))


def test_no_database(sound: SoundHome) -> None:
    sound.paths.ledger.write_bytes(b"\0once upon a time" * 400)
    found = sound.examined()["ledger"]
    assert (found.state, "no SQLite database" in found.text) == ("fail", True)


def test_bits_that_flipped_in_the_middle_of_a_page(sound: SoundHome) -> None:
    with sound.paths.ledger.open("r+b") as file:
        data = file.read()
        at = data.rindex(b"write_file") + 2
        file.seek(at)
        file.write(bytes([data[at] ^ 0x20]))
    found = sound.examined()
    assert found["chain"].state == "fail"


# -- the chain --------------------------------------------------------------------------------------------------------


def test_a_whole_chain(sound: SoundHome) -> None:
    found = sound.examined()["chain"]
    assert (found.state, f"Every one of {2 * CALLS} records" in found.text) == ("ok", True)


@pytest.mark.parametrize(
    ("change", "state", "words"),
    [
        ("UPDATE ledger SET tool_name = 'read_file' WHERE id = 5", "fail", "Call #5 is not as it was recorded"),
        ("DELETE FROM ledger WHERE id = 5", "fail", "Call #5 is gone"),
        ("DELETE FROM ledger WHERE id IN (4, 7)", "fail", "and 1 more place does not fit."),
        (f"DELETE FROM ledger WHERE id = {CALLS}", "fail", f"Call #{CALLS} is gone from the end"),
        ("DELETE FROM ledger WHERE id < 5", "ok", "4 older calls were taken out by hand"),
        ("UPDATE ledger SET issue_seal = NULL, settle_seal = NULL", "unknown", f"None of {CALLS} calls has a seal"),
    ],
)
def test_what_was_changed_afterwards(sound: SoundHome, change: str, state: str, words: str) -> None:
    with sound.written() as connection:
        connection.execute(change)
    found = sound.examined()["chain"]
    assert (found.state, words in found.text) == (state, True), found
    assert ("ledger-check" in found.remedy) is (state == "fail")


def test_a_ledger_too_large_to_be_checked_in_passing(sound: SoundHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_ROWS_WAL", CALLS - 1)
    found = sound.examined()["chain"]
    assert (found.state, found.remedy) == ("unknown", "Run: ledger-tui ledger-check")
    monkeypatch.setattr(record, "_ROWS_WAL", CALLS)
    assert sound.examined()["chain"].state == "ok"


def test_outside_wal_mode_no_writer_is_kept_waiting(sound: SoundHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with sound.written() as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    assert sound.examined()["chain"].state == "ok"
    monkeypatch.setattr(record, "_ROWS_SHARED", CALLS - 1)
    assert sound.examined()["chain"].state == "unknown"


# -- who writes, and when ---------------------------------------------------------------------------------------------

UNSEALED = (
    "INSERT INTO ledger(ts, tool_name, status, changed, writer_id) SELECT ts, tool_name, status, changed + 1, ?"
    " FROM ledger WHERE id = ?"
)


@pytest.mark.parametrize("version", ["0.0.9", ""])
def test_an_older_plugin_writes_beside_this_one(sound: SoundHome, version: str) -> None:
    writer = sound.add_writer(1, version=version, started="1")
    with sound.written() as connection:
        connection.execute(UNSEALED, (writer, CALLS))
    found = sound.examined()
    assert found["versions"].state == "warn"
    assert "1 call among the newest" in found["versions"].text
    assert ("plugin 0.0.9" in found["versions"].text) is bool(version)
    assert (found["chain"].state, f"Call #{CALLS + 1} has no seal" in found["chain"].text) == ("fail", True)
    assert "older plugin" in found["chain"].remedy


def test_a_living_process_with_another_version(sound: SoundHome) -> None:
    sound.add_writer(os.getpid(), version="0.0.9")
    found = sound.examined()["versions"]
    assert found.state == "warn"
    assert found.text.startswith(f"Process {os.getpid()} still runs plugin 0.0.9")
    assert "restart" in found.remedy.lower()


def test_another_version_that_has_ended(sound: SoundHome) -> None:
    sound.add_writer(2**22 + 1, version="0.0.9", started="1")
    assert sound.troubles() == {}


@pytest.mark.parametrize("cell", ["x", b"\xff", 2**62, -1])
def test_a_writer_that_nobody_can_be(sound: SoundHome, cell: object) -> None:
    with sound.written() as connection:
        connection.execute("UPDATE writer SET pid = ?, plugin_version = ?", (cell, cell))
    assert sound.troubles() == {}


def test_calls_from_the_future(sound: SoundHome) -> None:
    with sound.written() as connection:
        ((ts,),) = connection.execute("SELECT max(ts) FROM ledger").fetchall()
    before = sound.place().clock() - 86_400
    found = sound.examined(clock=lambda: before)["clock"]
    assert found.state == "warn"
    assert found.text.startswith(f"{CALLS} calls are from the future, up to {ts}:")
    assert "clock" in found.remedy


# -- who holds it -----------------------------------------------------------------------------------------------------


@contextmanager
def another(code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Another process, from when it says that it is ready until the end of the block."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import fcntl, sqlite3, sys\n{code}\nprint('ready', flush=True)\nsys.stdin.read()",
            *words,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


WRITES = "c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE')"
READS = "c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN'); c.execute('SELECT * FROM ledger')"
TAKES_TURN = "f = open(sys.argv[1], 'r+'); fcntl.flock(f, fcntl.LOCK_EX)"


def locked(sound: SoundHome, at_each_look: Any = lambda _: None) -> Any:
    return held.lock(sound.place(), pause=at_each_look)


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_shell_that_never_ends_its_transaction(sound: SoundHome, mode: str) -> None:
    with sound.written() as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
    with another(WRITES, str(sound.paths.ledger)) as process:
        found = locked(sound)
        assert (found.state, found.text.startswith(f"Process {process.pid} (")) == ("warn", True)
        assert f"the lock of {sound.paths.ledger} " in found.text
    assert locked(sound).state == "ok"


def test_a_process_that_never_gives_back_its_turn(sound: SoundHome) -> None:
    with another(TAKES_TURN, str(sound.paths.turnstile)) as process:
        found = locked(sound)
        assert (found.state, f"Process {process.pid}" in found.text) == ("warn", True)
        assert str(sound.paths.turnstile) in found.text


def test_who_reads_keeps_nobody_out(sound: SoundHome) -> None:
    with another(READS, str(sound.paths.ledger)):
        assert locked(sound).state == "ok"


def test_a_lock_that_is_given_back_in_time(sound: SoundHome) -> None:
    with sound.paths.turnstile.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert locked(sound, lambda _: fcntl.flock(file, fcntl.LOCK_UN)).state == "ok"


HOLDS = "l = open(sys.argv[1]); t = open(sys.argv[2])"


@pytest.mark.parametrize("what", ["removed", "moved away", "the lock is another"])
def test_a_ledger_that_was_replaced_under_its_writer(sound: SoundHome, what: str) -> None:
    ledger, turnstile = sound.paths.ledger, sound.paths.turnstile
    with another(HOLDS, str(ledger), str(turnstile)) as process:
        assert sound.examined()["replaced"].state == "ok"
        new = (turnstile if what.startswith("the lock") else ledger).read_bytes()
        if what == "moved away":
            ledger.rename(sound.data / "former.db")
        else:
            (turnstile if what.startswith("the lock") else ledger).unlink()
        target = turnstile if what.startswith("the lock") else ledger
        target.write_bytes(new)
        target.chmod(0o600)
        found = sound.examined()["replaced"]
        assert (found.state, f"Process {process.pid}" in found.text, str(target) in found.text) == ("warn", True, True)
    assert sound.examined()["replaced"].state == "ok"


# -- builds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [True, False])
def test_a_build_with_the_wal_reset_bug(sound: SoundHome, monkeypatch: pytest.MonkeyPatch, turns: bool) -> None:
    monkeypatch.setattr(ledger, "takes_turns", lambda: turns)
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.40.1")
    found = sound.examined()["sqlite"]
    assert (found.state, "turns" in found.text) == ("ok" if turns else "warn", True)
