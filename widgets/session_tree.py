"""Sessions as a tree: guides, a mark for what is wrong, and who would continue whom. Drawn line by line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from .counted_list import CountedList
from .line_list import Cell
from .look import fit, fit_right, fit_tail, short_count

KIND_FROM, MESSAGES_FROM, ACTIVE_FROM, SOURCE_FROM, END_FROM = 50, 58, 72, 86, 108
"""Cells of the list from which a column is shown."""

_KIND, _MESSAGES, _ACTIVE, _SOURCE, _END = 12, 5, 11, 10, 15
_LEAST_NAME = 14
"""Cells that a name keeps, however deep it stands."""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One line. Texts are inert and of any length."""

    guides: str
    """What leads to it from above."""
    fold: str
    """`▾` open, `▸` folded, empty for a row without children."""
    glyph: str
    style: str
    """Name after `tree--` of what the glyph and the word mean: zombie, orphan, bad, minor, or empty."""
    name: str
    is_id: bool
    """The name is an id: what is too long loses its beginning."""
    kind: str
    messages: int | None
    active: str
    source: str
    end: str
    below: int = 0
    """Rows with a mark that the fold hides."""
    ghost: bool = False
    """Not there yet: where a repair would put it."""
    quiet: bool = False
    """Only here because rows below it are looked for."""


class TreeRows(Protocol):
    """Lines in view order."""

    def __len__(self) -> int: ...
    def key(self, index: int) -> Hashable: ...
    def index(self, key: Hashable) -> int | None: ...
    def row(self, index: int) -> TreeRow: ...


class SessionTree(CountedList):
    """The forest of sessions. What folds is told to the screen, which holds the rows."""

    DEFAULT_CSS = """
    SessionTree {
        & > .tree--guides { color: $foreground 35%; }
        & > .tree--zombie { color: $warning; text-style: bold; }
        & > .tree--orphan { color: $error; text-style: bold; }
        & > .tree--bad { color: $warning; }
        & > .tree--minor { color: $secondary; }
        & > .tree--ghost { color: $accent; text-style: italic; }
        & > .tree--quiet { color: $text-muted; }
        &:nocolor > .tree--zombie { color: $foreground; }
        &:nocolor > .tree--orphan { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree--guides", "tree--zombie", "tree--orphan", "tree--bad", "tree--minor", "tree--ghost", "tree--quiet",
    }  # fmt: skip

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "fold(False)", "Unfold", show=False, id="tree.unfold", tooltip="Unfold, or go to the child"),
        Binding("left,h", "fold(True)", "Fold", show=False, id="tree.fold", tooltip="Fold, or go to the parent"),
        Binding(
            "space", "toggle_fold", "Fold", id="tree.toggle", key_display="space", tooltip="Fold or unfold the row"
        ),
    ]

    class Folded(Message):
        """Fold (True), unfold (False) or change (None) the row at the cursor."""

        def __init__(self, sender: SessionTree, fold: bool | None) -> None:
            super().__init__()
            self.list, self.fold = sender, fold

        @property
        def control(self) -> SessionTree:
            return self.list

    def __init__(self, rows: TreeRows, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows = rows

    # Keys

    def action_fold(self, fold: bool) -> None:
        self.post_message(self.Folded(self, fold))

    def action_toggle_fold(self) -> None:
        self.post_message(self.Folded(self, None))

    def begin_at(self, key: Hashable) -> None:
        """The cursor starts there, and stays with that row when others come above it."""
        self.select(key)
        self._following = False

    def go_to(self, key: Hashable) -> None:
        """Put the cursor there by somebody's hand."""
        index = self.row_index(key)
        if index is not None:
            self._go(index)

    def on_click(self, event: events.Click) -> None:
        """A click on a fold mark folds or unfolds; anywhere else it does what it does in every list."""
        index = self.index_at(event.y)
        if index is None:
            return
        row = self._rows.row(index)
        lead, _, _ = _beginning(row, self.size.width - 1)
        if row.fold and event.x == cell_len(lead) - 2:
            event.prevent_default()
            self._go(index)
            self.action_toggle_fold()

    # Rows

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def row_key(self, index: int) -> Hashable:
        return self._rows.key(index)

    def row_index(self, key: Hashable) -> int | None:
        return self._rows.index(key)

    def heading_cells(self, width: int) -> Sequence[Cell]:
        title = f" Sessions {self._count_text} "
        columns = "".join(
            "  " + (fit_right(name, size) if name in {"MSGS", "LAST ACTIVE"} else fit(name, size))
            for name, size in _columns(width)
        )
        return [(fit(title, max(0, width - cell_len(columns))), "line-list--title"), (columns, "")]

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        row = self._rows.row(index)
        base = "tree--ghost" if row.ghost else "tree--quiet" if row.quiet else ""
        marked = f"tree--{row.style}" if row.style else base
        columns = _columns(width)
        lead, below, room = _beginning(row, width)
        glyph = f"{row.glyph} " if row.glyph else ""
        left = max(0, room - cell_len(lead) - cell_len(glyph) - len(below))
        cut = fit_tail if row.is_id else fit
        cells: list[Cell] = [
            (lead, "tree--guides"),
            (glyph, marked),
            (cut(row.name, left), marked if row.style else base),
        ]
        if below:
            cells.append((below, "tree--bad"))
        for name, size in columns:
            cells.append(("  ", ""))
            cells.append(_cell(row, name, size, marked, base or "tree--quiet"))
        return cells


def _beginning(row: TreeRow, width: int) -> tuple[str, str, int]:
    """Guides and fold mark, what of the row lies folded below it, and the cells for these and the name."""
    room = max(0, width - sum(size + 2 for _, size in _columns(width)))
    below = f" ▲{short_count(row.below)}" if row.below else ""
    return _lead(row, room - len(below)), below, room


def _columns(width: int) -> list[tuple[str, int]]:
    """The columns that fit beside the names, with their widths."""
    every = (
        ("KIND", _KIND, KIND_FROM), ("MSGS", _MESSAGES, MESSAGES_FROM), ("LAST ACTIVE", _ACTIVE, ACTIVE_FROM),
        ("SOURCE", _SOURCE, SOURCE_FROM), ("ENDED", _END, END_FROM),
    )  # fmt: skip
    return [(name, size) for name, size, least in every if width >= least]


def _cell(row: TreeRow, name: str, size: int, marked: str, base: str) -> Cell:
    if name == "KIND":
        return fit(row.kind, size), marked or base
    if name == "MSGS":
        return fit_right("" if row.messages is None else short_count(row.messages), size), base
    if name == "LAST ACTIVE":
        return fit_right(row.active, size), base
    return fit(row.source if name == "SOURCE" else row.end, size), base


def _lead(row: TreeRow, room: int) -> str:
    """Guides and fold mark, in what is left beside a name that can be read."""
    end = "▷" if row.ghost else row.guides[-1:].strip("0123456789") or " "
    lead = f" {row.guides}{row.fold or end} "
    most = max(4, room - _LEAST_NAME - 2)
    if cell_len(lead) <= most:
        return lead
    # Deeper than the screen is wide: the beginning of the guides says least.
    return " …" + lead[len(lead) - most + 2 :]
