"""Gates that do not depend on what a message says: how much has run lately, and what time it is."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from ..databases import hindrance, read_only_uri
from ..records import utc_text

PERIODS_S = {"hour": 3_600.0, "day": 86_400.0}
COUNTED = ("turns", "calls")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_BUSY_S = 0.02

Counter = Callable[[str, float], int]
"""(what, since) -> how many turns or calls since a moment (seconds since 1970). Raises GateError."""


class GateError(Exception):
    """What a gate needs to know cannot be found out right now."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many turns or calls in the last hour or day, over all conversations of the home."""

    what: str
    period_s: float
    at_most: int

    def is_closed(self, now: float, count: Counter) -> bool:
        """Has the limit been used up?"""
        return count(self.what, now - self.period_s) >= self.at_most


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of day to another, on the days on which they begin. `zone` is None for the machine's own."""

    begin: int
    end: int
    """Minutes since midnight; where the end is not after the beginning, it is on the next day."""
    days: frozenset[int]
    """Weekdays, Monday is 0."""
    zone: tzinfo | None

    def is_closed(self, now: float, count: Counter) -> bool:
        """Is it that time?"""
        day = self._local(now)
        minute = day.hour * 60 + day.minute
        if self.begin < self.end:
            return self.begin <= minute < self.end and day.weekday() in self.days
        if minute >= self.begin:
            return day.weekday() in self.days
        return minute < self.end and (day - timedelta(days=1)).weekday() in self.days

    def _local(self, now: float) -> datetime:
        return datetime.fromtimestamp(now, UTC).astimezone(self.zone)  # None is the machine's own zone.


Gate = Limit | QuietHours


def ledger_counter(path: Path) -> Counter:
    """Counts in a ledger, read-only. A ledger that is not there yet holds nothing.

    `calls` are the recorded calls, which change something; `turns` those in which at least one was made.
    """

    def count(what: str, since: float) -> int:
        counted = "count(DISTINCT nullif(turn_id, ''))" if what == "turns" else "count(*)"
        question = f"SELECT {counted} FROM ledger WHERE changed >= ? AND ts >= ?"
        why_not = hindrance(path)
        if why_not:
            raise GateError(f"the ledger {why_not}")
        try:
            with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True, timeout=_BUSY_S)) as connection:
                (number,) = connection.execute(question, (int(since * 1_000_000), utc_text(since))).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # Words of SQLite may quote a damaged schema.
            if not path.exists():
                return 0
            raise GateError(f"the ledger cannot be read ({error})") from error
        return int(number)

    return count
