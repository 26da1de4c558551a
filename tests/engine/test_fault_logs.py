"""SQLite's log is removed under its writer, and what stands in it can be brought into the ledger only later."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ledger.engine.merge import Merger

from .homes import Home, integrity, read_rows, said, three_waiting, worker

FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
start(); pre('before'); merged()
keeper, ledger = door.recorder().keeper, door.recorder().keeper.paths.ledger
with keeper._lock: keeper._store.checkpoint()
for n in range(60): pre(f'c{n}')
room = os.path.getsize(ledger) + 3 * 2048
tries, rescue = [], type(keeper._store).rescue
def counted(store):
    tries.append(store)
    rescue(store)
type(keeper._store).rescue = counted
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
os.unlink(f'{ledger}-wal')
for n in range(5): pre(f'late{n}')
while not tries or keeper._lock.locked(): time.sleep(0.01)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
say(merged(20))
"""


def test_a_removed_log_is_kept_open_until_a_full_disk_takes_the_whole_of_it(home: Home) -> None:
    """Half of it in the file would leave a ledger that nobody can read."""
    process = worker(home.folder, "script")
    assert process.stdin is not None
    process.stdin.write(FULL)
    process.stdin.close()
    assert said(process) == "True"
    process.wait()
    assert integrity(home.paths.ledger) == "ok"
    assert [row["tool_call_id"] for row in read_rows(home.paths)] == [
        "before", *(f"c{n}" for n in range(60)), *(f"late{n}" for n in range(5))
    ]  # fmt: skip


@pytest.mark.parametrize("whose", ["own", "in memory"])
def test_what_was_merged_when_the_log_alone_was_removed_is_not_merged_again(
    home: Home, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    """It stands in the log that is still open, and comes into the ledger with it."""
    holder = three_waiting(home, in_memory=whose == "in memory")
    log = home.paths.ledger.with_name("ledger.db-wal")
    removed: list[bool] = []
    real = Merger._record

    def record(merger: Merger, *given: Any) -> Any:
        owner = real(merger, *given)
        if not removed:
            removed.append(True)
            log.unlink()
        return owner

    monkeypatch.setattr(Merger, "_record", record)
    holder.release()
    assert [row["tool_call_id"] for row in home.rows()] == ["old", "c0", "c1", "c2"]
    assert removed != []
    assert integrity(home.paths.ledger) == "ok"
