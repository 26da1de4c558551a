"""Processes killed at any moment, and forks: each announced call is kept exactly once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from typing import Any

import pytest

import agent_ledger as door
from agent_ledger.engine import paths, spool

from .homes import Home, LockHolder, read_rows, said, until, worker


def announced(process: subprocess.Popen[str], seconds: float) -> list[str]:
    """Let a `crash` worker run for a while after its first call, kill it, and return the calls whose hook returned."""
    assert process.stdout is not None
    calls = [said(process)]
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    calls += process.stdout.read().splitlines()
    process.wait()
    return calls


def kept_once(home: Home, calls: list[str]) -> None:
    home.start()
    until(lambda: not spool.files(home.paths), "abandoned spools are merged")
    found = Counter(str(row["tool_call_id"]) for row in home.rows())
    assert [call for call in calls if found[call] != 1] == []
    assert {call: n for call, n in found.items() if n > 1} == {}
    # At most the one call that was being announced when the process was killed may stand there beside them.
    for prefix in {call.partition("-")[0] for call in calls}:
        assert sum(1 for call in found if call.startswith(prefix + "-")) <= 1 + sum(
            1 for call in calls if call.startswith(prefix + "-")
        )


@pytest.mark.parametrize("seed", range(6))
def test_killed_while_writing(home: Home, seed: int) -> None:
    dice = random.Random(seed)
    calls: list[str] = []
    for n in range(3):
        calls += announced(worker(home.folder, "crash", f"k{n}"), dice.random() * 0.3)
    kept_once(home, calls)


@pytest.mark.parametrize("seed", range(6))
def test_killed_while_spooling_and_while_merging(home: Home, seed: int) -> None:
    dice = random.Random(100 + seed)
    home.pre(call="before-0")
    home.merged()
    calls: list[str] = []
    holder = LockHolder(home.paths)
    pair = [worker(home.folder, "crash", f"k{n}") for n in range(2)]
    time.sleep(0.4 + dice.random() * 0.3)
    holder.release()
    for process in pair:
        calls += announced(process, dice.random() * 0.15)
    for n in range(2):
        calls += announced(worker(home.folder, "crash", f"m{n}"), dice.random() * 0.1)
    kept_once(home, calls)


def test_the_row_is_there_after_a_kill_right_behind_the_hook(home: Home) -> None:
    process = worker(home.folder, "script")
    assert process.stdin is not None
    process.stdin.write("start()\nmerged()\npre('c1')\nos.kill(os.getpid(), 9)\n")
    process.stdin.close()
    process.wait()
    assert [row["status"] for row in read_rows(home.paths)] == ["PENDING"]
    # Its writer is gone, so nobody waits for the grace period.
    assert "#1 write_file" in home.turn()
    assert home.statuses() == ["GHOST_REPORTED"]


def test_a_fork_keeps_both_sides_apart(home: Home) -> None:
    home.pre(call="parent-1")
    home.merged()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            door.pre_tool_call("write_file", {"path": "/c"}, "s1", "s1", "child-1", "s1:t", "r")
            door.post_tool_call("write_file", {"path": "/c"}, "{}", "s1", "s1", "child-1", "s1:t", "r", 1, "ok")
            mine = door.recorder().keeper
            deadline = time.monotonic() + 60
            while (mine._spool.active or mine._store is None) and time.monotonic() < deadline:
                time.sleep(0.01)
            os.write(write, b"ok" if not mine._spool.active else b"no")
        finally:
            os._exit(0)
    home.post(call="parent-1")
    home.pre(call="parent-2")
    os.waitpid(child, 0)
    assert os.read(read, 2) == b"ok"
    os.close(read)
    os.close(write)
    home.post(call="parent-2")
    rows = home.rows()
    assert sorted(row["tool_call_id"] for row in rows) == ["child-1", "parent-1", "parent-2"]
    assert {row["status"] for row in rows} == {"CONFIRMED"}
    assert len({row["writer_id"] for row in rows}) == 2


def test_a_fork_while_something_is_spooled_leaves_the_spool_to_its_writer(home: Home) -> None:
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    home.pre(call="parent")
    child = os.fork()
    if child == 0:
        try:
            door.pre_tool_call("write_file", {"path": "/c"}, "s1", "s1", "child", "s1:t", "r")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert len(spool.files(home.paths)) == 2
    holder.release()
    until(lambda: not spool.files(home.paths), "both spools are merged")
    assert sorted(row["tool_call_id"] for row in home.rows()) == ["before", "child", "parent"]


def test_a_child_that_lives_on_does_not_keep_the_spool_of_its_dead_parent(home: Home) -> None:
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    parent = worker(home.folder, "script")
    assert parent.stdin is not None
    parent.stdin.write(
        "pre('parent')\nchild = os.fork()\nif child == 0:\n    pre('child')\n    time.sleep(60)\n    os._exit(0)\n"
        "time.sleep(0.3)\nsay(child)\nos.kill(os.getpid(), 9)\n"
    )
    parent.stdin.close()
    child = int(said(parent))
    try:
        parent.wait()
        holder.release()
        home.start()
        until(lambda: "parent" in {row["tool_call_id"] for row in read_rows(home.paths)}, "the parent's call is merged")
    finally:
        os.kill(child, signal.SIGKILL)


def test_many_threads_at_the_very_first_call_start_one_background_thread(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = threading.Barrier(2, timeout=0.5)
    real = threading.Thread

    class SlowToMake(real):  # type: ignore[valid-type, misc]  # found at run time
        def __init__(self, *args: object, **named: object) -> None:
            if named.get("name") == "agent-ledger":
                # Both threads meet here if both have decided to make one.
                with contextlib.suppress(threading.BrokenBarrierError):
                    made.wait()
            super().__init__(*args, **named)

    monkeypatch.setattr("agent_ledger.engine.keeper.threading.Thread", SlowToMake)
    callers = [real(target=home.pre, kwargs={"call": f"c{n}"}) for n in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    home.merged()
    assert [t.name for t in threading.enumerate()].count("agent-ledger") == 1
    assert len(home.rows()) == 2


def test_no_thread_to_be_had_loses_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        home.pre(call="c1")
        home.pre(call="c2")
    home.pre(call="c3")
    assert sorted(row["tool_call_id"] for row in home.rows()) == ["c1", "c2", "c3"]


def test_a_spool_is_never_seen_before_it_is_held(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that scans the folder in the very moment a spool is made must not take it for abandoned."""
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    real = fcntl.flock
    tried: list[bool] = []

    def flock(descriptor: int, operation: int) -> None:
        if not tried and spool.files(home.paths):
            tried.append(True)
            # What the other process does to each file that it finds in the folder.
            for path in spool.files(home.paths):
                with spool.abandoned(path) as ours:
                    if ours:
                        path.unlink()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    home.pre(call="c1")
    monkeypatch.undo()
    holder.release()
    assert sorted(row["tool_call_id"] for row in home.rows()) == ["before", "c1"]


