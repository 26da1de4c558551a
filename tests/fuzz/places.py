"""A throw-away home that examples share: opening one for each would cost more than what is tried in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tests.engine.homes import Home

T = TypeVar("T")

_homes: dict[str, Home] = {}
_folder: list[Path] = []


def folder() -> Path:
    """A folder that lives as long as the session."""
    if not _folder:
        _folder.append(Path(tempfile.mkdtemp(prefix="ledger-fuzz-")))
    return _folder[0]


@contextlib.contextmanager
def current(path: Path) -> Iterator[None]:
    """This folder as the home that the host names."""
    before = os.environ.get("HERMES_HOME")
    os.environ["HERMES_HOME"] = str(path)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("HERMES_HOME", None)
        else:
            os.environ["HERMES_HOME"] = before


@contextlib.contextmanager
def home(name: str = "home") -> Iterator[Home]:
    """The home of this name as the current one, open for the whole session."""
    path = folder() / name
    path.mkdir(exist_ok=True)
    with current(path):
        if name not in _homes:
            _homes[name] = Home(path)
        yield _homes[name]


def deep_down(frames: int, do: Callable[[], T]) -> T:
    """What this gives where so many more frames of Python's stack are in use, as in an app or a host."""
    return deep_down(frames - 1, do) if frames else do()


@contextlib.contextmanager
def at_work_for_at_most(seconds: float) -> Iterator[None]:
    """Fails where this takes so much processor time: a thousand times what is right, so that only work without a bound
    does, on any machine."""

    def stop(signum: int, frame: object) -> None:
        raise AssertionError(f"still at work after {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def remove() -> None:
    """Close every home and remove the folder."""
    for made in _homes.values():
        made.close()
    _homes.clear()
    while _folder:
        shutil.rmtree(_folder.pop(), ignore_errors=True)
