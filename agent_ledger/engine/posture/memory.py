"""What is remembered of each session while a ledger goes by: little, and of bounded size."""

from __future__ import annotations

from collections import deque

from ..records import CONFIRMED, ERROR_PREFIX, GHOST_REPORTED, PENDING
from .rows import COLUMNS, RawRow, Row
from .windows import Window

BURST_CALLS, BURST_S = 20, 60.0
ERRORS, ERRORS_S = 5, 60.0
FAN_OUT, FAN_OUT_S = 6, 600.0
CRONS, CRONS_S = 4, 3600.0

WRITTEN = 256
"""Files of one session of which it is remembered that it wrote them."""

RUN_ROWS = 64
"""Rows of one row of identical calls that are kept apart."""

MANY = 1000
"""Lost calls, and names of tools, that are kept apart in one session."""

NOTHING: RawRow = (None,) * len(COLUMNS)

OPEN, GOOD, FAILED, STOPPED = "open", "good", "failed", "stopped"
"""How a call ended, as far as a rule cares: still open or lost, confirmed, failed, cancelled (or nobody knows)."""


_STOPPED = frozenset(ERROR_PREFIX + kind for kind in ("cancelled", "user_interrupt", "keyboard_interrupt"))


def outcome_of(status: object) -> str:
    """How a call with this status ended."""
    if status == CONFIRMED:
        return GOOD
    if status in (PENDING, GHOST_REPORTED):
        return OPEN
    failed = isinstance(status, str) and status.startswith(ERROR_PREFIX) and status not in _STOPPED
    return FAILED if failed else STOPPED


class Run:
    """Identical calls in a row, with nothing recorded between them: each call and how it ended, by id."""

    __slots__ = ("first", "outcomes", "rows")

    def __init__(self, row: Row, outcome: str) -> None:
        self.first = row
        self.rows = {row.id: row}
        self.outcomes = {row.id: outcome}

    def add(self, row: Row, outcome: str) -> None:
        if len(self.rows) < RUN_ROWS:
            self.rows[row.id] = row
            self.outcomes[row.id] = outcome

    def failed_since_success(self) -> tuple[int, ...]:
        """The failed ones after the last that was confirmed."""
        good = max((row for row, outcome in self.outcomes.items() if outcome == GOOD), default=-1)
        return tuple(sorted(row for row, outcome in self.outcomes.items() if outcome == FAILED and row > good))

    def not_failed(self) -> tuple[int, ...]:
        """The ones that were carried out, or may have been."""
        return tuple(sorted(row for row, outcome in self.outcomes.items() if outcome in (OPEN, GOOD)))


class Session:
    """One session, as far as the rules need it. Nothing in it grows without a bound."""

    __slots__ = (
        "credentials", "crons", "doubled", "errors", "fan_out", "key", "last", "last_at", "last_outcome", "lost",
        "number", "outside", "run", "secret", "timeouts", "tools", "touched", "watched_until",
        "written",
    )  # fmt: skip

    def __init__(self, key: object, number: int) -> None:
        self.key = key
        self.number = number
        """Its own, also where a session of the same name was forgotten and came back."""
        self.touched = number
        """Number of its newest row, counted over all rows."""
        self.tools: dict[object, Window] = {}
        self.last: RawRow = NOTHING
        self.last_at: float | None = None
        self.last_outcome = OPEN
        self.run: Run | None = None
        """The row of identical calls that the last call continues."""
        self.errors = Window(ERRORS, ERRORS_S)
        self.fan_out = Window(FAN_OUT, FAN_OUT_S)
        self.crons = Window(CRONS, CRONS_S)
        self.lost: dict[int, Row] = {}
        self.timeouts: deque[tuple[float, int, str]] = deque(maxlen=32)
        self.doubled: int | None = None
        self.written: dict[str, tuple[str, int]] = {}
        """Last part of a path to (path, row that wrote it)."""
        self.credentials: deque[tuple[float, int, str]] = deque(maxlen=32)
        self.outside: deque[tuple[float, int]] = deque(maxlen=8)
        self.secret: deque[tuple[float, int]] = deque(maxlen=8)
        self.watched_until = float("-inf")
        """Until then a secret that was read may be sent away, and no call goes by without a look."""
