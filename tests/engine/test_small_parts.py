"""Mounts, processes, keys, hashes, paths and the writers' lock."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import fingerprint, mounts, process, turnstile
from agent_ledger.engine.paths import Paths, UnsafePathError, default_home, private_file, private_folder
from agent_ledger.engine.records import Writer

HERE = process.identity()
ME = Writer(1, HERE.pid, HERE.started, HERE.boot_id, HERE.pid_namespace, HERE.machine)
WITH_LOCKS = pytest.mark.skipif(os.name == "nt", reason="no advisory locks here")
ON_LINUX = pytest.mark.skipif(not HERE.started, reason="the system tells no start marks")


# -- mounts ----------------------------------------------------------------------------------------------------------

TABLE = """\
/dev/vda1 / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
server:/export /mnt/nfs nfs4 rw 0 0
//server/share /mnt/with\\040space cifs rw 0 0
/dev/sdb1 /mnt/nfs/local xfs rw 0 0
host /mnt/shared virtiofs rw 0 0
first /mnt/stacked ext4 rw 0 0
second /mnt/stacked 9p rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/home/x/ledger.db", None),
        ("/mnt/nfs/home/ledger.db", "nfs4 on /mnt/nfs"),
        ("/mnt/nfs", "nfs4 on /mnt/nfs"),
        ("/mnt/nfs/local/ledger.db", None),
        ("/mnt/nfsother/ledger.db", None),
        ("/mnt/with space/ledger.db", "cifs on /mnt/with space"),
        ("/mnt/shared/x", "virtiofs on /mnt/shared"),
        ("/mnt/stacked/x", "9p on /mnt/stacked"),
    ],
)
def test_network_mounts(tmp_path: Path, path: str, mount: str | None) -> None:
    table = tmp_path / "mounts"
    table.write_text(TABLE)
    assert mounts.network_mount(Path(path), table) == mount


def test_without_a_table_nothing_is_said(tmp_path: Path) -> None:
    assert mounts.network_mount(Path("/mnt/nfs/x"), tmp_path / "none") is None


# -- processes -------------------------------------------------------------------------------------------------------


def test_this_process_lives_and_shares_our_clock() -> None:
    assert process.is_dead(ME) is False
    assert process.same_boot(ME)


@ON_LINUX
def test_an_ended_process_and_a_number_used_again_are_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    writer = replace(ME, pid=child.pid, started=process.start_mark(child.pid))
    assert process.is_dead(writer) is False
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process.is_dead(writer) is True, "a zombie settles nothing any more"
    child.wait()
    assert process.is_dead(writer) is True
    assert process.is_dead(replace(ME, started="1")) is True


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        ({"machine": "another"}, None),
        ({"machine": "another", "boot_id": "another"}, None),
        ({"boot_id": "another"}, True),
        ({"pid_namespace": "pid:[1]"}, None),
        ({"pid": 2**40}, True),
    ],
)
def test_other_machines_boots_and_namespaces(change: dict[str, Any], dead: bool | None) -> None:
    assert process.is_dead(replace(ME, **change)) is dead


def test_on_windows_nobody_is_asked_with_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(pid: int, number: int) -> None:
        raise AssertionError("this would interrupt the process there")

    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(process, "_WINDOWS", True)
    assert process.is_dead(ME) is None


# -- keys and hashes -------------------------------------------------------------------------------------------------


