"""What an agent wrote, made inert: no terminal escape, no bidi trick, no invisible character survives as itself.

Every hazardous character becomes a visible `\\uXXXX` escape. Inside a JSON string that is the same value
written otherwise, so JSON text stays JSON with the same meaning.
"""

from __future__ import annotations

import unicodedata

from .records import Inert

_SHORT = {0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r"}

_HAZARDS = {
    # Control characters, format characters (bidi controls, zero width, tags), surrogates, and the two
    # separators that some terminals treat as line breaks.
    "Cc", "Cf", "Cs", "Zl", "Zp",
}  # fmt: skip


_UNSEEN = frozenset(
    # Characters of other categories that show nothing: fillers, joiners, blanks, and the selectors in which text can
    # hide (Unicode, Default_Ignorable_Code_Point). U+FE0F stays: it only picks the coloured form of an emoji.
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2065, 0x2800, 0x3164, 0xFFA0)
) | frozenset({*range(0xFE00, 0xFE0F), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)})


def _escape(code: int) -> str:
    if code in _SHORT:
        return _SHORT[code]
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"


class _Table(dict[int, str]):
    """Translation table filled as characters are met; a harmless one maps to itself."""

    def __missing__(self, code: int) -> str:
        hazard = unicodedata.category(chr(code)) in _HAZARDS or code in _UNSEEN
        self[code] = out = _escape(code) if hazard else chr(code)
        return out


_TABLE = _Table()


def inert(text: str) -> Inert:
    """One line of visible characters that a terminal cannot take for a command."""
    if text.isascii() and text.isprintable():
        return Inert(text)
    return Inert(text.translate(_TABLE))


def inert_lines(text: str) -> list[Inert]:
    """The same for a block of text: its own line breaks stay line breaks, tabs become four spaces."""
    return [inert(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n")]


def clip(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with an ellipsis where something was left out."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"
