"""The three panes of calls, one above the other: pending, ghosts, settled. Low screens show one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from .call_table import GHOST_COLUMNS, PENDING_COLUMNS, SETTLED_COLUMNS, CallFacts, CallRows, CallTable

PANE_NAMES = ("Pending", "Ghosts", "Settled")
SETTLED = 2
"""Index of the pane that takes the room which the others leave."""

_SLACK = 3
"""Empty lines that a pane may keep: a call that comes and goes must not move everything below it."""


class CallPanes(Vertical):
    """Pending and ghosts get what they need, within a third each; the settled take the rest."""

    DEFAULT_CSS = """
    CallPanes {
        width: 1fr;
        & > CallTable { height: 2; }
        & > CallTable.-rest { height: 1fr; }
        &.-single > CallTable { display: none; }
        &.-single > CallTable.-shown { display: block; height: 1fr; }
    }
    """

    def __init__(self, rows: Sequence[CallRows], facts: CallFacts, *, id: str | None = None) -> None:
        super().__init__(id=id)
        columns = (PENDING_COLUMNS, GHOST_COLUMNS, SETTLED_COLUMNS)
        self.tables = [
            # Pending calls keep their places by deadline, so that list has no end at which news arrive.
            CallTable(name, mine, facts, of, follow=name != "Pending", id=name.lower())
            for name, mine, of in zip(PANE_NAMES, rows, columns, strict=True)
        ]
        self.settled.add_class("-rest")
        self.shown = SETTLED
        """Index of the pane that has, or had last, the focus."""

    def compose(self) -> ComposeResult:
        yield from self.tables

    @property
    def settled(self) -> CallTable:
        return self.tables[SETTLED]

    @property
    def single(self) -> bool:
        """Is only one pane on the screen?"""
        return self.has_class("-single")

    def show(self, rows: Sequence[CallRows], *, one_session: bool) -> None:
        """Other rows altogether, one list a pane."""
        for table, mine in zip(self.tables, rows, strict=True):
            table.show(mine, one_session=one_session)

    def say(self, counts: Sequence[str], empty: Sequence[str]) -> None:
        """The numbers in the titles, and what stands in a pane without rows."""
        for table, count, text in zip(self.tables, counts, empty, strict=True):
            table.say(count=count, empty=text)

    def rows_changed(self) -> None:
        """Draw what differs, and give room where it is needed."""
        for table in self.tables:
            table.rows_changed()
        self._share_room()

    def focus_pane(self, index: int) -> None:
        self.shown = index
        for at, table in enumerate(self.tables):
            table.set_class(at == index, "-shown")
        self.tables[index].focus()

    def _share_room(self) -> None:
        room = self.size.height
        share = max(3, room // 3)
        for table in self.tables[:SETTLED]:
            if self.single:
                table.styles.clear_rule("height")
                continue
            if not room:
                continue
            needed = min(share, max(2, table.row_count + 1))
            held = int(table.styles.height.value) if table.styles.height is not None else 0
            if needed > held or held > share or held - needed > _SLACK:
                table.styles.height = needed
