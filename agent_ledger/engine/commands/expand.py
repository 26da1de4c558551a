"""Words of a shell command to the texts it would run with, as far as the command itself tells."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping

from .syntax import parse_text
from .tree import Part, Pipeline, UnreadableError, Word, unescape

UNKNOWN = "$(…)"
"""Stands for what only running the command could tell."""

MOST_WORDS = 64
"""Words that one word may become (`{a,b}{c,d}…`)."""

MOST_NESTED = 12
"""Variables inside a variable's default, and computations inside one, that are read."""

LONGEST_BRACES = 300
"""Characters of a word whose braces are expanded; a longer one stays as it is."""

LONGEST_VALUE = 8_192
"""Characters that a variable keeps."""

PART = 30
"""What one more piece of a word (a variable, a quoted part) weighs, in characters."""

LONGEST = 32_768
"""Characters of one expanded value that are kept."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*|\w+\.\.\w+)\}")
_PRINTF = re.compile(r"%(?:%|[-0-9.*]*([sbdiqxXocu]))")

Variables = Mapping[str, str]
Substitute = Callable[[list[Pipeline], str], str]
"""What a substitution yields: its body, and "" for a command or the direction of a process substitution."""


def fields(words: list[Word], variables: Variables, substitute: Substitute) -> list[str]:
    """The words after expansion and splitting."""
    found: list[str] = []
    for word in words:
        if len(word) == 1 and word[0].kind == "text" and (word[0].quoted or "}" not in word[0].text):
            found.append(word[0].text)
            continue
        for one in _alternatives(word):
            found += _split(one, variables, substitute)
            if len(found) > 4 * MOST_WORDS:
                return found
    return found


def more_words(words: list[Word], expanded: list[str]) -> int:
    """How many words came out of others, as far as that is known: beyond the most that are kept, it is guessed."""
    return max(0, len(expanded) - len(words)) if len(expanded) <= 4 * MOST_WORDS else MOST_WORDS


def text_of(word: Word, variables: Variables, substitute: Substitute) -> str:
    """The word as one text: an assignment's value, a redirection's target, a here-document."""
    pieces: list[str] = []
    size = 0
    for part in word:
        piece = part.text if part.kind == "text" else value_of(part, variables, substitute)
        pieces.append(piece)
        size += len(piece)
        if size > LONGEST:
            break
    return "".join(pieces)[:LONGEST]


def _alternatives(word: Word, limit: int = MOST_WORDS) -> list[Word]:
    """Brace expansion, where the braces stand in one piece of the word."""
    if limit <= 1 or sum(len(part.text) for part in word) > LONGEST_BRACES:
        return [word]
    for place, part in enumerate(word):
        if part.kind != "text" or part.quoted:
            continue
        match = _BRACES.search(part.text)
        if not match:
            continue
        choices = _choices(match[1])
        found: list[Word] = []
        for choice in choices:
            text = part.text[: match.start()] + choice + part.text[match.end() :]
            found += _alternatives([*word[:place], Part("text", text), *word[place + 1 :]], limit // len(choices))
            if len(found) >= limit:
                break
        return found or [word]
    return [word]


def _choices(inner: str) -> list[str]:
    if "," in inner:
        return inner.split(",")[:MOST_WORDS]
    low, _, high = inner.partition("..")
    if low.isdigit() and high.isdigit() and len(low) < 9 and len(high) < 9:
        first, last = int(low), int(high)
        return [str(n) for n in range(first, min(last, first + 15) + 1)] or [low]
    return [low, high]


def _split(word: Word, variables: Variables, substitute: Substitute) -> list[str]:
    done: list[str] = []
    current: str | None = None
    for part in word:
        if current is not None and len(current) > LONGEST:
            break
        if part.kind == "text":
            current = (current or "") + part.text
            continue
        value = value_of(part, variables, substitute)
        if (part.quoted and part.text != "@") or value.startswith("$"):
            current = (current or "") + value
            continue
        pieces = _pieces(value, variables.get("IFS", ""))
        if not pieces:
            if value and current is not None:
                done.append(current)
                current = None
            continue
        if current is not None and value[0].isspace():
            done.append(current)
            current = None
        current = (current or "") + pieces[0]
        for piece in pieces[1:]:
            done.append(current)
            current = piece
        if value[-1].isspace():
            done.append(current)
            current = None
    if current is not None:
        done.append(current)
    return done[: 4 * MOST_WORDS]


def _pieces(value: str, separators: str) -> list[str]:
    """A value cut at `IFS`: blanks unless the command set other characters."""
    for char in separators.strip()[:8]:
        value = value.replace(char, " ")
    return value.split()


def value_of(part: Part, variables: Variables, substitute: Substitute) -> str:
    """What a variable or a substitution stands for; an unknown variable stays as its own name."""
    if part.kind in ("command", "process"):
        return substitute(part.body or [], part.text if part.kind == "process" else "")[:LONGEST]
    if part.kind == "arithmetic":
        if part.text.count("$((") > MOST_NESTED:
            raise UnreadableError("arithmetic nested too deeply")
        if "$(" in part.text or "`" in part.text:  # Its number does not matter; what runs to compute it does.
            text_of(parse_text(part.text), variables, substitute)
        return "1"
    if part.kind == "text":
        return part.text
    name, operator = part.text, part.operator
    value = variables.get(name)
    if not operator:
        return f"${name}" if value is None else value
    if operator.startswith("!"):
        inner = variables.get(value or "")
        return f"${name}" if inner is None else inner
    if operator.startswith("#") and len(operator) == 1 and value is not None:
        return str(len(value))
    return _operate(name, value, operator, variables, substitute)[:LONGEST]


def _operate(name: str, value: str | None, operator: str, variables: Variables, substitute: Substitute) -> str:
    head = operator[:2] if operator[:1] == ":" and operator[1:2] in ("-", "=", "+", "?") else operator[:1]
    rest = operator[len(head) :]
    if rest.count("${") > MOST_NESTED:
        return rest
    if head in ("-", ":-", "=", ":="):
        return value if value else text_of(parse_text(rest), variables, substitute)
    if head in ("+", ":+"):
        return text_of(parse_text(rest), variables, substitute)
    if value is None:
        return f"${name}"
    if head in ("#", "%"):
        return _trim(value, rest, head)
    if head == "/":
        old, _, new = rest.lstrip("/").partition("/")
        return value.replace(old, new, -1 if rest.startswith("/") else 1) if old else value
    if head == ":":
        return _cut(value, rest)
    if head in ("^", ","):
        change = str.upper if head == "^" else str.lower
        return change(value) if rest.startswith(head) else change(value[:1]) + value[1:]
    return value


def _trim(value: str, pattern: str, side: str) -> str:
    greedy = pattern.startswith(side)
    pattern = pattern.removeprefix(side)
    places = range(len(value) + 1) if (greedy == (side == "%")) else range(len(value), -1, -1)
    if len(value) > 400:
        return value
    for place in places:
        piece = value[:place] if side == "#" else value[place:]
        if fnmatch.fnmatchcase(piece, pattern):
            return value[place:] if side == "#" else value[:place]
    return value


def _cut(value: str, rest: str) -> str:
    start, _, length = rest.partition(":")
    try:
        first = int(start.strip(" ()") or 0)
        first = max(0, len(value) + first) if first < 0 else first
        return value[first:][: int(length)] if length else value[first:]
    except ValueError:
        return value


def printf(arguments: list[str]) -> str:
    """What `printf FORMAT ARGUMENT…` prints."""
    if arguments[:1] == ["-v"]:
        return ""
    if not arguments:
        return ""
    form, values = unescape(arguments[0]), iter(arguments[1:])
    count = sum(1 for match in _PRINTF.finditer(form) if match[1])
    rounds = -(-(len(arguments) - 1) // count) if count else 1
    rounds = max(1, min(rounds, MOST_WORDS))
    return "".join(_PRINTF.sub(lambda match: _conversion(match, values), form) for _ in range(rounds))[:LONGEST]


def _conversion(match: re.Match[str], values: Iterator[str]) -> str:
    if not match[1]:
        return "%"
    value = next(values, "")
    if match[1] == "b":
        return unescape(value)
    if match[1] in "xXo":
        try:
            return format(int(value, 0), match[1])
        except ValueError:
            return "0"
    return value


def echo(arguments: list[str]) -> str:
    """What `echo` prints; with `-e` its escapes are read."""
    escapes = newline = None
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        escapes = escapes or "e" in arguments[0] or None
        newline = newline or "n" in arguments[0] or None
        arguments = arguments[1:]
    text = " ".join(arguments)
    text = unescape(text) if escapes else text
    return (text if newline else text + "\n")[:LONGEST]