def test_an_unreadable_spool_file_is_not_taken_for_an_empty_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor is left for the second opening: the file must stay until it was read."""
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    other = worker(home.folder, "script")
    assert other.stdin is not None
    other.stdin.write("pre('other')\nsay('spooled')\nos.kill(os.getpid(), 9)\n")
    other.stdin.close()
    assert said(other) == "spooled"
    other.wait()
    real = paths.private_file
    opened: list[int] = []

    def private_file(path: Any, flags: int) -> int:
        opened.append(flags)
        if flags == os.O_RDONLY and len(opened) < 12:
            raise OSError(24, "Too many open files")
        return real(path, flags)

    monkeypatch.setattr(spool, "private_file", private_file)
    holder.release()
    home.start()
    until(lambda: not spool.files(home.paths), "the spool is merged")
    assert sorted(row["tool_call_id"] for row in home.rows()) == ["before", "other"]


def test_two_spools_of_one_dead_process_are_merged_in_the_order_they_were_written(home: Home) -> None:
    """The file in the home takes no more, the next one lies elsewhere; then the process is killed."""
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    script = (
        "from agent_ledger.engine import spool\nreal = spool._append\ncount = 0\n"
        "def append(descriptor, record):\n    global count\n    count += 1\n"
        "    return False if count == 5 else real(descriptor, record)\nspool._append = append\n"
        "for n in range(4): pre(f'{prefix}-{n}')\nfor n in range(4): post(f'{prefix}-{n}')\n"
        "say('spooled')\nos.kill(os.getpid(), 9)\n"
    )
    for prefix in "abcdef":
        other = worker(home.folder, "script")
        assert other.stdin is not None
        other.stdin.write(f"prefix = {prefix!r}\n{script}")
        other.stdin.close()
        assert said(other) == "spooled"
        other.wait()
    assert len(spool.files(home.paths)) == 12
    holder.release()
    home.start()
    until(lambda: not spool.files(home.paths), "all spools are merged")
    rows = home.rows("tool_call_id <> 'before'")
    assert sorted(row["tool_call_id"] for row in rows) == [f"{prefix}-{n}" for prefix in "abcdef" for n in range(4)]
    assert {row["status"] for row in rows} == {"CONFIRMED"}


def test_a_fork_while_a_recorder_is_being_made_keeps_no_child_waiting(home: Home) -> None:
    """The thread that would let go of the lock is not in the child."""
    home.close()
    with door._making:
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # Ends it by force where it waits for ever.
            door.pre_tool_call("write_file", {"path": "/c"}, "s1", "s1", "child-1", "s1:t", "r")
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
