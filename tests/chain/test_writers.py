"""Several processes at once, with turns and without, with pruning, verdicts and checks beside them."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import Checked
from agent_ledger.engine.evidence.verdict import landed
from agent_ledger.engine.evidence.verdicts import save
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.prune import plan, prune
from tests.engine.homes import ROOT, Home, said, tell, until, worker

from .by_docs import verified
from .ledgers import Made

WRITERS, CALLS = 4, 120

NO_TURNS = """
from agent_ledger.engine.turnstile import Turnstile
Turnstile.enter = lambda self, seconds: True
Turnstile.leave = lambda self: None
"""
"""Without turns only what each statement checks in the database itself holds the chain together."""

WRITE = """
start()
pre('warm{name}'); post('warm{name}')
merged()
say('ready')
while not os.path.exists(os.environ['HERMES_HOME'] + '/go'):
    time.sleep(0.0005)
for n in range({calls}):
    pre(f'{name}-{{n}}'); post(f'{name}-{{n}}')
say('done' if merged() else 'not merged')
"""


class Beside:
    """Does one thing in a thread, again and again, until the `with` ends; what it raises comes out there."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work, self.rounds = work, 0
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.work()
                self.rounds += 1
        except BaseException as error:
            self._error = error

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


def checked(paths: Paths) -> Checked:
    with closing(sqlite3.connect(f"{paths.ledger.as_uri()}?mode=ro", uri=True, timeout=10)) as db:
        found = check_chain(db)
        assert found.whole, found.found
        return found


def write(home: Home, *, turns: bool) -> None:
    """All writers at once, to their end."""
    processes = [worker(home.folder, "script") for _ in range(WRITERS)]
    for number, process in enumerate(processes):
        assert process.stdin is not None
        process.stdin.write(("" if turns else NO_TURNS) + WRITE.format(calls=CALLS, name=f"w{number}"))
        process.stdin.close()
    for process in processes:
        assert said(process) == "ready"
    (home.folder / "go").touch()
    for process in processes:
        assert said(process) == "done"
        assert process.wait(60) == 0
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def begun(home: Home) -> Home:
    """A home with one call, so that the ledger is there."""
    home.pre(call="first")
    home.post(call="first")
    home.merged()
    return home


@pytest.mark.parametrize("turns", [True, False], ids=["in turn", "without turns"])
def test_four_writers_and_checks_all_the_while(begun: Home, turns: bool) -> None:
    with Beside(lambda: _sees(begun.paths)) as looking:
        write(begun, turns=turns)
    assert looking.rounds > 0
    found = checked(begun.paths)
    assert (found.state, found.rows) == ("whole", WRITERS * (CALLS + 1) + 1)
    with closing(sqlite3.connect(begun.paths.ledger)) as db:
        assert len(verified(db)) == found.records == 2 * found.rows
        ids = {row[0] for row in db.execute("SELECT tool_call_id FROM ledger")}
    warm = {f"warmw{w}" for w in range(WRITERS)}
    assert ids == {"first"} | warm | {f"w{w}-{n}" for w in range(WRITERS) for n in range(CALLS)}


def _sees(paths: Paths) -> None:
    checked(paths)


def test_pruning_and_verdicts_beside_them(begun: Home) -> None:
    def prune_some() -> None:
        with closing(sqlite3.connect(begun.paths.ledger, timeout=10)) as db:
            through = plan(db, 40).through_id
        if through is not None:
            prune(begun.paths.ledger, through)
        checked(begun.paths)

    def judge() -> None:
        with closing(sqlite3.connect(begun.paths.ledger, timeout=10)) as db:
            (newest,) = db.execute("SELECT max(id) FROM ledger").fetchone()
        save(begun.paths.ledger, [(newest, landed(begun.clock.wall(), "It is there."))])

    with Beside(prune_some), Beside(judge):
        write(begun, turns=True)
    prune_some()
    found = checked(begun.paths)
    assert found.rows + found.pruned == WRITERS * (CALLS + 1) + 1
    assert not found.by_hand


def test_a_turn_writes_down_what_others_recorded_last(tmp_path: Path) -> None:
    ours = Made(tmp_path / "ledger.db")
    ours.calls(1, 2)
    others = Made(tmp_path / "ledger.db")
    others.calls(3, 4)
    ours.turn()
    assert ours.db.execute("SELECT number FROM chain_head").fetchone() == (8,)
    others.unsettle(4)
    assert ours.check().first is not None
    ours.db.close()
    others.db.close()


PRUNE = """
import sys
from pathlib import Path
from agent_ledger.engine import prune as engine
engine._FIRST_BITE = 3
def rest(_):
    print('bite', flush=True)
    sys.stdin.readline()
ticks = iter(range(10**6))
engine.prune(Path(sys.argv[1]), 60, sleep=rest, mono_clock=lambda: next(ticks) * 0.002)
"""


@pytest.mark.parametrize("bites", [1, 2, 3])
def test_killed_in_the_middle_of_pruning(begun: Home, bites: int) -> None:
    for number in range(1, 70):
        begun.pre(call=f"c{number}")
        if number % 7:
            begun.post(call=f"c{number}")
    begun.merged()
    command = [sys.executable, "-c", PRUNE, str(begun.paths.ledger)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:
        for _ in range(bites - 1):
            assert said(process) == "bite"
            tell(process)
        assert said(process) == "bite"
        process.send_signal(signal.SIGKILL)
    found = checked(begun.paths)
    gone = 3 + 10 * (bites - 1)  # No bite but the first is smaller than ten.
    assert (found.state, found.pruned, found.rows, found.by_hand) == ("pruned", gone, 70 - gone, False)
    prune(begun.paths.ledger, 60)
    begun.pre(call="later")
    begun.post(call="later")
    begun.merged()
    found = checked(begun.paths)
    assert (found.state, found.rows) == ("pruned", 10 + 8 + 1)


def test_without_a_write_ahead_log_a_long_check_costs_no_record(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """There nobody can write while somebody reads: the hooks spool, and merge when the check is over."""
    monkeypatch.setattr("agent_ledger.engine.store.network_mount", lambda _: "nfs4 on /mnt/far")
    home.pre(call="first")
    home.post(call="first")
    home.merged()
    with closing(sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True, timeout=10)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    began, go_on = threading.Event(), threading.Event()

    def wait(_: int) -> None:
        began.set()
        go_on.wait(60)

    monkeypatch.setattr("agent_ledger.engine.chain.check.STEP", 1)
    found: list[Checked] = []

    def look() -> None:
        with closing(sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True, timeout=10)) as reader:
            found.append(check_chain(reader, wait))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        assert began.wait(60)
        for number in range(50):
            home.pre(call=f"c{number}")
            home.post(call=f"c{number}")
    finally:
        go_on.set()
        thread.join()
    assert (found[0].rows, found[0].whole) == (1, True)
    until(lambda: len(home.rows()) == 51, "everything is merged")
    assert {row["status"] for row in home.rows()} == {"CONFIRMED"}
    assert checked(home.paths).rows == 51
