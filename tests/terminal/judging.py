"""Is this text safe to be shown? Judged by its own list of characters, not by the product's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_RANGES = (
    # Controls.
    (0x00, 0x09), (0x0B, 0x1F), (0x7F, 0x9F),
    # What moves text, joins it, hides in it, or ends lines (Unicode: Bidi_Control, Default_Ignorable_Code_Point).
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xD800, 0xDFFF),
    (0xFE00, 0xFE0E), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip

HAZARD = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES) + "]")
"""Every character that must never come out as itself. U+FE0F may: it only picks the coloured form of an emoji."""


def hazards(text: str) -> list[str]:
    """What is in `text` that a terminal obeys or a reader does not see; a line break is neither."""
    found = {f"U+{ord(char):04X}" for char in HAZARD.findall(text)}
    found |= {f"U+{ord(c):04X}" for c in set(text) - {"\n"} if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    return sorted(found)


_SEQUENCE = re.compile(
    rb"\x1b\[(?P<csi>[0-?]*[ -/]*[@-~])"
    rb"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    rb"|\x1b(?P<string>[PX^_k][^\x1b]*(?:\x1b\x1b[^\x1b]*)*)\x1b\\"
    rb"|\x1b(?P<short>[ -/]*[0-~])"
)


def sequences(raw: bytes) -> Iterator[tuple[str, str]]:
    """(kind, what it says) of every escape sequence in what was sent to a terminal; kind: csi, osc, string, short."""
    for found in _SEQUENCE.finditer(raw):
        kind = found.lastgroup or ""
        yield kind, found[kind].decode("utf-8", "backslashreplace")


def plain(raw: bytes) -> str:
    """What was sent without the sequences: the text itself. Bytes that are no UTF-8 become halves of characters."""
    return _SEQUENCE.sub(b"", raw).decode("utf-8", "surrogateescape")
