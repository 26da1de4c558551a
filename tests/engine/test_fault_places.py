"""Full disks, folders that cannot be written, foreign links and rights: nothing lost, nothing shown to others."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_ledger.engine import spool
from agent_ledger.engine.paths import Paths
from tests import disks

from .homes import LONGEST_S, ROOT, Home, LockHolder, read_rows, said, until, worker

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
root_only = pytest.mark.skipif(not AS_ROOT, reason="needs to be root to mount a file system")


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_is_private_from_the_moment_it_exists(home: Home, umask: int) -> None:
    script = f"""
import agent_ledger.engine.paths as paths
seen = []
real_open, real_mkdir = os.open, os.mkdir
def opened(path, flags, mode=0o777, **more):
    descriptor = real_open(path, flags, mode, **more)
    if flags & os.O_CREAT and "agent-ledger" in str(path):
        seen.append((str(path), oct(os.fstat(descriptor).st_mode & 0o777)))
    return descriptor
os.open = opened
os.umask({umask})
start(); pre('c1'); post('c1'); merged()
other = sqlite3.connect({str(home.paths.ledger)!r}, isolation_level=None)
other.execute('BEGIN EXCLUSIVE')
pre('c2')
say([entry for entry in seen if entry[1] != '0o600'])
other.execute('ROLLBACK')
sys.stdout.flush()
say('written')
os.kill(os.getpid(), 9)
"""
    process = worker(home.folder, "script")
    assert process.stdin is not None
    process.stdin.write(script)
    process.stdin.close()
    assert said(process) == "[]"
    assert said(process) == "written"
    process.wait()
    found = modes(home.paths.data)
    assert stat.S_IMODE(home.paths.data.stat().st_mode) == 0o700
    assert found.pop("spool") == 0o700
    assert {name.partition("/")[0] for name in found} >= {"ledger.db", "ledger.db-wal", "ledger.db-shm", "hash.key"}
    assert set(found.values()) == {0o600}
    assert stat.S_IMODE(home.paths.data.parent.stat().st_mode) & 0o022 == 0


def test_a_ledger_that_others_could_read_is_closed_to_them(home: Home) -> None:
    home.pre(call="old")
    home.merged()
    home.recorder.keeper.close()
    os.chmod(home.paths.ledger, 0o644)
    os.chmod(home.paths.data, 0o755)
    home.restart()
    home.pre(call="new")
    home.merged()
    assert stat.S_IMODE(home.paths.ledger.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.paths.data.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["ledger.db", "hash.key", "ledger.lock", "spool"])
def test_a_link_in_place_of_one_of_our_files_is_not_followed(home: Home, tmp_path: Path, name: str) -> None:
    home.paths.data.mkdir(parents=True, mode=0o700)
    target = tmp_path / "target"
    if name == "spool":
        target.mkdir()
        home.pre(call="before")
        home.merged()
        shutil.rmtree(home.paths.spool, ignore_errors=True)
    (home.paths.data / name).symlink_to(target)
    holder = LockHolder(home.paths) if name == "spool" else None
    home.pre()
    home.post()
    if holder is not None:
        assert list(target.iterdir()) == []
        holder.release()
    else:
        assert not target.exists()
    (home.paths.data / name).unlink()
    until(lambda: [r for r in home.rows() if r["tool_call_id"] == "c1" and r["status"] == "CONFIRMED"] != [], "kept")


def test_a_foreign_folder_where_the_temporary_spool_would_be_is_not_used(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    home.paths.spool_elsewhere.symlink_to(target)
    home.paths.data.parent.mkdir(parents=True)
    home.paths.data.write_text("a file where the folder should be")
    home.pre()
    assert list(target.iterdir()) == []
    home.paths.data.unlink()
    assert home.statuses() == ["PENDING"]


def test_a_home_that_cannot_be_written_waits_in_the_temporary_folder(home: Home) -> None:
    home.paths.data.parent.mkdir(parents=True)
    home.paths.data.write_text("a file where the folder should be")
    home.pre(call="c1")
    home.post(call="c1")
    elsewhere = home.paths.spool_elsewhere
    (file,) = elsewhere.iterdir()
    assert (stat.S_IMODE(elsewhere.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
    assert spool.waiting(home.paths, {}).records == 2
    home.paths.data.unlink()
    assert home.statuses() == ["CONFIRMED"]
    assert list(elsewhere.iterdir()) == []


def test_where_nothing_at_all_can_be_written_memory_keeps_the_order(home: Home, tmp_path: Path) -> None:
    home.paths.data.parent.mkdir(parents=True)
    home.paths.data.write_text("a file where the folder should be")
    home.paths.spool_elsewhere.write_text("and here too")
    for n in range(300):
        home.pre(args={"path": f"/{n}"}, call=f"c{n}")
        home.post(args={"path": f"/{n}"}, call=f"c{n}")
    home.paths.data.unlink()
    assert [row["tool_call_id"] for row in home.rows()] == [f"c{n}" for n in range(300)]
    assert set(home.statuses()) == {"CONFIRMED"}


def test_records_that_not_even_memory_has_room_for_are_told_of(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once when that begins, and how many it were when it is over."""
    monkeypatch.setattr(spool, "MEMORY_LIMIT", 3)
    home.paths.data.parent.mkdir(parents=True)
    home.paths.data.write_text("a file where the folder should be")
    home.paths.spool_elsewhere.write_text("and here too")
    for n in range(5):
        home.pre(args={"path": f"/{n}"}, call=f"c{n}")

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if "lost" in record.getMessage()]

    assert told() == ["agent-ledger: nothing can be written, and memory holds no more than 3 records: more are lost"]
    home.paths.data.unlink()
    assert [row["tool_call_id"] for row in home.rows()] == ["c0", "c1", "c2"]
    until(lambda: len(told()) == 2, "the number is told")
    assert told()[1] == "agent-ledger: 2 records were lost while nothing could be written"
    home.pre(call="c5")
    home.merged()
    assert len(told()) == 2


