"""Rows of the ledger as a table: which columns stand where, and what each says."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import ClassVar, Protocol

from rich.cells import cell_len

from agent_ledger.engine.evidence.verdict import VERDICTS
from agent_ledger.engine.records import STATES, Call, utc_seconds

from .call_text import error_type, gist, outcome, took_ms
from .counted_list import CountedList
from .line_list import Cell
from .look import (
    GLYPHS,
    VERDICT_GLYPHS,
    age_text,
    clock_text,
    coarse_age_text,
    countdown_text,
    fit,
    fit_right,
    fit_tail,
    late_text,
    short_clock_text,
    took_text,
)


class CallRows(Protocol):
    """Rows in view order."""

    def __len__(self) -> int: ...
    def at(self, index: int) -> Call: ...
    def index(self, call_id: int) -> int | None: ...


class CallFacts(Protocol):
    """What a row's text needs beyond the row."""

    def state(self, call: Call) -> str: ...
    def age(self, call: Call) -> float | None: ...
    def remaining(self, call: Call) -> float | None: ...
    def writer_dead(self, call: Call) -> bool: ...
    def session_name(self, call: Call) -> str: ...
    def verdict(self, call: Call) -> str: ...
    def now(self) -> float: ...

    @property
    def zone(self) -> tzinfo | None: ...


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `text` gives a row's text and the name of its style (empty for plain)."""

    title: str
    width: int
    """Cells; 0 takes what the others leave."""
    text: Callable[[Call, CallFacts], tuple[str, str]]
    right: bool = False
    from_width: int = 0
    """Shown only in a table at least this wide."""
    below_width: int = 10_000
    """Shown only in a table narrower than this."""
    mark: Callable[[Call, CallFacts], tuple[str, str]] | None = None
    """One more cell at the column's end, with a style of its own, where the text leaves room for it."""


def _state(call: Call, facts: CallFacts) -> tuple[str, str]:
    state = facts.state(call)
    return f"{GLYPHS[state]} {state}", f"call--{state}"


def _verdict_mark(call: Call, facts: CallFacts) -> tuple[str, str]:
    """One glyph: did it land? Nothing for a call about which that is no question, as long as nobody asked."""
    told = facts.verdict(call)
    if not told:
        return (VERDICT_GLYPHS[""], "call--unchecked") if facts.state(call) in ("overdue", "ghost") else ("", "")
    # A newer plugin may know further words.
    return (VERDICT_GLYPHS[told], f"call--{told}") if told in VERDICTS else ("!", "call--unknown")


def _verdict(call: Call, facts: CallFacts) -> tuple[str, str]:
    glyph, style = _verdict_mark(call, facts)
    told = facts.verdict(call)
    return f"{glyph} {told}" if told else "not checked" if glyph else "", style


def _tool(call: Call, _facts: CallFacts) -> tuple[str, str]:
    return call.tool_name, "call--tool"


def _gist(call: Call, _facts: CallFacts) -> tuple[str, str]:
    return gist(call), ""


def _gist_with_error(call: Call, _facts: CallFacts) -> tuple[str, str]:
    kind, asked = error_type(call), gist(call)
    if kind:
        # A call without arguments has nothing to say but what came of it.
        return f"{kind}: {asked}" if asked else outcome(call), ""
    return asked, ""


def _outcome(call: Call, facts: CallFacts) -> tuple[str, str]:
    return outcome(call), "call--error" if facts.state(call) == "error" else "call--quiet"


def _session_in(width: int) -> Callable[[Call, CallFacts], tuple[str, str]]:
    """The session's name, or its id in `width` cells."""

    def text(call: Call, facts: CallFacts) -> tuple[str, str]:
        name = facts.session_name(call)
        return fit_tail(name, width) if name == call.session_id else name, "call--quiet"

    return text


def _age(call: Call, facts: CallFacts) -> tuple[str, str]:
    return age_text(facts.age(call)), ""


