"""Who may be using the store: asked of real processes, real locks and real leases."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.process import start_mark
from ledger_tui.routing.repair import open_files
from ledger_tui.routing.repair.apply import apply
from ledger_tui.routing.repair.holders import FAIL, OK, UNKNOWN, SafetyCheck, require_safe, safety_checks, worst
from ledger_tui.routing.repair.refused import RefusedError
from tests.routing.corpus import case
from tests.routing.stores import NOW, change, clock, digest, planned

Place = tuple[Path, Path]
Start = Callable[..., "subprocess.Popen[bytes]"]

OPENED = """\
import os, sqlite3, sys
path, how = sys.argv[1:3]
if how == "reader":
    held = sqlite3.connect("file:" + path + "?mode=ro", uri=True)
    held.execute("SELECT count(*) FROM sessions").fetchone()
elif how == "wal":
    held = sqlite3.connect(path)
    held.execute("PRAGMA journal_mode=WAL").fetchone()
    held.execute("SELECT count(*) FROM sessions").fetchone()
else:
    held = os.open(path, os.O_RDONLY)
    if how == "unlinked":
        os.unlink(path)
print("ready", flush=True)
sys.stdin.read()
"""

LOCKED = """\
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """(home, store) of the public incident."""
    return case("incident-82616").lay_out(tmp_path)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a script in a process of its own and waits until it is ready."""
    started: list[subprocess.Popen[bytes]] = []

    def run(script: str, *arguments: Path | str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def check(place: Place, name: str, *, now: float = NOW, processes: Path = Path("/proc")) -> SafetyCheck:
    home, path = place
    found = {one.name: one for one in safety_checks(path, home, now=now, processes=processes)}
    assert list(found) == ["gateway-lock", "gateway-process", "open-files", "leases"]
    return found[name]


def refused(place: Place, **given: Any) -> RefusedError:
    """What a repair says now; the store stays as it is, to the byte, and nothing is left of the attempt."""
    home, path = place
    plan = planned(home, path)
    before = digest(path)
    with pytest.raises(RefusedError) as caught:
        apply(path, home, plan, clock=clock, **given)
    assert digest(path) == before
    assert not list(home.rglob("*Z-*"))
    return caught.value


def test_with_nobody_there_nothing_fails(place: Place) -> None:
    home, path = place
    checks = safety_checks(path, home, now=NOW)
    assert FAIL not in {one.state for one in checks}
    assert {one.name: one.state for one in checks if one.name != "open-files"} == {
        "gateway-lock": OK, "gateway-process": OK, "leases": OK,
    }  # fmt: skip


def test_a_gateway_that_holds_its_lock(place: Place, start: Start) -> None:
    home, _ = place
    gateway = start(LOCKED, home / "gateway.lock")
    found = check(place, "gateway-lock")
    assert (found.state, "stop the gateway" in found.remedy) == (FAIL, True)
    assert refused(place, stopped_by="somebody").check == "gateway-lock"
    gateway.kill()
    gateway.wait()
    assert check(place, "gateway-lock").state == OK


def test_the_lock_of_this_very_process_counts_too(place: Place) -> None:
    home, _ = place
    with open(home / "gateway.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert check(place, "gateway-lock").state == FAIL


def test_the_gateway_of_the_root_may_serve_every_profile(tmp_path: Path, start: Start) -> None:
    root = tmp_path / "root"
    work = root / "profiles" / "work"
    work.mkdir(parents=True)
    path = work / "state.db"
    path.write_bytes(case("incident-82616").store)
    start(LOCKED, root / "gateway.lock")
    for home in (work, root):
        assert check((home, path), "gateway-lock").state == FAIL


def test_a_gateway_of_another_profile_does_not_count(tmp_path: Path, start: Start) -> None:
    root = tmp_path / "root"
    for name in ("work", "play"):
        (root / "profiles" / name).mkdir(parents=True)
    path = root / "profiles" / "work" / "state.db"
    path.write_bytes(case("incident-82616").store)
    start(LOCKED, root / "profiles" / "play" / "gateway.lock")
    assert check((root / "profiles" / "work", path), "gateway-lock").state == OK


def test_a_lock_that_cannot_be_asked(place: Place) -> None:
    home, _ = place
    (home / "gateway.lock").symlink_to(home / "elsewhere")
    assert check(place, "gateway-lock").state == UNKNOWN


@pytest.fixture
def sleeper(start: Start) -> subprocess.Popen[bytes]:
    return start("import sys\nprint('ready', flush=True)\nsys.stdin.read()\n")


@pytest.mark.parametrize("name", ["gateway.pid", "gateway_state.json"])
def test_a_living_process_of_the_same_start(place: Place, sleeper: subprocess.Popen[bytes], name: str) -> None:
    home, _ = place
    record = {"pid": sleeper.pid, "start_time": int(start_mark(sleeper.pid)), "gateway_state": "running"}
    (home / name).write_text(json.dumps(record), encoding="utf-8")
    assert check(place, "gateway-process").state == FAIL
    assert refused(place, stopped_by="somebody").check == "gateway-process"
    sleeper.kill()
    sleeper.wait()
    assert check(place, "gateway-process").state == OK


def test_a_number_that_went_to_another_process(place: Place, sleeper: subprocess.Popen[bytes]) -> None:
    home, _ = place
    record = {"pid": sleeper.pid, "start_time": int(start_mark(sleeper.pid)) - 100_000}
    (home / "gateway.pid").write_text(json.dumps(record), encoding="utf-8")
    assert check(place, "gateway-process").state == OK


def test_a_living_process_whose_start_nobody_wrote_down(place: Place, sleeper: subprocess.Popen[bytes]) -> None:
    home, _ = place
    for content in (json.dumps({"pid": sleeper.pid, "start_time": None}), str(sleeper.pid)):
        (home / "gateway.pid").write_text(content, encoding="utf-8")
        assert check(place, "gateway-process").state == FAIL


@pytest.mark.parametrize(
    "content", ["", "no json", "[1]", "[" * 100_000, '{"pid": "many"}', '{"kind": "hermes-gateway"}']
)
def test_a_record_that_nobody_understands_counts_as_live(place: Place, content: str) -> None:
    home, _ = place
    (home / "gateway.pid").write_text(content, encoding="utf-8")
    found = check(place, "gateway-process")
    assert (found.state, "move the file away" in found.remedy) == (FAIL, True)


def test_a_gateway_that_says_itself_that_it_has_stopped(place: Place, sleeper: subprocess.Popen[bytes]) -> None:
    home, _ = place
    record = {"pid": sleeper.pid, "start_time": None, "gateway_state": "stopped"}
    (home / "gateway_state.json").write_text(json.dumps(record), encoding="utf-8")
    assert check(place, "gateway-process").state == OK


@pytest.mark.parametrize("how", ["reader", "raw", "wal"])
def test_a_process_that_has_the_store_open(place: Place, start: Start, how: str) -> None:
    _, path = place
    holder = start(OPENED, path, how)
    found = check(place, "open-files")
    assert found.state == FAIL
    assert f"process {holder.pid} (" in found.text
    assert refused(place, stopped_by="somebody").check == "open-files"
    holder.kill()
    holder.wait()
    assert check(place, "open-files").state != FAIL


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_process_that_has_a_file_beside_the_store_open(place: Place, start: Start, end: str) -> None:
    _, path = place
    beside = Path(f"{path}{end}")
    beside.touch()
    start(OPENED, beside, "raw")
    assert check(place, "open-files").state == FAIL


def test_a_process_that_writes_into_an_unlinked_log(place: Place, start: Start) -> None:
    """The file has a new log by now, or none; the holder's writes go nowhere (hermes-agent #102589)."""
    _, path = place
    log = Path(f"{path}-wal")
    log.touch()
    start(OPENED, log, "unlinked")
    assert check(place, "open-files").state == FAIL


