"""How far a long command is: the line itself is the plugin's, whose own commands show it, too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from agent_ledger.progress import progress

__all__ = ["counting", "progress", "stdout_is_terminal"]

Item = TypeVar("Item")


def counting(items: Iterable[Item], tell: Callable[[int, int], None], total: int = 0) -> Iterator[Item]:
    """The same items; each is told when the next one is asked for."""
    for number, item in enumerate(items, 1):
        yield item
        tell(number, total)


def stdout_is_terminal() -> bool:
    """Rows that run over a terminal show how far they are; a second line there would only tear them."""
    return sys.stdout.isatty()
