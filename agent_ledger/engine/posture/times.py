"""The time of one row after the other, as text in the ledger and as seconds here."""

from __future__ import annotations

from typing import Any

from ..records import utc_seconds

_MINUTES = {f"{minute:02}:": 60.0 * minute for minute in range(60)}


class Times:
    """Remembers an hour: times come in order, so it is worked out once, which is most of the work."""

    __slots__ = ("hour",)

    def __init__(self) -> None:
        self.hour: tuple[str, float] = ("", 0.0)

    def seconds(self, ts: Any) -> float | None:
        """Seconds since 1970; None for what is no time."""
        if type(ts) is str and len(ts) == 24 and ts[23] == "Z":
            prefix, base = self.hour
            minute = _MINUTES.get(ts[14:17])
            if ts[:14] == prefix and minute is not None:
                try:
                    return base + minute + float(ts[17:23])
                except ValueError:
                    return None
            whole = utc_seconds(ts[:14] + "00:00.000Z")
            if whole is not None:
                self.hour = (ts[:14], whole)
        return utc_seconds(ts)
