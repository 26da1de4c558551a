"""The calls recorded after a given one: which of them could have written, moved or removed what it made."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from typing import TYPE_CHECKING

from ..queries import COLUMNS_QUERY
from . import recorded
from .recorded import Recorded

if TYPE_CHECKING:
    from .facts import Facts

MOST = 20_000
"""Later calls that are looked at; of more it cannot be told what they did."""

_WORD = re.compile(r"[\w.~@+-]+")


class Later:
    """The newest calls of a ledger, read once. Every method may raise CannotTellError."""

    def __init__(self, facts: Facts) -> None:
        from .facts import CannotTellError

        if facts.ledger is None:
            raise CannotTellError("The ledger cannot be asked what was done after this call.")
        self._facts = facts
        self._path = facts.paths.ledger
        self._columns = {row[0] for row in facts.ask(facts.ledger, self._path, *COLUMNS_QUERY)}
        self._calls: list[Recorded] = []
        self._from: int | None = None

    def after(self, call_id: int) -> list[Recorded]:
        """Every call recorded after that one, oldest first."""
        from .facts import CannotTellError

        if self._from is None or call_id < self._from:
            assert isinstance(self._facts.ledger, sqlite3.Connection)
            sql, params = recorded.query(self._columns, "WHERE id > ? ORDER BY id", (call_id,))
            try:
                rows = self._facts.ask(self._facts.ledger, self._path, sql, params, limit=MOST)
            except CannotTellError as error:
                if self._facts.time_is_up:
                    raise
                raise CannotTellError(
                    f"More than {MOST} calls were recorded since: too many to tell what they did."
                ) from error
            self._calls = [recorded.from_row(row) for row in rows]
            self._from = call_id
        return self._calls[bisect_right(self._calls, call_id, key=lambda call: call.id) :]
