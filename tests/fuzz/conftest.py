"""The option `--fuzz-examples N` (name this folder on the command line), and one throw-away home for the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from . import places, profiles


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-examples",
        type=int,
        default=None,
        metavar="N",
        help="try each property on so many random examples instead of a few fixed ones",
    )


def pytest_configure(config: pytest.Config) -> None:
    profiles.many(config.getoption("--fuzz-examples", default=None))


@pytest.fixture(scope="session", autouse=True)
def _no_home_is_left() -> Iterator[None]:
    yield
    places.remove()
