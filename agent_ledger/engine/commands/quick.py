"""Reads shell texts that need no parser: plain words, quotes without substitutions, pipes and lists.

What it returns is what `syntax` and `expand` make of the same text; what it is not sure of it leaves to them.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache

from .names import names

SOUND = sys.version_info >= (3, 11, 5)
"""Python before 3.11.5 goes wrong where something within a possessive group has to be tried anew (CPython gh-106052).
There every text takes the parser: the same answers, only later."""

LONGEST = 8_192
"""Characters of a text that is read here."""

DEEPEST = 3
"""Texts in texts that are tried here before they are parsed."""

MOST = 200
"""Words of one command that is read here."""

_DOUBLE = r'"(?:[^"\\$`]|\\[^\n]|\$(?=["\s|)])|\$(?!IFS)[A-Za-z_]\w*+)*+"'
_CHAR = r"[\w@%+:,./=~^*?\[\]!-]"
_PIECE = rf"{_CHAR}++|\{{\}}|'[^']*+'|{_DOUBLE}|\\[^\n]|\$(?!IFS)[A-Za-z_]\w*+"
_WORD = rf"(?:{_PIECE})(?:{_PIECE}|\#)*+"
_TOKEN = re.compile(
    rf"\d*+>&\d++(?=[\s;|&]|\Z)|(?:&>>?|\d*+>>?)[ \t]*+{_WORD}|{_WORD}|&&|\|\|?|\#[^\n]*+|[^ \t]", re.ASCII
)
_REDIRECTION = re.compile(r"(?:&|\d*)(>>?)[ \t]*")
_QUOTED = re.compile(rf"'([^']*+)'|({_DOUBLE})|\\(.)", re.ASCII | re.DOTALL)
_ESCAPED = re.compile(r'\\([$`"\\])')

_UNREAD = frozenset(char for char in map(chr, range(128)) if not re.match(rf"{_CHAR}|[ \t\n;&|#]", char, re.ASCII))
"""Tokens of one character that take the parser."""

_ENDS = frozenset((";", "&&", "||", "&", "\n", "|"))
_EMPTY = frozenset((";", "\n"))
"""Ends before which nothing needs to stand."""

_SET_ASIDE = names("if then elif else fi while until for select do done case esac in { } ! time function")
"""Words that begin no plain command."""


Plain = tuple[list[str], tuple[tuple[str, str], ...]]
"""One command: its words, and (operator, path) of what it writes by redirection."""

Pipe = tuple[list[Plain], bool]
"""Commands joined by pipes; do they run in the background?"""


def read(text: str, *, variables: bool = False) -> list[Pipe] | None:
    """The pipelines of `text` in order; None where it takes the parser.

    With `variables`, those that nobody set stay in the words as their own names; whoever asks for that knows that the
    text sets none.
    """
    pipes, live = _read(text)
    return pipes if variables or not live else None


@lru_cache(maxsize=16)
def _read(text: str) -> tuple[list[Pipe] | None, bool]:
    """The pipelines, and whether a variable may stand in them: within single quotes `$` is a character."""
    tokens = _tokens(text)
    if tokens is None:
        return None, False
    live = "$" in text and any("$" in token and ("'" not in token or _is_live(token)) for token in tokens)
    return _pipes(tokens, "'" not in text and '"' not in text and ">" not in text and "\\" not in text), live


def _is_live(token: str) -> bool:
    return "$" in _QUOTED.sub(lambda match: "" if match[1] is not None else match[0], token)


def _tokens(text: str) -> list[str] | None:
    if not SOUND or len(text) > LONGEST or not text.isascii():
        return None
    if "\\\n" in text:
        text = text.replace(" \\\n", "  ")
        if "\\\n" in text or '"' in text or "'" in text:
            return None
    tokens = _TOKEN.findall(text)
    return tokens if _UNREAD.isdisjoint(tokens) else None


def _pipes(tokens: list[str], bare: bool) -> list[Pipe] | None:
    """`bare`: there are no quotes and no redirections in the text."""
    pipes: list[Pipe] = []
    commands: list[Plain] = []
    words: list[str] = []
    redirected: tuple[tuple[str, str], ...] = ()
    tokens.append("\n")
    for token in tokens:
        if token in _ENDS:
            if words:
                if "=" in words[0] or words[0] in _SET_ASIDE or len(words) > MOST:
                    return None
                commands.append((words, redirected))
                words, redirected = [], ()
            elif redirected or (commands and token != "\n") or token not in _EMPTY:
                return None  # Nothing stands between two operators.
            else:
                continue
            if token != "|":
                pipes.append((commands, token == "&"))
                commands = []
        elif token[0] == "#":
            if commands and not words:
                return None
        elif bare:
            words.append(token)
        elif ">" in token and (match := _REDIRECTION.match(token)):
            if token[match.end()] != "&":
                redirected = (*redirected, (match[1], _word(token[match.end() :])))
        elif "'" in token or '"' in token or "\\" in token:
            words.append(_word(token))
        else:
            words.append(token)
    return None if commands else pipes


def _word(token: str) -> str:
    """A word without its quotes."""
    return _QUOTED.sub(_unquoted, token)


def _unquoted(match: re.Match[str]) -> str:
    single, double, escaped = match.groups()
    if double is None:
        return single or escaped or ""
    return _ESCAPED.sub(r"\1", double[1:-1]) if "\\" in double else double[1:-1]
