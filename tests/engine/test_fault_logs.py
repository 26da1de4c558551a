"""SQLite's log is removed under its writer, and what stands in it can be brought into the ledger only later."""

from __future__ import annotations

from .homes import Home, integrity, read_rows, said, worker

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
