"""Text with the shape of a key, a token or a password, by the very patterns that keep secrets out of the ledger."""

from __future__ import annotations

from ..redact import may_hold_secret, redact_text
from .text import Text

_OVERLAP = 256
"""A secret that begins near the end of a stretch is seen whole."""


def find_credential(text: Text, start: int, end: int) -> bool:
    """Does this stretch hold something that the ledger would take out?"""
    piece = text.plain[max(0, start - _OVERLAP) : end + _OVERLAP]
    return may_hold_secret(piece) and redact_text(piece)[1] > 0
