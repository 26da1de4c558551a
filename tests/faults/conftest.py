"""Options and fixtures of the seeded rounds: some in every run, many by option, one again by its seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .children import Nursery
from .rounds import FaultHome

_ROUNDS = "rounds"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fault-rounds", type=int, metavar="N", help="run each seeded test of faults with the seeds 0 to N-1"
    )
    parser.addoption("--fault-seed", type=int, metavar="N", help="run each seeded test of faults with this seed only")
    parser.addoption("--fault-hosts", type=int, metavar="N", help="hosts at work in the tests of files taken away")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_ROUNDS}(count): seeds that a test of faults gets unless an option says so")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `seed` is run once a seed: as often as its mark `rounds` says, or an option."""
    if "seed" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker(_ROUNDS)
    seeds = range(metafunc.config.getoption("--fault-rounds", default=None) or (mark.args[0] if mark else 1))
    only = metafunc.config.getoption("--fault-seed", default=None)
    metafunc.parametrize("seed", seeds if only is None else [only], ids=lambda seed: f"seed{seed}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Beside a failure stands how to see it again."""
    called = getattr(item, "callspec", None)
    seed = called and called.params.get("seed")
    if seed is not None:
        path = item.nodeid.partition("[")[0]
        item.add_report_section("call", "fault", f"again: pytest '{path}' --fault-seed {seed}")
    return (yield)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Starts processes within milliseconds, the program imported."""
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def new_fault_home(nursery: Nursery, tmp_path: Path) -> Callable[[str], FaultHome]:
    """Makes homes under a name, each with a temporary folder of its own."""
    return lambda name: FaultHome(tmp_path / name, nursery)


@pytest.fixture
def fault_home(new_fault_home: Callable[[str], FaultHome]) -> FaultHome:
    return new_fault_home("home")
