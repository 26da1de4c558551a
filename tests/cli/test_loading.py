"""Garbage collection around the loading of modules."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ledger_tui.loading import loading


@pytest.fixture(autouse=True)
def usual_collections() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def fails() -> None:
    with loading():
        raise ImportError("no such module")


def test_collections_rest_inside_and_never_look_at_what_was_loaded() -> None:
    with loading():
        assert not gc.isenabled()
        kept = [[number] for number in range(5_000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= len(kept)


def test_they_go_on_after_a_failure() -> None:
    with pytest.raises(ImportError):
        fails()
    assert gc.isenabled()


def test_whoever_switched_them_off_finds_them_off() -> None:
    gc.disable()
    with loading():
        pass
    assert not gc.isenabled()
