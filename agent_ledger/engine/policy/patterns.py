"""Patterns of a policy: one that could run away on some text is refused before it is used."""

from __future__ import annotations

import re

# Python has no public reader of patterns, and to read one ourselves would be to guess at what `re` will run.
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

LONGEST_PATTERN = 400

LONGEST_TEXT = 300
"""Characters of one command that a pattern is tried on."""

_MANY = 16
"""A repetition with more turns than this counts as endless."""

MOST_ENDLESS = 2
"""Endless repetitions in one pattern: what they cost together grows with the text to that power."""

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, getattr(_constants, "POSSESSIVE_REPEAT", None))


class PatternError(ValueError):
    """The pattern is none, or could run away."""


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, case ignored. Raises PatternError with a plain sentence."""
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"the pattern is longer than {LONGEST_PATTERN} characters")
    try:
        tree = _parser.parse(pattern)
        found = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"the pattern is none: {error}") from error
    if _endless(tree, inside=False) > MOST_ENDLESS:
        raise PatternError(f"the pattern could run away: more than {MOST_ENDLESS} repetitions without an end")
    return found


def _endless(tree: Any, *, inside: bool) -> int:
    """How many endless repetitions stand in a parsed pattern; one inside another is refused."""
    count = 0
    for operator, value in tree:
        if operator in _REPEATS:
            low, high, body = value
            endless = high > _MANY
            if inside and high != low:
                raise PatternError("the pattern could run away: a repetition inside a repetition")
            count += endless + _endless(body, inside=inside or endless)
        elif operator is _constants.BRANCH:
            if inside:
                raise PatternError("the pattern could run away: alternatives inside a repetition")
            count += max(_endless(branch, inside=inside) for branch in value[1])
        elif operator is _constants.SUBPATTERN:
            count += _endless(value[3], inside=inside)
        elif operator in (_constants.ASSERT, _constants.ASSERT_NOT):
            count += _endless(value[1], inside=inside)
        elif operator in (_constants.GROUPREF, _constants.GROUPREF_EXISTS):
            raise PatternError("the pattern could run away: it refers back to a group")
        elif operator is getattr(_constants, "ATOMIC_GROUP", None):
            count += _endless(value, inside=inside)
    return count