def test_our_own_connections_do_not_count(place: Place) -> None:
    home, path = place
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as own:
        own.execute("SELECT count(*) FROM sessions").fetchone()
        assert not open_files.holders(path).holding
        assert home.exists()


def test_a_process_with_other_files_open_does_not_count(place: Place, start: Start, tmp_path: Path) -> None:
    _, path = place
    other = tmp_path / "state.db"
    other.write_bytes(path.read_bytes())
    holder = start(OPENED, other, "raw")
    assert not any(f"process {holder.pid}" in one for one in open_files.holders(path).holding)


def test_where_nothing_can_be_seen_a_person_must_say_it(place: Place, tmp_path: Path) -> None:
    nothing = tmp_path / "no-such-list"
    assert check(place, "open-files", processes=nothing).state == UNKNOWN
    error = refused(place, processes=nothing)
    assert (error.check, "say that everything is stopped" in str(error)) == ("open-files", True)
    home, path = place
    done = apply(path, home, planned(home, path), clock=clock, stopped_by="kim, typed it", processes=nothing)
    journal = json.loads((home / "plugin-data/agent-ledger/repairs" / f"{done.repair_id}.json").read_text())
    assert journal["stopped_by"] == "kim, typed it"
    assert [one["state"] for one in journal["checks"]] == ["ok", "ok", "unknown", "ok"]