def _coarse_age(call: Call, facts: CallFacts) -> tuple[str, str]:
    return coarse_age_text(facts.age(call)), ""


def _lost_in(call: Call, facts: CallFacts) -> tuple[str, str]:
    if facts.state(call) == "ghost":
        return "lost", "call--ghost"
    if facts.writer_dead(call):
        return "host gone", "call--overdue"
    if call.no_signal:
        return "no signal", "call--quiet"
    remaining = facts.remaining(call)
    if remaining is None:
        return "time?", "call--overdue"
    if facts.state(call) == "overdue":
        return late_text(-remaining), "call--overdue"
    return countdown_text(remaining), ""


def _told(call: Call, facts: CallFacts) -> tuple[str, str]:
    return clock_text(utc_seconds(call.reported_ts), facts.now(), facts.zone), "call--quiet"


def _time(call: Call, facts: CallFacts) -> tuple[str, str]:
    return clock_text(call.at, facts.now(), facts.zone), "call--quiet"


def _short_time(call: Call, facts: CallFacts) -> tuple[str, str]:
    return short_clock_text(call.at, facts.now(), facts.zone), "call--quiet"


def _took(call: Call, _facts: CallFacts) -> tuple[str, str]:
    return took_text(took_ms(call)), "call--quiet"


ROOMY_FROM = 64
"""Cells from which a row has two columns about time instead of one, and a wider one for the tool."""

OUTCOME_FROM = 104
"""Cells from which the outcome has a column of its own; below, an error's type stands before what was asked."""

SPACIOUS_FROM = 160
"""Cells from which names of tools and sessions have more room."""

VERDICT_FROM = SPACIOUS_FROM
"""Cells from which every table says in words what was found of a call; below, only that of ghosts does, and the others
have a glyph beside the state."""

_STATE = Column("", 11, _state, mark=_verdict_mark)
_STATE_ALONE = Column("", 11, _state)
_VERDICT = Column("VERDICT", 11, _verdict, from_width=VERDICT_FROM)
_TOOL = (
    Column("TOOL", 12, _tool, below_width=ROOMY_FROM),
    Column("TOOL", 14, _tool, from_width=ROOMY_FROM, below_width=SPACIOUS_FROM),
    Column("TOOL", 22, _tool, from_width=SPACIOUS_FROM),
)
_SESSION = (
    Column("SESSION", 16, _session_in(16), from_width=90, below_width=SPACIOUS_FROM),
    Column("SESSION", 22, _session_in(22), from_width=SPACIOUS_FROM),
)
_GIST = Column("WHAT", 0, _gist)

# In each table the columns about time are equally wide together, so that tools stand in one line down the screen.
PENDING_COLUMNS = (
    replace(_STATE, below_width=VERDICT_FROM),
    replace(_STATE_ALONE, from_width=VERDICT_FROM),
    Column("LOST IN", 9, _lost_in, right=True, below_width=ROOMY_FROM),
    Column("AGE", 7, _age, right=True, from_width=ROOMY_FROM),
    Column("LOST IN", 11, _lost_in, right=True, from_width=ROOMY_FROM),
    _VERDICT,
    *_TOOL,
    *_SESSION,
    _GIST,
)
GHOST_COLUMNS = (
    replace(_STATE, below_width=ROOMY_FROM),
    replace(_STATE_ALONE, from_width=ROOMY_FROM),
    Column("AGE", 9, _coarse_age, right=True, below_width=ROOMY_FROM),
    Column("AGE", 7, _coarse_age, right=True, from_width=ROOMY_FROM),
    # Whether it landed is of more use than when the agent was told, which the details say.
    Column("TOLD AT", 11, _told, right=True, from_width=VERDICT_FROM),
    replace(_VERDICT, from_width=ROOMY_FROM),
    *_TOOL,
    *_SESSION,
    _GIST,
)
SETTLED_COLUMNS = (
    replace(_STATE, below_width=VERDICT_FROM),
    replace(_STATE_ALONE, from_width=VERDICT_FROM),
    Column("TIME", 9, _short_time, right=True, below_width=ROOMY_FROM),
    Column("TIME", 11, _time, right=True, from_width=ROOMY_FROM),
    Column("TOOK", 7, _took, right=True, from_width=ROOMY_FROM),
    _VERDICT,
    *_TOOL,
    *_SESSION,
    Column("WHAT", 0, _gist_with_error, below_width=OUTCOME_FROM),
    Column("WHAT", 0, _gist, from_width=OUTCOME_FROM),
    Column("OUTCOME", 32, _outcome, from_width=OUTCOME_FROM),
)


