"""Hosts, models and homes for the tests of this folder. Each test runs once per released Hermes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .environments import HOSTS, BuildError, Host, build
from .home import HermesHome
from .model import Model

MakeHome = Callable[[str], HermesHome]


@pytest.fixture(scope="module", params=list(HOSTS.values()), ids=lambda host: f"hermes-{host.name}")
def host(request: pytest.FixtureRequest) -> Host:
    """A released Hermes, its environment made."""
    found: Host = request.param
    try:
        build(found)
    except BuildError as problem:
        pytest.fail(f"{problem} (`--no-hosts` leaves these tests out)", pytrace=False)
    return found


@pytest.fixture(scope="module")
def make_home(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeHome]:
    """Makes throw-away homes of this host, each with a model of its own."""
    models: list[Model] = []

    def make(name: str) -> HermesHome:
        models.append(Model())
        return HermesHome(host, tmp_path_factory.mktemp(name) / "person", models[-1])

    yield make
    for model in models:
        model.close()
