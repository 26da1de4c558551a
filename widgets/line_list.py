"""A list of one-line rows with a cursor, drawn line by line: its cost is what is visible, not what it holds.

The cursor belongs to a row, not to a position: rows that arrive above move it along, and where somebody has
scrolled, what they read stays where it is. At the very top the list follows what is new instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

Cell = tuple[str, str]
"""Text in its final width, and the name of the component class that styles it (empty: the row's own style)."""


@dataclass(frozen=True, slots=True)
class _Painted:
    """What a screen line showed when it was last drawn; an equal one need not be drawn again."""

    cells: tuple[Cell, ...]
    cursor: bool


class LineList(Widget, can_focus=True):
    """Base of the lists. A subclass gives `row_count`, `row_key`, `row_index` and `row_cells`."""

    DEFAULT_CSS = """
    LineList {
        height: 1fr;
        & > .line-list--cursor { background: transparent; }
        & > .line-list--heading { color: $text-muted; background: $panel; }
        & > .line-list--title { color: $foreground; text-style: bold; }
        & > .line-list--quiet { color: $text-muted; }
        & > .line-list--bar { color: $surface-lighten-2; }
        &:focus > .line-list--cursor { background: $primary 35%; }
        &:focus > .line-list--bar { color: $primary; }
        &:focus > .line-list--title { color: $primary; }
        &:nocolor:focus > .line-list--cursor { text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line-list--cursor",
        "line-list--heading",
        "line-list--title",
        "line-list--quiet",
        "line-list--bar",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False, id="list.down", tooltip="One row down"),
        Binding("k,up", "move(-1)", "Up", show=False, id="list.up", tooltip="One row up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page_down", tooltip="One page down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page_up", tooltip="One page up"),
        Binding("g,home", "first", "First", show=False, id="list.first", tooltip="First row, and follow what is new"),
        Binding("G,end", "last", "Last", show=False, id="list.last", tooltip="Last row"),
        Binding("enter", "open", "Details", key_display="enter", id="list.open", tooltip="Open the row at the cursor"),
    ]

    class Opened(Message):
        """Somebody pressed enter, or clicked a row twice."""

        def __init__(self, sender: LineList, key: Hashable) -> None:
            super().__init__()
            self.list, self.key = sender, key

        @property
        def control(self) -> LineList:
            return self.list

    class Moved(Message):
        """The cursor went to another row by somebody's hand."""

        def __init__(self, sender: LineList, key: Hashable) -> None:
            super().__init__()
            self.list, self.key = sender, key

        @property
        def control(self) -> LineList:
            return self.list

    class EdgeReached(Message):
        """The last rows are in view or near it: whoever pages may fetch more. `end` asks for the very last."""

        def __init__(self, sender: LineList, *, newest: bool, jump: bool) -> None:
            super().__init__()
            self.list, self.newest, self.jump = sender, newest, jump

        @property
        def control(self) -> LineList:
            return self.list

    def __init__(self, *, id: str | None = None, classes: str | None = None, follow: bool = True) -> None:
        super().__init__(id=id, classes=classes)
        self._cursor_key: Hashable = None
        self._cursor = 0
        self._top = 0
        self._top_key: Hashable = None
        self._follow_new = follow
        # Every list starts at its top and stays there until somebody moves, whatever arrives above.
        self._following = True
        self._painted: list[_Painted | None] = []
        self._bar: tuple[int, int] = (0, 0)
        self._ground = Style()
        self._count = 0
        self._clicked = False
        """Did the last click hit a row?"""

    # What a subclass tells

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        raise NotImplementedError

    def row_key(self, index: int) -> Hashable:
        """What names the row at `index` for as long as it exists."""
        raise NotImplementedError

    def row_index(self, key: Hashable) -> int | None:
        """Where that row is now, None when it is gone."""
        raise NotImplementedError

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        """The row at `index`, `width` cells in all at most."""
        raise NotImplementedError

    def heading_cells(self, width: int) -> Sequence[Cell]:
        """Column titles. A list that gives any has a line for them always."""
        return ()

    def empty_text(self) -> str:
        """What stands where rows would be."""
        return ""

    # What others use

    @property
    def cursor(self) -> int:
        return self._cursor

    @property
    def cursor_key(self) -> Hashable:
        """The row under the cursor, None in an empty list."""
        return self.row_key(self._cursor) if 0 <= self._cursor < self.row_count else None

    @property
    def following(self) -> bool:
        """Is the list at its top, showing what is new as it comes?"""
        return self._following

    def index_at(self, y: int) -> int | None:
        """The row that is drawn on a line of the list, None where there is none."""
        index = self._top + y - self._heading_lines
        return index if y >= self._heading_lines and index < self._count else None

    def select(self, key: Hashable) -> None:
        """Put the cursor on a row without telling anybody."""
        index = self.row_index(key)
        if index is not None:
            self._place(index)

    def rows_changed(self) -> None:
        """The rows are others now: keep cursor and view by key, and draw only lines that differ."""
        self._count = self.row_count
        if self._following:
            self._cursor = self._top = 0
        else:
            self._cursor = self._found(self._cursor_key, self._cursor)
            shift = self._found(self._top_key, self._top) - self._top
            self._top += shift
        self._settle()
        self.repaint_lines()

    def reset(self) -> None:
        """Another set of rows altogether: start at its top."""
        self._following = True
        self._cursor = self._top = 0
        self._cursor_key = self._top_key = None
        self.rows_changed()

    def repaint_lines(self) -> None:
        """Draw the lines whose text is another than what is on the screen."""
        height = self.size.height
        if not height or not self._painted:
            self.refresh()
            return
        if self._scroll_bar() != self._bar:
            self.refresh()
            return
        for y in range(min(height, len(self._painted))):
            if self._line(y) != self._painted[y]:
                self.refresh(Region(0, y, self.size.width, 1))

    # Moving

    def action_move(self, rows: int) -> None:
        self._go(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        self._go(self._cursor + pages * max(1, self._height - 1))

    def action_first(self) -> None:
        self._go(0)
        self.post_message(self.EdgeReached(self, newest=True, jump=True))

    def action_last(self) -> None:
        self._go(self.row_count - 1)
        self.post_message(self.EdgeReached(self, newest=False, jump=True))

    def action_open(self) -> None:
        key = self.cursor_key
        if key is not None:
            self.post_message(self.Opened(self, key))

    def _go(self, index: int) -> None:
        before = self.cursor_key
        self._place(index)
        key = self.cursor_key
        if key is not None and key != before:
            self.post_message(self.Moved(self, key))
        if self._cursor + self._height >= self._count:
            self.post_message(self.EdgeReached(self, newest=False, jump=False))
        if self._cursor - self._height < 0:
            self.post_message(self.EdgeReached(self, newest=True, jump=False))

    def _place(self, index: int) -> None:
        self._count = self.row_count
        self._cursor = index
        self._settle()
        self._following = self._follow_new and self._cursor == 0
        self.repaint_lines()

    def _settle(self) -> None:
        """Cursor within the rows, view around the cursor; remember both by key."""
        self._cursor = max(0, min(self._cursor, self._count - 1))
        height = max(1, self._height)
        self._top = max(self._cursor - height + 1, min(self._top, self._cursor))
        self._top = max(0, min(self._top, self._count - height))
        self._cursor_key = self.row_key(self._cursor) if self._count else None
        self._top_key = self.row_key(self._top) if self._count else None

    def _found(self, key: Hashable, otherwise: int) -> int:
        index = None if key is None else self.row_index(key)
        return otherwise if index is None else index

    # Drawing

    @property
    def _heading_lines(self) -> int:
        return 0 if type(self).heading_cells is LineList.heading_cells else 1

    @property
    def _height(self) -> int:
        return max(1, self.size.height - self._heading_lines)

    def _scroll_bar(self) -> tuple[int, int]:
        """First line and length of the bar's thumb; length 0 where everything is in view."""
        height = self._height
        if self._count <= height:
            return 0, 0
        length = max(1, height * height // self._count)
        first = round(self._top * (height - length) / max(1, self._count - height))
        return first, length

    def _line(self, y: int) -> _Painted:
        width = self.size.width - 1  # The last column is the scroll bar's.
        y -= self._heading_lines
        if y < 0:
            return _Painted(tuple(self.heading_cells(width)), False)
        index = self._top + y
        if index < self._count:
            return _Painted(tuple(self.row_cells(index, width)), index == self._cursor)
        if self._count == 0 and y == 0:
            return _Painted(((self.empty_text(), "line-list--quiet"),), False)
        return _Painted((), False)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ground = self.rich_style  # Asks every ancestor, so not once a line.
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        height = self.size.height
        if len(self._painted) != height:
            self._painted = [None] * height
        painted = self._line(y)
        if y < height:
            self._painted[y] = painted
        self._bar = self._scroll_bar()
        return self._strip(painted, y)

    def _strip(self, painted: _Painted, y: int) -> Strip:
        base = self._ground
        heading = y < self._heading_lines
        over = Style()
        if painted.cursor:
            cursor = self.get_component_rich_style("line-list--cursor")
            over = Style(bgcolor=cursor.bgcolor, reverse=cursor.reverse or None)
        elif heading:
            base = self.get_component_rich_style("line-list--heading")
            over = Style(bgcolor=base.bgcolor)
        # Reversed, each text's own colour would be a ground of its own: the row is one band instead.
        plain = bool(over.reverse)
        segments = [
            Segment(text, (self.get_component_rich_style(name) if name and not plain else base) + over)
            for text, name in painted.cells
        ]
        width = self.size.width - 1
        strip = Strip(segments).crop_extend(0, width, base + over)
        end = Segment(" ", base) if heading else self._bar_segment(y - self._heading_lines)
        return Strip([*strip, end], width + 1)

    def _bar_segment(self, y: int) -> Segment:
        first, length = self._bar
        if length and first <= y < first + length:
            return Segment("▐", self.get_component_rich_style("line-list--bar"))
        return Segment(" ", self._ground)

    # Events

    def on_resize(self) -> None:
        self._painted = []
        self._count = self.row_count
        self._settle()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painted = []

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_move(-3)

    def on_click(self, event: events.Click) -> None:
        """A click goes to a row, a second one at once opens it."""
        if event.chain == 2 and self._clicked:
            # The row that the first click went to: another one may have moved under the pointer since.
            self.action_open()
            return
        index = self.index_at(event.y)
        self._clicked = index is not None
        if index is not None:
            self._go(index)
