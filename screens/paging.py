"""Pages of settled calls from the ledger into the window that the screen holds."""

from __future__ import annotations

from typing import Literal

from agent_ledger.engine.queries import Filter

from .call_lists import Window
from .feeds import LedgerFeed

PAGE = 200
"""Rows fetched at a time."""

Which = Literal["first", "last", "older", "newer"]


async def fetch(which: Which, window: Window, ledger: LedgerFeed, wanted: Filter) -> None:
    """Fetch the newest (`first`) or oldest (`last`) page, or the one beyond an end. Raises SourceError.

    The window is changed only once the rows are here, so that nothing blinks.
    """
    if which == "first":
        rows = await ledger.page(wanted, limit=PAGE)
        if not window.at_newest:
            window.start(newest=True)
        window.first_page(rows, full=len(rows) == PAGE)
    elif which == "last":
        rows = await ledger.page(wanted, after_id=0, limit=PAGE)
        window.start(newest=False)
        window.last_page(rows, full=len(rows) == PAGE)
    elif which == "older":
        rows = await ledger.page(wanted, before_id=window.oldest_id, limit=PAGE)
        window.older(rows, full=len(rows) == PAGE)
    else:
        rows = await ledger.page(wanted, after_id=window.newest_id, limit=PAGE)
        window.newer(rows, full=len(rows) == PAGE)
