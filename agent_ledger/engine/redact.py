"""Takes secrets out of texts and arguments before they reach the disk.

A secret shows by its own shape (`secret_shapes.py`) or by the name that it is given under (`secret_values.py`). One
that runs to the end of the text counts as well, so that cutting afterwards cannot leave half of one behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .fingerprint import plain
from .secret_shapes import may_hold_secret, redact_shapes
from .secret_values import HARMLESS, MARK, NAME, NAME_HINTS, NOT_SECRET_NAME, redact_named

__all__ = ["MARK", "may_hold_secret", "redact_name", "redact_start", "redact_text", "redact_tool", "redact_value"]

_SECRET_NAME = re.compile(rf"(?i)(?:^|[_\-.\s])(?:\w*{NAME}s?|authorization|cookie|set-cookie|x-api-key)$")


def redact_text(text: str, *, lines: bool = True) -> tuple[str, int]:
    """`text` without its secrets, and how many were taken out. `lines` as in `redact_named`."""
    if not may_hold_secret(text):
        return text, 0
    text, total = redact_shapes(text)
    lowered = text.lower()
    if any(map(lowered.__contains__, (*NAME_HINTS, "authorization", "cookie"))):
        text, named = redact_named(text, lines=lines)
        total += named
    return text, total


def redact_start(text: str, keep: int) -> str:
    """The first `keep` characters without secrets. Judged on a longer piece, so that none is cut in half.

    A secret that reaches into the first `keep` characters announces itself there, so the rest is only read then.
    """
    if not may_hold_secret(text[: keep + 16]):
        return text[:keep]
    return redact_text(_piece(text, keep + 4096))[0][:keep]


_HALF_WORD = re.compile(r"\S{1,200}\Z")


def _piece(text: str, limit: int) -> str:
    """At most `limit` characters, without the word that the cut goes through: it may be half a secret."""
    return text if len(text) <= limit else _HALF_WORD.sub("", text[:limit])


_SHORT_NAME = 15
"""No token format is this short, so an argument's name that is one plain word need not be searched."""


def _is_plain_name(name: str) -> bool:
    return len(name) <= _SHORT_NAME and name.isidentifier()


def redact_name(name: str) -> str:
    """The name of an argument as it may be stored."""
    return name if _is_plain_name(name) else redact_text(name)[0]


@lru_cache(maxsize=512)
def redact_tool(tool_name: str) -> str:
    """The name of a tool as it may be stored. A host has few tools, so each is looked at once."""
    return redact_text(tool_name)[0]


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Does an argument of this name hold a secret, whatever its value looks like?"""
    return _SECRET_NAME.search(name) is not None and NOT_SECRET_NAME.search(name) is None


_NAME_KEYS = ("name", "key", "header", "variable", "selector", "field", "ref", "label")
_VALUE_KEYS = frozenset({"value", "val", "text", "secret", "data"})
_LONGEST_NAME = 200
"""Characters of a text that may be the name of something."""

_COMMAND_KEYS = frozenset({"command", "commands", "cmd", "args", "argv", "script", "code"})
"""Arguments that hold commands or programs: there a value does not run to the end of its line."""


def _names_secret(text: object) -> bool:
    """Is this text the name of a secret? `DB_PASSWORD`, `#password`, `input[name="token"]`, `--token`."""
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_NAME:
        return False
    return any(is_secret_name(word) for word in re.findall(r"[\w\-. ]+", text))


def _value_of_pair(mapping: Mapping[Any, Any]) -> frozenset[str]:
    """Keys of `mapping` that hold what another of its keys names: {"name": "DB_PASSWORD", "value": "..."}."""
    keys = {key.lower(): key for key in mapping if isinstance(key, str)} if len(mapping) <= 50 else {}
    found = _VALUE_KEYS & keys.keys()
    if found and any(_names_secret(mapping[keys[name]]) for name in _NAME_KEYS if name in keys):
        return frozenset(keys[name] for name in found)
    return frozenset()


def _is_given(value: object) -> bool:
    """Is it something given under a name, rather than one more name?"""
    return isinstance(value, str) and not (value.isalpha() and value.islower()) and not _names_secret(value)


_DEEPEST = 40
"""Levels of arguments that are looked at one by one; what lies deeper is treated as one text."""

_MOST_READ = 8
"""Times `limit` that is read at most, should nearly all of it be secrets."""


def redact_value(value: Any, limit: int) -> tuple[Any, int]:
    """A JSON value without its secrets, and how many were taken out; what is no JSON comes back as its text.

    What is stored is shorter than `limit` characters, so no string is read further than that, and when as much has
    been kept the rest is left out.
    """
    work = _Redaction(limit)
    return work.value(value, False, 0), work.hidden


class _Redaction:
    """One pass over the arguments of a call."""

    def __init__(self, limit: int) -> None:
        self.hidden = 0
        self._lines = True
        self._limit = limit
        self._kept = 0
        self._read = 0

    def value(self, value: Any, secret: bool, depth: int) -> Any:
        """`secret` says that the value stands under the name of one, however deep."""
        if isinstance(value, str):
            return self._hide() if secret and value and not HARMLESS.match(value) else self._text(value)
        self._kept += 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return self._hide() if secret and not HARMLESS.match(str(value)) else value
        if depth >= _DEEPEST or not isinstance(value, (Mapping, list, tuple)):
            return self._hide() if secret else self._text(plain(value))
        if isinstance(value, Mapping):
            return self._mapping(value, secret, depth + 1)
        return self._list(value, secret, depth + 1)

    def _list(self, value: Sequence[Any], secret: bool, depth: int) -> list[Any]:
        out: list[Any] = []
        named = False
        for item in value:
            if self._enough():
                out.append("…")
                break
            out.append(self.value(item, secret or named, depth))
            # ["DB_PASSWORD", "..."] is a name and its value, and so are "--token" and what follows it.
            names = _names_secret(item) and (item.startswith("-") or (len(value) == 2 and _is_given(value[1])))
            named = names and not named
        return out

    def _mapping(self, value: Mapping[Any, Any], secret: bool, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        paired = _value_of_pair(value)
        lines = self._lines
        for name, item in value.items():
            if self._enough():
                out["…"] = "…"
                break
            below = secret or (isinstance(name, str) and (name in paired or is_secret_name(name)))
            shown = self._name(name)
            self._lines = lines and name not in _COMMAND_KEYS if isinstance(name, str) else lines
            out[shown] = self.value(item, below, depth)
            self._lines = lines
        return out

    def _name(self, name: Any) -> Any:
        if name is None or isinstance(name, (int, float)) or (isinstance(name, str) and _is_plain_name(name)):
            return name
        return self._text(name if isinstance(name, str) else plain(name))

    def _text(self, text: str) -> str:
        piece = _piece(text, self._limit)
        self._read += len(piece)
        out, hidden = redact_text(piece, lines=self._lines)
        self.hidden += hidden
        self._kept += len(out)
        return out

    def _hide(self) -> str:
        self.hidden += 1
        self._kept += len(MARK)
        return MARK

    def _enough(self) -> bool:
        return self._kept > self._limit or self._read > _MOST_READ * self._limit
