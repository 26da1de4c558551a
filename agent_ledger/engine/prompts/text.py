"""A turn's user message as text that rules can search: its text parts, what could not be read, and its size."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

LONGEST_BYTES = 262_144
"""A message of more bytes (UTF-8) is not searched: it is too long to check."""

INVISIBLE = frozenset(
    (0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180E, 0x180F, 0x2060, 0x2061)
) | frozenset((0x2062, 0x2063, 0x2064, 0x3164, 0xFEFF, 0xFFA0)) | frozenset(
    {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x2070), *range(0xFE00, 0xFE10)}
) | frozenset({*range(0xE0000, 0xE0FFF)})  # fmt: skip
"""Characters that show nothing (Unicode, Default_Ignorable_Code_Point): a rule must see the text without them."""

_SPACES = frozenset((0x00A0, 0x1680, 0x202F, 0x205F, 0x3000)) | frozenset(range(0x2000, 0x200B))
_DASHES = frozenset((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212, 0xFE58, 0xFE63, 0xFF0D))


@dataclass(frozen=True, slots=True)
class UserMessage:
    """`text` of all text parts, one under the other; `unread` names the parts that no rule could look into."""

    text: str
    unread: tuple[str, ...]

    @property
    def too_long(self) -> bool:
        if len(self.text) > LONGEST_BYTES:
            return True
        return 4 * len(self.text) > LONGEST_BYTES and len(self.text.encode("utf-8", "surrogatepass")) > LONGEST_BYTES


def read(user_message: object) -> UserMessage:
    """The message as Hermes passes it: a string, or a list of parts of which those with a text are judged."""
    if isinstance(user_message, str):
        return UserMessage(user_message, ())
    if user_message is None:
        return UserMessage("", ())
    texts: list[str] = []
    unread: list[str] = []
    for part in user_message if isinstance(user_message, (list, tuple)) else (user_message,):
        found = _text_of(part)
        if found is None:
            unread.append(_name_of(part))
        else:
            texts.append(found)
    return UserMessage("\n".join(texts), tuple(unread))


def _text_of(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        kind, text = part.get("type"), part.get("text")
        if isinstance(text, str) and kind in (None, "text", "input_text"):
            return text
    return None


def _name_of(part: object) -> str:
    """`image_url`, `file`…: the kind that the part itself names, if it is a plain word."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    plain = isinstance(kind, str) and 0 < len(kind) <= 40 and kind.isascii() and kind.replace("_", "").isalnum()
    return str(kind) if plain else "a part of unknown kind"


class _Table(dict[int, "int | None"]):
    """Invisible characters to nothing; wide letters, foreign digits, odd spaces and dashes to their plain forms."""

    def __missing__(self, code: int) -> int | None:
        self[code] = out = _plain(code)
        return out


def _plain(code: int) -> int | None:
    if code < 0x80:
        return code
    if code in INVISIBLE:
        return None
    if code in _SPACES:
        return 0x20
    if code in _DASHES:
        return 0x2D
    if 0xFF01 <= code <= 0xFF5E:
        return code - 0xFEE0
    digit = unicodedata.decimal(chr(code), None)
    return code if digit is None else 0x30 + int(digit)


_TABLE = _Table()


class Text:
    """One text in the forms that rules search."""

    def __init__(self, raw: str) -> None:
        self.raw = raw

    @cached_property
    def plain(self) -> str:
        """Without what cannot be seen, and with one way to write a digit, a space and a dash."""
        return self.raw if self.raw.isascii() else self.raw.translate(_TABLE)

    @cached_property
    def lower(self) -> str:
        """The plain form in lower case, position by position the same."""
        low = self.plain.lower()
        return (
            low if len(low) == len(self.plain) else "".join(c if len(c.lower()) != 1 else c.lower() for c in self.plain)
        )
