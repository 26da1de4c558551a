"""A person's own identifiers: shapes such as `KD-######`, or patterns in a part of the regular expressions that cannot
run away: every repetition has an end, and what is left to try at one place is counted before the pattern is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .addresses import Finder
from .numbers import luhn
from .text import Text

MOST_WORK = 2048
"""Upper bound of a pattern's ways to match at one place, times the length of its longest match."""

LONGEST_MATCH = 128
SHORTEST_MATCH = 3
"""What is shorter would be found in nearly every message."""

_LITERAL_ESCAPES = frozenset("\\.^$*+?()[]{}|-/#@:_ ")


class PatternError(ValueError):
    """A pattern that is not used; the text says why, for a person."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """Of a part of a pattern: ways to match at one place, shortest and longest match."""

    ways: int
    shortest: int
    longest: int


def from_shape(shape: str) -> str:
    """`KD-######` as a pattern: `#` is a digit, `@` a letter, everything else itself. Raises PatternError."""
    if not isinstance(shape, str) or not ("#" in shape or "@" in shape):
        raise PatternError("a shape needs a # for each digit or an @ for each letter")
    return "".join({"#": "[0-9]", "@": "[A-Za-z]"}.get(mark, re.escape(mark)) for mark in shape)


def compiled(pattern: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """The pattern, standing alone as a word. Raises PatternError where it could run away or is none."""
    cost = _Reader(pattern).read()
    if cost.shortest < SHORTEST_MATCH:
        raise PatternError(f"it can match fewer than {SHORTEST_MATCH} characters, so it would match nearly everything")
    if cost.longest > LONGEST_MATCH:
        raise PatternError(f"it can match more than {LONGEST_MATCH} characters")
    if cost.ways * cost.longest > MOST_WORK:
        raise PatternError("it can be matched in too many ways, so that a long message could take seconds")
    try:
        return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise PatternError(f"it is no pattern ({error})") from error


def finder(patterns: list[re.Pattern[str]], check: str | None) -> Finder:
    """Finds what any of the patterns matches and, where asked, whose check digits are right."""
    right = CHECKS[check] if check else None

    def find(text: Text, start: int, end: int) -> bool:
        plain = text.plain
        until = min(len(plain), end + LONGEST_MATCH + 1)
        for pattern in patterns:
            for found in pattern.finditer(plain, start, until):
                if found.start() < end and (right is None or right(found[0])):
                    return True
        return False

    return find


def _luhn(text: str) -> bool:
    digits = "".join(mark for mark in text if "0" <= mark <= "9")
    return len(digits) > 1 and luhn(digits)


def _mod97(text: str) -> bool:
    digits = "".join(str(int(mark, 36)) for mark in text if mark.isascii() and mark.isalnum())
    return bool(digits) and int(digits) % 97 == 1


CHECKS: dict[str, Callable[[str], bool]] = {"luhn": _luhn, "mod97": _mod97}
"""Check digits that an identifier may carry: Luhn's sum; ISO 7064, remainder 1 by 97."""


class _Reader:
    """Reads a pattern once from left to right and adds up what it costs."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def read(self) -> _Cost:
        if len(self._text) > 500:
            raise PatternError("it is longer than 500 characters")
        cost = self._choices(0)
        if self._at < len(self._text):
            raise PatternError(f"a closing bracket too many at character {self._at + 1}")
        return cost

    def _choices(self, depth: int) -> _Cost:
        if depth > 10:
            raise PatternError("brackets stand too deep in one another")
        found = [self._sequence(depth)]
        while self._peek() == "|":
            self._at += 1
            found.append(self._sequence(depth))
        return _Cost(
            sum(one.ways for one in found), min(one.shortest for one in found), max(one.longest for one in found)
        )

    def _sequence(self, depth: int) -> _Cost:
        ways, shortest, longest = 1, 0, 0
        while self._peek() not in ("", "|", ")"):
            part = self._repeated(self._atom(depth))
            ways = min(ways * part.ways, 10**9)
            shortest, longest = shortest + part.shortest, longest + part.longest
        return _Cost(ways, shortest, longest)

    def _atom(self, depth: int) -> _Cost:
        mark = self._next()
        if mark == "(":
            if self._peek() == "?":
                if self._text[self._at : self._at + 2] != "?:":
                    raise PatternError("of the brackets that begin with (? only (?: is allowed")
                self._at += 2
            cost = self._choices(depth + 1)
            if self._next() != ")":
                raise PatternError("a bracket is not closed")
            return cost
        if mark == "[":
            self._set()
        elif mark == "\\":
            self._escape()
        elif mark in "*+?{":
            raise PatternError(f"nothing stands before {mark}")
        elif mark in ".^$":
            raise PatternError(f"{mark} is not allowed; a pattern stands alone as a word, and names its characters")
        return _Cost(1, 1, 1)

    def _set(self) -> None:
        if self._peek() == "^":
            self._at += 1
        first = True
        while first or self._peek() != "]":
            mark = self._next()
            if not mark or mark == "[":
                raise PatternError("a [ is not closed, or holds another one")
            if mark == "\\":
                self._escape()
            first = False
        self._at += 1

    def _escape(self) -> None:
        mark = self._next()
        if not mark or (mark not in "dDwWsS" and mark not in _LITERAL_ESCAPES):
            raise PatternError(f"\\{mark} is not allowed")

    def _repeated(self, one: _Cost) -> _Cost:
        mark = self._peek()
        if mark in ("*", "+"):
            raise PatternError(f"{mark} has no end; say how often at most, such as {{1,12}}")
        if mark == "?":
            self._at += 1
            least, most = 0, 1
        elif mark == "{":
            least, most = self._bounds()
        else:
            return one
        if self._peek() in ("?", "*", "+", "{"):
            raise PatternError("a repetition of a repetition is not allowed")
        ways = 0
        for times in range(least, most + 1):
            ways = min(ways + one.ways**times, 10**9)
        return _Cost(ways, least * one.shortest, most * one.longest)

    def _bounds(self) -> tuple[int, int]:
        found = re.compile(r"\{([0-9]{1,3})(?:(,)([0-9]{1,3})?)?\}").match(self._text, self._at)
        if found is None:
            raise PatternError(f"{{ at character {self._at + 1} begins no number of times")
        if found[2] and not found[3]:
            raise PatternError("a repetition has no end; say how often at most, such as {1,12}")
        self._at = found.end()
        least = int(found[1])
        most = int(found[3]) if found[3] else least
        if most < least or most > LONGEST_MATCH or not most:
            raise PatternError(f"{found[0]} cannot be met, or is more than {LONGEST_MATCH}")
        return least, most

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        mark = self._peek()
        self._at += 1
        return mark