class CallTable(CountedList):
    """A pane of calls under one line that is both its title and its column titles."""

    DEFAULT_CSS = """
    CallTable {
        & > .call--pending { color: $primary; }
        & > .call--overdue { color: $warning; text-style: bold; }
        & > .call--ghost { color: $error; text-style: bold; }
        & > .call--confirmed { color: $success; }
        & > .call--error { color: $error; }
        & > .call--revived { color: $secondary; }
        & > .call--landed { color: $success; }
        & > .call--absent { color: $warning; }
        & > .call--unknown { color: $foreground; }
        & > .call--unchecked { color: $text-muted; }
        & > .call--tool { color: $accent; }
        & > .call--quiet { color: $text-muted; }
        /* Without colours what matters must not be the dimmest. */
        &:nocolor > .call--ghost { color: $foreground; }
        &:nocolor > .call--overdue { color: $foreground; }
        &:nocolor > .call--error { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"call--{state}" for state in (*STATES, *VERDICTS)} | {
        "call--unchecked",
        "call--tool",
        "call--quiet",
    }

    def __init__(
        self,
        title: str,
        rows: CallRows,
        facts: CallFacts,
        columns: Sequence[Column],
        *,
        follow: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id, follow=follow)
        self._title = title
        self._rows, self._facts, self._columns = rows, facts, columns
        self._one_session = False

    def show(self, rows: CallRows, *, one_session: bool) -> None:
        """Another set of rows. `one_session`: all of one, so its column would say the same everywhere."""
        self._rows, self._one_session = rows, one_session
        self.reset()

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def row_key(self, index: int) -> Hashable:
        return self._rows.at(index).id

    def row_index(self, key: Hashable) -> int | None:
        return self._rows.index(key) if isinstance(key, int) else None

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        call, facts = self._row(index)
        cells: list[Cell] = []
        for column, size in self._layout(width):
            text, style = column.text(call, facts)
            cells.append(("  " if cells else " ", ""))
            if column.mark is not None and cell_len(text) < size - 1:
                mark, its_style = column.mark(call, facts)
                cells += [(fit(text, size - 1), style), (fit(mark, 1), its_style)]
            else:
                cells.append((fit_right(text, size) if column.right else fit(text, size), style))
        return cells

    def _row(self, index: int) -> tuple[Call, CallFacts]:
        """The call at `index`, and who judges it."""
        return self._rows.at(index), self._facts

    def heading_cells(self, width: int) -> Sequence[Cell]:
        line = self._titles(width)
        # The pane's own title stands where the state's would be, and may reach into the room before the next one.
        title = f" {self._title} {self._count_text} "
        return [(title, "line-list--title"), (line[len(title) :], "")]

    def _titles(self, width: int) -> str:
        """The titles of the columns in a line."""
        line = " "
        for column, size in self._layout(width):
            line += (fit_right(column.title, size) if column.right else fit(column.title, size)) + "  "
        return line

    def _layout(self, width: int) -> list[tuple[Column, int]]:
        """The columns that fit, with their final widths."""
        shown = [column for column in self._columns if column.from_width <= width < column.below_width]
        if self._one_session:
            shown = [column for column in shown if column not in _SESSION]
        fixed = 1 + sum(column.width + 2 for column in shown) - 2
        return [(column, column.width or max(0, width - fixed)) for column in shown]
