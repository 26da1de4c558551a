"""Text that a reader cannot see: tag characters, runs of selectors and of zero widths, reversed reading order.

What ordinary writing needs stays quiet: joiners of emoji, of Persian and of Indic scripts, flags, directional isolates,
soft hyphens, a mark at the start of a file, a stray zero width from a web page.
"""

from __future__ import annotations

import re

from .text import Text

_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")
"""The flags of Scotland and its like are written with tag characters."""

_REVERSED = re.compile("[\u202d\u202e]")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}")
_RUN = re.compile("[\u200b\u200c\u200d\u2060-\u2064\ufeff\u180e]{4}")
_IN_WORD = re.compile("(?<=[A-Za-z])[\u200b-\u200d\u2060-\u2064\ufeff\u180e](?=[A-Za-z])")
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