def fake_process(folder: Path, number: int, *, user: int, groups: str = "", readable: bool = False) -> None:
    """A process as the system lists it; one that cannot be looked into has a file where its folder should be."""
    own = folder / str(number)
    own.mkdir(parents=True)
    status = (
        f"Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nGid:\t{user}\t{user}\t{user}\t{user}\nGroups:\t{groups}\n"
    )
    (own / "status").write_text(status, encoding="ascii")
    (own / "cmdline").write_bytes(b"cat\0secret\0")
    if readable:
        (own / "fd").mkdir()
    else:
        (own / "fd").touch()  # Listing it fails with an error that is not "gone".


STRANGER = 4_000_000_000
"""A user that no system has."""


@pytest.mark.parametrize(
    ("mode", "groups", "state"),
    [
        (0o600, "", OK),
        (0o660, "", OK),
        (0o660, "GROUP", UNKNOWN),
        (0o640, "GROUP", UNKNOWN),
        (0o604, "", UNKNOWN),
        (0o644, "", UNKNOWN),
    ],
)
def test_a_strangers_process_counts_only_if_the_mode_lets_it_in(
    place: Place, tmp_path: Path, mode: int, groups: str, state: str
) -> None:
    _, path = place
    listed = tmp_path / "processes"
    fake_process(listed, os.getpid(), user=os.geteuid(), readable=True)
    fake_process(listed, 1, user=STRANGER, readable=True)
    named = groups.replace("GROUP", str(path.stat().st_gid))
    fake_process(listed, 77, user=STRANGER, groups=named)
    path.chmod(mode)
    assert check(place, "open-files", processes=listed).state == state


def test_an_own_process_that_cannot_be_looked_into(place: Place, tmp_path: Path) -> None:
    _, path = place
    listed = tmp_path / "processes"
    fake_process(listed, os.getpid(), user=os.geteuid(), readable=True)
    fake_process(listed, 77, user=path.stat().st_uid)
    path.chmod(0o600)
    found = check(place, "open-files", processes=listed)
    assert (found.state, "process 77 (cat secret)" in found.text) == (UNKNOWN, True)


def test_a_system_that_hides_other_users(place: Place, tmp_path: Path) -> None:
    _, path = place
    listed = tmp_path / "processes"
    fake_process(listed, os.getpid(), user=os.geteuid(), readable=True)
    path.chmod(0o600)
    assert check(place, "open-files", processes=listed).state == OK
    path.chmod(0o644)
    assert check(place, "open-files", processes=listed).state == UNKNOWN


def lease(path: Path, table: str, key: str, holder: str, expires: object) -> None:
    change(path, f"CREATE TABLE IF NOT EXISTS {table}({key} TEXT PRIMARY KEY, holder TEXT, acquired_at, expires_at)")
    change(path, f"INSERT INTO {table} VALUES('s', ?, 0, ?)", holder, expires)


@pytest.mark.parametrize(
    ("table", "key"), [("session_turn_leases", "conversation_id"), ("compression_locks", "session_id")]
)
def test_a_lease_that_has_not_run_out(place: Place, table: str, key: str) -> None:
    _, path = place
    lease(path, table, key, "pid=999999999:turn=1", NOW + 10)
    found = check(place, "leases")
    assert (found.state, "Its process is gone." in found.text, "wait" in found.remedy) == (FAIL, True, True)
    assert refused(place, stopped_by="somebody").check == "leases"
    assert check(place, "leases", now=NOW + 10).state == OK


def test_an_expired_lease_does_not_count(place: Place) -> None:
    _, path = place
    lease(path, "session_turn_leases", "conversation_id", f"pid={os.getpid()}:turn=1", NOW - 1)
    assert check(place, "leases").state == OK


def test_a_back_end_that_gave_a_sign_of_life(place: Place) -> None:
    _, path = place
    change(path, "CREATE TABLE gateway_heartbeats(backend_id TEXT, pid INTEGER, last_heartbeat REAL)")
    change(path, "INSERT INTO gateway_heartbeats VALUES('b', ?, ?)", os.getpid(), NOW - 60)
    assert check(place, "leases").state == FAIL
    assert check(place, "leases", now=NOW + 100).state == OK
    change(path, "UPDATE gateway_heartbeats SET pid = 999999999")
    assert check(place, "leases").state == OK


def test_a_store_that_cannot_be_read_is_unknown(place: Place) -> None:
    _, path = place
    path.write_bytes(b"no database, but long enough to be taken for one" * 20)
    assert check(place, "leases").state == UNKNOWN


def test_what_fails_cannot_be_vouched_for(place: Place) -> None:
    home, path = place
    (home / "gateway.pid").write_text("?", encoding="utf-8")
    with pytest.raises(RefusedError, match="gateway-process"):
        require_safe(path, home, now=NOW, stopped_by="kim")
    assert worst(safety_checks(path, home, now=NOW)) == FAIL
