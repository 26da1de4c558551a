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

MOST_WAYS = 2_048
MOST_WORK = 100 * LONGEST_TEXT**MOST_ENDLESS
"""Ways to match at one place apart from endless repetitions, and all of them together."""

_ABOVE_ALL = 10**12

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
    endless, ways = _cost(tree, inside=False)
    if endless > MOST_ENDLESS:
        raise PatternError(f"the pattern could run away: more than {MOST_ENDLESS} repetitions without an end")
    if ways > MOST_WAYS or ways * LONGEST_TEXT**endless > MOST_WORK:
        raise PatternError("the pattern could run away: there are too many ways to match it")
    return found


def _cost(tree: Any, *, inside: bool) -> tuple[int, int]:
    """(endless repetitions, ways to match at one place apart from them) of a parsed pattern.

    An endless repetition in which there is anything to choose is refused.
    """
    endless, ways = 0, 1
    for operator, value in tree:
        more, factor = _cost_of(operator, value, inside=inside)
        endless, ways = endless + more, min(ways * factor, _ABOVE_ALL)
    return endless, ways


def _cost_of(operator: Any, value: Any, *, inside: bool) -> tuple[int, int]:
    if operator in _REPEATS:
        return _cost_of_repeat(*value, inside=inside)
    if operator is _constants.BRANCH:
        if inside:
            raise PatternError("the pattern could run away: alternatives inside a repetition")
        found = [_cost(branch, inside=inside) for branch in value[1]]
        return max(endless for endless, _ in found), sum(ways for _, ways in found)
    if operator is _constants.SUBPATTERN:
        return _cost(value[3], inside=inside)
    if operator in (_constants.ASSERT, _constants.ASSERT_NOT):
        return _cost(value[1], inside=inside)
    if operator in (_constants.GROUPREF, _constants.GROUPREF_EXISTS):
        raise PatternError("the pattern could run away: it refers back to a group")
    if operator is getattr(_constants, "ATOMIC_GROUP", None):
        return _cost(value, inside=inside)
    return 0, 1


def _cost_of_repeat(low: int, high: int, body: Any, *, inside: bool) -> tuple[int, int]:
    endless = high > _MANY
    if inside and high != low:
        raise PatternError("the pattern could run away: a repetition inside a repetition")
    within, ways = _cost(body, inside=inside or endless)
    if endless:
        return 1 + within, ways
    # Each further turn multiplies what one of them offers.
    return within * high, min(sum(min(ways, _MANY * MOST_WAYS) ** turns for turns in range(low, high + 1)), _ABOVE_ALL)
