"""`kill -9` before any line of the program, and in the middle of any write: what was accepted stands, once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from .rounds import CALLS, FaultHome, dice, spread

HOST = f"""{CALLS}
from agent_ledger.engine import keeper
keeper.CHECKPOINT_WRITES = 9
"""
"""A host's process that empties SQLite's log every few writes, so that deaths fall there too."""

A_CHAT = "start()\ncalls('k', 12)\nturn()\nmerged()\n"

MOST_LINES = 6_000
"""About the lines that the plugin runs for `A_CHAT`; later deaths come too late and change nothing."""


@contextlib.contextmanager
def locked(home: FaultHome) -> Iterator[None]:
    """Somebody holds the ledger, so that every record is spooled."""
    with home.child(f"hold({str(home.paths.ledger)!r})") as holder:
        assert holder.line() == "held"
        yield
        holder.tell()
        assert holder.end().code == 0


@pytest.mark.rounds(40)
def test_a_host_that_dies_before_any_line(fault_home: FaultHome, seed: int) -> None:
    ended = fault_home.run(f"{HOST}\ndie_at_line({spread(seed, MOST_LINES)})\n{A_CHAT}")
    assert ended.code in (0, -9), ended
    fault_home.nothing_lost()
    fault_home.recover()
    fault_home.whole()


@pytest.mark.rounds(24)
def test_a_host_that_dies_in_a_write(fault_home: FaultHome, seed: int) -> None:
    """The kernel kills it where a file would grow beyond a size; what was written of that write stays, torn."""
    size = dice(seed, "write").choice((1, 40)) * spread(seed, 2_000)
    ended = fault_home.run(f"{HOST}\nstart(); merged()\nlimit_size({size}, deadly=True)\ncalls('k', 40)\nturn()")
    assert ended.code in (0, -25), ended
    fault_home.nothing_lost()
    fault_home.recover()
    fault_home.whole()


@pytest.mark.rounds(30)
def test_deaths_while_spooling_and_while_merging(fault_home: FaultHome, seed: int) -> None:
    thrown = dice(seed, "merge")
    fault_home.run("start(); merged()")
    with locked(fault_home):
        fault_home.run(f"{HOST}\ndie_at_line({spread(seed, 4_000)})\nstart()\ncalls('a', 12)")
        fault_home.run(f"{HOST}\nstart()\ncalls('b', 12)\nos.kill(os.getpid(), 9)")
    fault_home.nothing_lost()
    for number in range(3):
        at = thrown.randrange(1, 3_000)
        ended = fault_home.run(f"{HOST}\ndie_at_line({at})\nstart()\ncalls('m{number}', 2)\nmerged()")
        assert ended.code in (0, -9), ended
        fault_home.nothing_lost()
    fault_home.recover()
    fault_home.whole()


@pytest.mark.rounds(20)
def test_deaths_in_a_write_while_merging(fault_home: FaultHome, seed: int) -> None:
    fault_home.run("start(); merged()")
    with locked(fault_home):
        for number in range(2):
            fault_home.run(f"{HOST}\nstart()\ncalls('k{number}', 20, 300)\nos.kill(os.getpid(), 9)")
    for number in range(2):
        size = spread(2 * seed + number, 90_000)
        ended = fault_home.run(f"{HOST}\nlimit_size({size}, deadly=True)\nstart()\nmerged(5)")
        assert ended.code in (0, -25), ended
        fault_home.nothing_lost()
    fault_home.recover()
    fault_home.whole()


@pytest.mark.rounds(20)
def test_one_of_two_hosts_dies(fault_home: FaultHome, seed: int) -> None:
    dying = f"{HOST}\nsay('ready'); sys.stdin.readline()\ndie_at_line({spread(seed, MOST_LINES)})\n{A_CHAT}"
    living = f"{HOST}\nsay('ready'); sys.stdin.readline()\nstart()\ncalls('l', 60)\nsay(merged())"
    with fault_home.child(dying) as one, fault_home.child(living) as other:
        for child in (one, other):
            assert child.line() == "ready"
        for child in (one, other):
            child.tell()
        assert fault_home.account(one.end()).code in (0, -9)
        ended = fault_home.account(other.end())
    assert (ended.code, ended.words[-1]) == (0, "True\n"), ended
    fault_home.nothing_lost()
    fault_home.recover()
    fault_home.whole()
