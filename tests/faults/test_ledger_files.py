"""Files taken away, replaced and locked under two hosts at work, in any order: what was accepted afterwards stands."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_ledger.engine.place import Place
from tests.engine.homes import until

from .children import Child
from .rounds import CALLS, DAMAGE, FaultHome, dice

HOST = f"""{CALLS}
from agent_ledger.engine import keeper
keeper.CHECKPOINT_WRITES = 9
start()
say("ready")
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "calls":
        calls(rest, 4)
    elif word == "turn":
        turn()
    elif word == "merged":
        merged(10)
    say("did")
"""

HOSTS = 1
"""Unless the option `--fault-hosts` says otherwise. With two, a round in some hundreds may lose calls: a ledger that is
removed in the moment in which one of them opens it leaves its log beside the one that the other makes."""

NONSENSE = b"no database at all"


class Stage:
    """Hosts that do as they are told, and what happens to their files meanwhile."""

    def __init__(self, home: FaultHome, thrown: random.Random, stack: contextlib.ExitStack, hosts: int) -> None:
        self.home, self.thrown = home, thrown
        self._stack = stack
        self.hosts = [self._new_host() for _ in range(hosts)]
        self.apart: set[str] = set()
        """Calls that went into something that was taken away."""
        self.told: list[str] = []
        self._holder: Child | None = None
        self._made = 0

    def _new_host(self) -> Child:
        host = self._stack.enter_context(self.home.child(HOST))
        assert host.line() == "ready"
        return host

    def do(self, host: Child, order: str) -> None:
        """Have a host do something; what it accepted goes into the accounts."""
        self.told.append(order)
        host.tell(order)
        while (line := host.line()) != "did":
            assert line, f"the host ended: {self.told}"
            self.home.enter(line)

    def readable(self) -> bool:
        """Is there a ledger with rows, and nobody who keeps others from writing to it?"""
        with contextlib.suppress(sqlite3.DatabaseError):
            return self._holder is None and bool(self.home.rows())
        return False

    def calls(self) -> None:
        self._made += 1
        self.do(self.thrown.choice(self.hosts), f"calls n{self._made}")

    def turn(self) -> None:
        self.do(self.thrown.choice(self.hosts), "turn")

    def settle(self) -> None:
        if self.readable():
            self.do(self.thrown.choice(self.hosts), "merged")

    # -- faults ----------------------------------------------------------------------------------------------------

    def _taken(self) -> None:
        self.apart.update(self.home.issued)

    def remove_ledger(self) -> None:
        self._taken()
        for path in self.home.paths.data.glob("ledger.db*"):
            self._remove(path.name)

    def remove_file_alone(self) -> None:
        self._taken()
        self._remove("ledger.db")

    def remove_small_files(self) -> None:
        self._remove(self.thrown.choice(("ledger.lock", "hash.key")))

    def remove_own_spools(self) -> None:
        """Of hosts that live: they still have the files open, and what stands in them is lost only if they die."""
        self.apart.update(self.home.waiting_calls())
        for path in self.home.paths.spool.glob("*.jsonl"):
            if any(path.name.startswith(f"{host.pid}-") for host in self.hosts):
                path.unlink()

    def remove_folder(self) -> None:
        until(self._folder_is_gone, "the folder is removed, though hosts make it anew")
        self._taken()

    def _folder_is_gone(self) -> bool:
        with contextlib.suppress(OSError):
            shutil.rmtree(self.home.paths.data)
            return True
        return not self.home.paths.data.exists()

    def _remove(self, name: str) -> None:
        path = self.home.paths.data / name
        if path.is_dir():
            path.rmdir()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()

    def restore_backup(self) -> None:
        """A copy of a moment ago is moved into place."""
        backup = self.home.paths.home / "backup.db"
        with contextlib.suppress(FileNotFoundError):
            backup.unlink()
        if not self.readable():
            return
        with contextlib.closing(sqlite3.connect(backup)) as copy, self.home.reading() as source:
            source.backup(copy)
        self.calls()
        self._taken()
        os.replace(backup, self.home.paths.ledger)
        self.notice()  # Whoever else opened it before would read the log of the old file into the new one.

    def put_nonsense(self) -> None:
        """Something that is no ledger lies at its place."""
        folder = self.thrown.random() < 0.5
        until(lambda: self._nonsense_lies_there(folder), "it lies there before a host makes a ledger")

    def _nonsense_lies_there(self, folder: bool) -> bool:
        self.remove_ledger()
        whole = self.home.paths.home / "nonsense"
        whole.write_bytes(NONSENSE * 300)
        with contextlib.suppress(FileNotFoundError):  # There is no data folder: then nothing can lie in it.
            try:
                if folder:
                    self.home.paths.ledger.mkdir()
                else:
                    os.link(whole, self.home.paths.ledger)  # At once, and never into a ledger that a host has made.
            except FileExistsError:
                return False
            finally:
                whole.unlink()
        return True

    def hold(self) -> None:
        if self.readable():
            self._holder = self._stack.enter_context(
                self.home.child(f"import sqlite3\nhold({str(self.home.paths.ledger)!r})")
            )
            assert self._holder.line() == "held"

    def let_go(self) -> None:
        if self._holder is not None:
            self._holder.tell()
            self._holder.end()
            self._holder = None

    def kill_a_host(self) -> None:
        number = self.thrown.randrange(len(self.hosts))
        self.hosts[number].kill()
        self.hosts[number].end()
        self.hosts[number] = self._new_host()

    def notice(self) -> None:
        """Have every host see what happened to its files."""
        for number, host in enumerate(self.hosts):
            self.do(host, f"calls w{len(self.told)}{number}")
            self.do(host, "merged")

    def a_person_deletes_rows(self) -> None:
        if not self.readable():
            return
        self._taken()
        with contextlib.closing(sqlite3.connect(self.home.paths.ledger, timeout=10)) as person, person:
            person.execute("DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT 3)")

    def a_person_empties_the_log(self) -> None:
        if not self.readable():
            return
        with contextlib.closing(sqlite3.connect(self.home.paths.ledger, timeout=10)) as person:
            person.execute(self.thrown.choice(("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM")))

    def end(self) -> None:
        """Nothing is in the way any more."""
        self.let_go()
        ledger = self.home.paths.ledger
        if ledger.is_dir() or (ledger.is_file() and ledger.read_bytes().startswith(NONSENSE)):
            if self.readable():  # By the log of a host that was killed just after its own ledger had been removed.
                self._taken()
            for path in self.home.paths.data.glob("ledger.db*"):
                self._remove(path.name)


FAULTS: tuple[Callable[[Stage], None], ...] = (
    Stage.remove_ledger,
    Stage.remove_file_alone,
    Stage.remove_small_files,
    Stage.remove_own_spools,
    Stage.remove_folder,
    Stage.restore_backup,
    Stage.put_nonsense,
    Stage.hold,
    Stage.hold,
    Stage.let_go,
    Stage.kill_a_host,
    Stage.kill_a_host,
    Stage.a_person_deletes_rows,
    Stage.a_person_empties_the_log,
)


@pytest.fixture
def stage(fault_home: FaultHome, seed: int, pytestconfig: pytest.Config) -> Iterator[Stage]:
    hosts = pytestconfig.getoption("--fault-hosts", default=None) or HOSTS
    with contextlib.ExitStack() as stack:
        yield Stage(fault_home, dice(seed, "files"), stack, hosts)


@pytest.mark.rounds(30)
def test_faults_in_any_order(stage: Stage, fault_home: FaultHome, seed: int) -> None:
    thrown = dice(seed, "order")
    for _ in range(6):
        for _ in range(thrown.randint(1, 3)):
            thrown.choice((stage.calls, stage.calls, stage.turn, stage.settle))()
        fault = thrown.choice(FAULTS)
        stage.told.append(fault.__name__)
        fault(stage)
    stage.calls()
    stage.end()
    for host in stage.hosts:
        if thrown.random() < 0.5:
            stage.do(host, "merged")
        host.kill()
        host.end()
    print(*stage.told, sep=", ")
    fault_home.recover()
    fault_home.whole(apart=stage.apart)


@pytest.mark.rounds(24)
def test_a_ledger_damaged_under_its_host(stage: Stage, fault_home: FaultHome, seed: int) -> None:
    """The hooks go on, whatever becomes of the file; once it is out of the way all that follows is kept."""
    thrown = dice(seed, "under")
    for _ in range(3):
        stage.calls()
    stage.notice()
    for _ in range(thrown.randint(1, 3)):
        path = fault_home.paths.data / thrown.choice(("ledger.db", "ledger.db-wal"))
        if path.exists():
            stage.told.append(thrown.choice(DAMAGE)(path, thrown))
        stage.calls()
        stage.turn()
    stage.remove_ledger()
    stage.calls()
    print(*stage.told, sep=", ")
    for host in stage.hosts:
        stage.do(host, "merged")
        host.kill()
        assert "Traceback" not in host.end().err
    fault_home.recover()
    fault_home.whole(apart=stage.apart)


COUNTED = """
rounds = 0
real_round = keeper.Keeper._round
def counted(self):
    global rounds
    rounds += 1
    real_round(self)
