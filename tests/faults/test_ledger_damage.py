"""Bytes flipped, files cut or overwritten while no host ran: new calls are kept, and what is said is clear."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths

from .children import Nursery
from .rounds import CALLS, DAMAGE, FaultHome, dice, told_clearly

FILES = (
    "ledger.db", "ledger.db", "ledger.db-wal", "ledger.db-wal", "ledger.db-shm", "hash.key", "settings.json",
    "policy.json", "policy_mode", "prompt_policy.json", "prompt_policy_mode", "spool", "spool",
)  # fmt: skip

COMMANDS = (
    ("status", "--json"),
    ("calls", "--json"),
    ("posture", "--json"),
    ("verify", "--json"),
    ("prune", "--keep", "40", "--apply", "--json"),
    ("export", "calls", "--format", "csv"),
    ("export", "posture", "--format", "json"),
    ("policy", "report", "--json"),
    ("ledger-check", "--json"),
    ("doctor", "--json"),
)

CODES = {"ledger-check": (0, 1, 3)}
"""Other than done and unreadable: a flipped byte is a record that is not as it was written."""

SCRIPTS = (
    "from agent_ledger import posture\nsys.exit(posture.main([]))",
    "from agent_ledger import posture_daily\nsys.exit(posture_daily.main(['--dry-run']))",
)


_CALL = "SELECT tool_call_id FROM ledger"


@pytest.fixture(scope="module")
def lived_in(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with sixty calls in the file, twenty in SQLite's log, and ten in the spool of a host that was killed."""
    home = FaultHome(tmp_path_factory.mktemp("lived") / "home", nursery)
    home.run(f"{CALLS}\nstart(); calls('filed', 60); merged()\ndoor.recorder().keeper.close()")
    home.run(f"{CALLS}\nstart(); merged(); calls('logged', 20)\nos.kill(os.getpid(), 9)")
    with home.child(f"hold({str(home.paths.ledger)!r})") as holder:
        assert holder.line() == "held"
        home.run(f"{CALLS}\nstart(); calls('spooled', 10)\nos.kill(os.getpid(), 9)")
        holder.kill()
    data = home.paths.data
    (data / "settings.json").write_text('{"redact": true, "grace_seconds": {"terminal": 60}}')
    (data / "policy.json").write_text('{"rules": []}')
    (data / "policy_mode").write_text("dry_run\n")
    (data / "prompt_policy.json").write_text('{"rules": []}')
    (data / "prompt_policy_mode").write_text("dry_run\n")
    assert len(home.spool_files()) == 1
    assert (data / "ledger.db-wal").stat().st_size > 0
    return home.paths.home


@pytest.fixture
def home(fault_home: FaultHome, lived_in: Path) -> FaultHome:
    shutil.copytree(lived_in, fault_home.paths.home, dirs_exist_ok=True)
    return fault_home


def harmed(paths: Paths, seed: int) -> tuple[str, str]:
    """Damage one file of a home: its name, and what was done, in words."""
    thrown = dice(seed, "damage")
    name = thrown.choice(FILES)
    path = next(paths.spool.iterdir()) if name == "spool" else paths.data / name
    return name, thrown.choice(DAMAGE)(path, thrown)


def readable_calls(home: FaultHome) -> set[str]:
    """Calls that can be read one by one, whatever else is damaged."""
    found = set()
    with home.reading() as connection:
        for number in range(1, 120):
            with contextlib.suppress(sqlite3.DatabaseError):
                found |= {str(row[0]) for row in connection.execute(f"{_CALL} WHERE id=?", (number,))}
    return found


@pytest.mark.rounds(40)
def test_commands_on_damaged_files_say_one_sentence(home: FaultHome, seed: int) -> None:
    print(harmed(home.paths, seed)[1])
    thrown = dice(seed, "commands")
    for words in thrown.sample(COMMANDS, 3):
        ended = home.run(f"sys.exit(command(*{words!r}))")
        # What is written as it is read has a beginning already; the code says that it is no whole.
        told_clearly(replace(ended, out="") if words[0] in ("calls", "export") else ended, *CODES.get(words[0], (0, 3)))
    told_clearly(home.run(thrown.choice(SCRIPTS)), 0, 3)


@pytest.mark.rounds(60)
def test_hooks_on_damaged_files_lose_no_new_call(home: FaultHome, seed: int) -> None:
    name, done = harmed(home.paths, seed)
    print(done)
    ended = home.run(f"{CALLS}\nstart(); calls('new', 10)\nturn()\nmerged(0.3)\nos.kill(os.getpid(), 9)")
    assert ended.code == -9, ended
    assert "Traceback" not in ended.err, ended.err
    assert len(home.issued) == 10
    new = set(home.issued)
    if name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        # What a file held may be gone with it. What comes later is in it, or waits beside it for a sound one.
        assert new - readable_calls(home) - home.waiting_calls() == set()
        return
    home.recover()
    home.whole()
    found = Counter(str(row["tool_call_id"]) for row in home.rows())
    old = {f"filed-{n}" for n in range(60)} | {f"logged-{n}" for n in range(20)}
    assert old <= found.keys()
    if name != "spool":
        assert {f"spooled-{n}" for n in range(10)} <= found.keys()
