"""What a person types after `--since`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SPAN = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*(s|m|h|d|w)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def since_seconds(text: str, now: float) -> float:
    """`24h`, `90m`, `2d` ago, or a day or moment (UTC unless it says otherwise), as seconds since 1970.

    Raises ValueError with a sentence for anything else.
    """
    span = _SPAN.fullmatch(text.strip().lower())
    if span:
        return now - float(span[1]) * _UNITS[span[2]]
    try:
        moment = datetime.fromisoformat(text.strip() if text.isascii() else "")
    except ValueError as error:
        raise ValueError(
            f"--since {text!r} is no time: write a span such as 90m, 24h or 2d, or a day such as 2026-01-02."
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
