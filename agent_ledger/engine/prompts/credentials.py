"""Text with the shape of a key, a token or a password, by the very patterns that keep secrets out of the ledger."""

from __future__ import annotations

import re

from ..redact import may_hold_secret, redact_text
from .text import Text

_OVERLAP = 256
"""A secret that begins near the end of a stretch is seen whole."""

_BLOB = re.compile(r"([A-Za-z0-9+/=]{400})[A-Za-z0-9+/=]{600,}")
"""A file in base64 or hex: a secret would show at its start, and its inside is costly to search."""


def find_credential(text: Text, start: int, end: int) -> bool:
    """Does this stretch hold something that the ledger would take out?"""
    piece = _BLOB.sub(r"\1", text.plain[max(0, start - _OVERLAP) : end + _OVERLAP])
    return may_hold_secret(piece) and redact_text(piece)[1] > 0
