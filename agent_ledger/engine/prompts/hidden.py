"""Text that a reader cannot see: tag characters, runs of selectors and of zero widths, reversed reading order.

What ordinary writing needs stays quiet: joiners of emoji, of Persian and of Indic scripts, flags, directional isolates,
soft hyphens, a mark at the start of a file, a stray zero width from a web page.
"""

from __future__ import annotations

import re

from .text import Text


def _set(*codes: int | range) -> str:
    """Code points as a set for a pattern, so that this file holds none of them."""
    spans = [one if isinstance(one, range) else range(one, one + 1) for one in codes]
    return "[" + "".join(f"{chr(span.start)}-{chr(span.stop - 1)}" for span in spans) + "]"


_TAGS = re.compile(_set(range(0xE0000, 0xE0080)) + "+")
_FLAG = re.compile(chr(0x1F3F4) + _set(range(0xE0020, 0xE007F)) + "{2,6}" + chr(0xE007F))
"""The flags of Scotland and its like are written with tag characters."""

_REVERSED = re.compile(_set(range(0x202D, 0x202F)))
_SELECTORS = re.compile(_set(range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)) + "{3}")
_ZERO_WIDTH = _set(range(0x200B, 0x200E), range(0x2060, 0x2065), 0xFEFF, 0x180E)
_RUN = re.compile(_ZERO_WIDTH + "{4}")
_IN_WORD = re.compile(f"(?<=[A-Za-z]){_ZERO_WIDTH}(?=[A-Za-z])")
_MOST_IN_WORDS = 2
"""More Latin letters than this with something invisible between them are no accident of a web page."""

_MARGIN = 16


def find_hidden(text: Text, start: int, end: int) -> bool:
    """Does this stretch carry text that a reader cannot see?"""
    raw = text.raw
    piece = raw[max(0, start - _MARGIN) : end + _MARGIN]
    if piece.isascii():
        return False
    if _REVERSED.search(piece) or _SELECTORS.search(piece) or _RUN.search(piece):
        return True
    if any(not _FLAG.match(raw, max(0, found.start() - 1)) for found in _TAGS.finditer(raw, start, end)):
        return True
    return len(_IN_WORD.findall(piece)) > _MOST_IN_WORDS