def test_the_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "data" / "hash.key"
    key = fingerprint.load_key(path)
    assert len(key) == 32
    assert fingerprint.load_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["hash.key"]


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_make_it_at_once_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:

        def no_links(*_: Any) -> None:
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", no_links)
    keys: set[bytes] = set()

    def load() -> None:
        for _ in range(100):
            try:
                keys.add(fingerprint.load_key(tmp_path / "hash.key"))
                return
            except OSError:
                continue

    threads = [threading.Thread(target=load) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["hash.key"]


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hash.key").write_bytes(b"short")
    with pytest.raises(OSError, match="5 bytes"):
        fingerprint.load_key(tmp_path / "hash.key")


def test_equal_arguments_have_equal_hashes_in_any_order() -> None:
    key = b"k" * 32
    hashes = [
        fingerprint.call_hash(key, tool, fingerprint.canonical(args))
        for tool, args in (
            ("t", {"a": 1, "b": [1, {"c": "é"}]}), ("t", {"b": [1, {"c": "é"}], "a": 1}), ("t", {"a": 1, "b": []}),
            ("u", {"a": 1, "b": [1, {"c": "é"}]}),
        )
    ]  # fmt: skip
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3
    assert fingerprint.call_hash(b"j" * 32, "t", "{}") != fingerprint.call_hash(key, "t", "{}")
    text = fingerprint.dumps({"b": 1, "a": 2})
    assert fingerprint.canonical({"b": 1, "a": 2}, text) == fingerprint.canonical({"a": 2, "b": 1})
    assert fingerprint.canonical({"a": {"z": 1, "y": 2}}, '{"a": {"z": 1, "y": 2}}') == '{"a": {"y": 2, "z": 1}}'


def test_a_text_is_hashed_as_itself_so_that_a_file_compares() -> None:
    from hashlib import blake2b

    key = b"k" * 32
    assert fingerprint.value_hash(key, "é\n") == blake2b("é\n".encode(), key=key, digest_size=16).hexdigest()


# -- paths -----------------------------------------------------------------------------------------------------------


def test_where_things_lie(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    assert paths.ledger == tmp_path / "plugin-data" / "agent-ledger" / "ledger.db"
    assert not paths.data.exists()
    assert default_home({"HERMES_HOME": "/x"}) == Path("/x")
    assert default_home({"HERMES_HOME": ""}) == Path.home() / ".hermes"
    assert default_home({"HERMES_HOME": "~/other"}) == Path.home() / "other"
    assert default_home({"HERMES_HOME": "~nobody-here/other"}) == Path("~nobody-here/other")
    assert Paths(tmp_path / "a").spool_elsewhere != Paths(tmp_path / "b").spool_elsewhere


def test_a_folder_or_file_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(UnsafePathError):
        private_folder(tmp_path / "link")
    (tmp_path / "file-link").symlink_to(tmp_path / "new")
    with pytest.raises(UnsafePathError):
        private_file(tmp_path / "file-link", os.O_RDWR | os.O_CREAT)
    assert not (tmp_path / "new").exists()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        private_file(target, os.O_RDWR)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_without_waiting_for_its_other_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsafePathError):
        private_file(tmp_path / "pipe", os.O_RDONLY)


def test_a_folder_s_parents_are_not_for_everybody_to_write(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        private_folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(old)
    assert [(tmp_path / p).stat().st_mode & 0o777 for p in ("a", "a/b", "a/b/c")] == [0o755, 0o755, 0o700]


# -- the writers' lock -----------------------------------------------------------------------------------------------


@WITH_LOCKS
def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first, second = turnstile.Turnstile(tmp_path / "lock"), turnstile.Turnstile(tmp_path / "lock")
    assert first.enter(0.0)
    assert not second.enter(0.0)
    first.leave()
    assert second.enter(0.0)
    second.close()
    assert first.enter(0.0)
    first.close()


@WITH_LOCKS
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_such_locks_does_not_stop_the_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def flock(*_: Any) -> None:
        raise OSError(number, "no locks here")

    lock = turnstile.Turnstile(tmp_path / "lock")
    monkeypatch.setattr("fcntl.flock", flock)
    assert lock.enter(0.0)
    lock.leave()
    lock.close()


@pytest.mark.parametrize(
    ("version", "bug"),
    [
        ((3, 6, 23), False), ((3, 7, 0), True), ((3, 40, 1), True), ((3, 44, 5), True), ((3, 44, 6), False),
        ((3, 50, 6), True), ((3, 50, 7), False), ((3, 51, 2), True), ((3, 51, 3), False), ((3, 53, 0), False),
    ],
)  # fmt: skip
def test_builds_with_the_wal_reset_bug(version: tuple[int, int, int], bug: bool) -> None:
    assert turnstile.has_wal_reset_bug(version) is bug