keeper.Keeper._round = counted
def some_rounds():
    target = rounds + 3
    while rounds < target:
        door.recorder().keeper._wake.set()
        time.sleep(0.005)
"""


READER = """
reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
reader.execute("BEGIN"); reader.execute("SELECT count(*) FROM ledger").fetchone()
say("held"); sys.stdin.readline()
"""


@pytest.mark.parametrize("who", ["a writer", "a reader"])
def test_rows_of_a_removed_log_are_brought_home_once_nobody_is_in_the_way(fault_home: FaultHome, who: str) -> None:
    """SQLite's log is removed while somebody uses the ledger: its rows are in the open file only, and must wait."""
    path = str(fault_home.paths.ledger)
    script = (
        f"{CALLS}\nfrom agent_ledger.engine import keeper\n{COUNTED}\n"
        "start(); merged()\ncalls('early', 4)\nsay('ready'); sys.stdin.readline()\n"
        "calls('logged', 0 if {who!r} == 'a writer' else 4)\nsay('logged'); sys.stdin.readline()\n"
        "calls('held', 4)\nsome_rounds()\nsay('tried'); sys.stdin.readline()\nsay(merged())"
    ).replace("{who!r}", repr(who))
    hold = f"hold({path!r})" if who == "a writer" else f"path = {path!r}\n{READER}"
    with fault_home.child(script) as host:
        after(host, "ready")
        with fault_home.child(hold) as other:
            after(other, "held")
            host.tell()
            after(host, "logged")
            for end in ("-wal", "-shm"):
                os.unlink(f"{path}{end}")
            host.tell()
            after(host, "tried")
            other.tell()
            other.end()
        host.tell()
        ended = fault_home.account(host.end())
    assert ended.words[-1] == "True\n", ended
    fault_home.whole()


def after(child: Child, word: str) -> None:
    """Wait until a child says a word."""
    while (line := child.line()) != word:
        assert line, f"it ended before it said {word}"


def test_calls_spooled_after_the_spool_was_removed_outlive_their_host(fault_home: FaultHome) -> None:
    fault_home.run("start(); merged()")
    with fault_home.child(f"hold({str(fault_home.paths.ledger)!r})") as holder:
        assert holder.line() == "held"
        with fault_home.child(HOST) as host:
            assert host.line() == "ready"
            host.tell("calls before")
            while host.line() != "did":
                pass
            (path,) = fault_home.spool_files()
            path.unlink()
            host.tell("calls after")
            while (line := host.line()) != "did":
                fault_home.enter(line)
            host.kill()
            host.end()
        holder.tell()
        holder.end()
    assert len(fault_home.issued) == 4
    fault_home.recover()
    fault_home.whole()


def test_a_ledger_removed_while_it_is_opened_does_not_count_as_ours(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    ledger.touch()
    place = Place(ledger)
    ledger.unlink()
    place.learn()
    assert not place.unchanged()
    ledger.touch()
    assert Place(ledger).unchanged()