def test_no_temporary_folder_at_all_is_no_reason_to_lose_a_call(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    home.pre(call="c1")
    holder.release()
    assert [row["tool_call_id"] for row in home.rows()] == ["before", "c1"]


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
start(); pre('before'); merged()
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
for n in range(40):
    pre(f'c{{n}}', {{'path': f'/{{n}}', 'content': 'x' * 1500}}); post(f'c{{n}}')
say('full')
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
say(merged())
"""


@pytest.mark.parametrize("limit", [0, 1000, 40_000, 120_000])
def test_a_disk_that_is_full_for_a_while(home: Home, limit: int) -> None:
    process = worker(home.folder, "script")
    assert process.stdin is not None
    process.stdin.write(FULL.format(limit=limit))
    process.stdin.close()
    assert said(process) == "full"
    assert said(process) == "True"
    process.wait()
    rows = read_rows(home.paths)
    assert [row["tool_call_id"] for row in rows] == ["before", *(f"c{n}" for n in range(40))]
    assert {row["status"] for row in rows[1:]} == {"CONFIRMED"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small_disk(tmp_path / "small", 4) as folder:
        yield folder


@root_only
def test_a_really_full_disk(small_disk: Path) -> None:
    home = small_disk / "home"
    home.mkdir()
    process = worker(home, "script", TMPDIR=str(small_disk.parent))
    assert process.stdin is not None
    process.stdin.write(
        f"start(); pre('before'); merged()\nfill = {str(small_disk / 'fill')!r}\n"
        "rest = os.open(fill, os.O_WRONLY | os.O_CREAT)\n"
        "try:\n    while True: os.write(rest, b'x' * 1024)\nexcept OSError: pass\n"
        "for n in range(200):\n    pre(f'c{n}', {'path': f'/{n}', 'content': 'x' * 300}); post(f'c{n}')\n"
        "say('full')\nos.close(rest); os.unlink(fill)\nsay(merged())\n"
    )
    process.stdin.close()
    assert said(process) == "full"
    assert said(process) == "True"
    process.wait()
    rows = read_rows(Paths(home))
    assert [row["tool_call_id"] for row in rows] == ["before", *(f"c{n}" for n in range(200))]
    assert {row["status"] for row in rows[1:]} == {"CONFIRMED"}


@contextlib.contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """A file system that refuses every write, whoever asks: root is not stopped by a folder's mode."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


@root_only
def test_what_a_read_only_home_refused_waits_elsewhere_and_is_merged_later(small_disk: Path) -> None:
    home, temporary = small_disk / "home", small_disk.parent / "temporary"
    home.mkdir()
    temporary.mkdir()
    with read_only(small_disk):
        process = worker(home, "script", TMPDIR=str(temporary))
        assert process.stdin is not None
        process.stdin.write("start(); pre('c1'); post('c1')\nsay('spooled'); os.kill(os.getpid(), 9)\n")
        process.stdin.close()
        assert said(process) == "spooled"
        process.wait()
        assert list(home.iterdir()) == []
    process = worker(home, "script", TMPDIR=str(temporary))
    assert process.stdin is not None
    process.stdin.write("start()\nsay(merged())\n")
    process.stdin.close()
    assert said(process) == "True"
    process.wait()
    assert [row["status"] for row in read_rows(Paths(home))] == ["CONFIRMED"]


def test_nothing_is_written_outside_the_home(home: Home, tmp_path: Path) -> None:
    script = (
        "import tempfile\nwritten = []\nreal = os.open\n"
        "def opened(path, flags, *more, **named):\n"
        "    if flags & (os.O_WRONLY | os.O_RDWR): written.append(os.fspath(path))\n"
        "    return real(path, flags, *more, **named)\nos.open = opened\n"
        "start(); pre('c1'); post('c1'); turn(); merged()\n"
        f"say([path for path in written if not str(path).startswith({str(home.folder)!r})])\n"
    )
    process = worker(home.folder, "script", TMPDIR=str(tmp_path))
    assert process.stdin is not None
    process.stdin.write(script)
    process.stdin.close()
    outside = said(process)
    process.wait()
    # Only the standard library's own look at whether the temporary folder can be used.
    assert all(Path(path).parent == tmp_path for path in eval(outside)), outside
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("agent-ledger")]


