"""Sets of names, written as text."""

from __future__ import annotations

from functools import cache


@cache
def names(text: str) -> frozenset[str]:
    """The words of `text` as a set."""
    return frozenset(text.split())
