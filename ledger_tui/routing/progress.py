"""How far a reading of the store is, and that it was called off. Loads nothing: the app's start needs these names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class ReadingStoppedError(Exception):
    """The person called the reading off."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading is: rows read of rows there are; both counts grow with sessions and messages alike."""

    done: int
    total: int


Tell = Callable[[Progress], None]
Stopped = Callable[[], bool]