def test_without_advisory_locks_everything_still_works(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: writers rely on SQLite's own locks, and nobody takes another's spool."""
    monkeypatch.setattr(spool, "fcntl", None)
    monkeypatch.setattr("agent_ledger.engine.turnstile.fcntl", None)
    home.pre(call="before")
    home.merged()
    other = worker(home.folder, "script")
    assert other.stdin is not None
    other.stdin.write(
        f"lock = sqlite3.connect({str(home.paths.ledger)!r}, isolation_level=None)\nlock.execute('BEGIN EXCLUSIVE')\n"
        "say('held'); time.sleep(0.4)\nlock.execute('ROLLBACK')\n"
    )
    other.stdin.close()
    assert said(other) == "held"
    home.pre(call="c1")
    home.post(call="c1")
    other.wait()
    assert home.statuses() == ["PENDING", "CONFIRMED"]


def test_the_plugin_loads_without_fcntl() -> None:
    code = (
        "import sys; sys.modules['fcntl'] = None\nimport agent_ledger\n"
        "from agent_ledger.engine import spool; print(spool.fcntl)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=LONGEST_S,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("None", "")


@pytest.mark.parametrize("name", ["agent_ledger", "agent-ledger", "hermes_plugins.agent_ledger__home_0123456789ab"])
def test_the_folder_loads_under_any_package_name(tmp_path: Path, name: str, new_home: Callable[[str], Home]) -> None:
    home = new_home("loaded")
    folder = tmp_path / "plugins" / "agent-ledger"
    shutil.copytree(ROOT / "agent_ledger", folder, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import importlib.util, sys, types\n"
        f"name = {name!r}\n"
        "if '.' in name: sys.modules[name.rpartition('.')[0]] = types.ModuleType('hermes_plugins')\n"
        f"spec = importlib.util.spec_from_file_location(name, {str(folder / '__init__.py')!r},"
        f" submodule_search_locations=[{str(folder)!r}])\n"
        "door = importlib.util.module_from_spec(spec); sys.modules[name] = door; spec.loader.exec_module(door)\n"
        "class Ctx:\n    def register_hook(self, name, hook): print(name)\n    register_middleware = register_hook\n"
        "door.register(Ctx())\n"
        "door.pre_tool_call('write_file', {'path': '/a'}, 's1', 's1', 'c1', 't', 'r')\n"
        "door.recorder().keeper.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "HERMES_HOME": str(home.folder)}, cwd=tmp_path,
        capture_output=True, text=True, timeout=LONGEST_S,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.split() == [
        "pre_tool_call", "post_tool_call", "pre_llm_call", "on_session_start", "tool_execution"
    ]  # fmt: skip
    home.start()
    assert home.statuses() == ["PENDING"]
