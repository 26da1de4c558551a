"""The Homes screen's two tables: homes with what of each is unconfirmed, and these calls of all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from agent_ledger.engine.records import Call

from .call_table import PENDING_COLUMNS, CallFacts, CallTable
from .line_list import Cell
from .look import GLYPHS, HEALTH_GLYPHS, fit, fit_tail, short_count
from .record_table import Field, Records, RecordTable

NAME, WIDE_NAME = 14, 24
"""Cells of a home's name."""

_WORDS_FROM = 72
"""Cells from which columns are named by whole words."""

_WIDE_FROM = 104
"""Cells from which names have more room."""

_COUNTED = (
    ("pending", "PENDING", "PEND"),
    ("overdue", "OVERDUE", "LATE"),
    ("ghost", "GHOSTS", "GHOST"),
    ("error", "ERRORS", "ERROR"),
)


@dataclass(frozen=True, slots=True)
class HomeRow:
    """One line. `health` says it in words; of a home that cannot be read, `readable` is false and it says why."""

    name: str
    state: str
    health: str
    readable: bool = True
    pending: int = 0
    overdue: int = 0
    ghost: int = 0
    error: int = 0
    calls: int = 0
    active: str = ""
    """How long ago something happened there."""


class HomeTable(RecordTable[HomeRow]):
    """Homes in the order in which they were asked for."""

    DEFAULT_CSS = """
    HomeTable {
        & > .line-list--cursor { background: $panel-lighten-1; }
        & > .home--pending { color: $primary; }
        & > .home--overdue { color: $warning; text-style: bold; }
        & > .home--ghost { color: $error; text-style: bold; }
        & > .home--error { color: $error; }
        & > .home--well { color: $success; }
        & > .home--care { color: $warning; text-style: bold; }
        & > .home--wrong { color: $error; text-style: bold; }
        &:nocolor > .home--overdue { color: $foreground; }
        &:nocolor > .home--ghost { color: $foreground; }
        &:nocolor > .home--error { color: $foreground; }
        &:nocolor > .home--care { color: $foreground; }
        &:nocolor > .home--wrong { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "home--pending", "home--overdue", "home--ghost", "home--error", "home--well", "home--care", "home--wrong",
    }  # fmt: skip

    def __init__(self, homes: Records[HomeRow], *, id: str | None = None) -> None:
        super().__init__("Homes", homes, tuple(_fields()), follow=False, id=id)

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        row, size = self._records.at(index), name_width(width)
        begin, _, *rest = super().row_cells(index, width)
        if not row.readable:
            # There is one thing to say of it, which may have the room of all the others.
            text, style = _health(row)
            rest = [("  ", ""), (fit(text, width - size - 3), style)]
        return [begin, (fitted_name(row.name, size), "record--name"), *rest]


def name_width(width: int) -> int:
    """Cells for a home's name in a table of this width."""
    return WIDE_NAME if width >= _WIDE_FROM else NAME


def fitted_name(name: str, width: int) -> str:
    """A home's name in exactly `width` cells: paths differ at their ends."""
    return fit_tail(name, width) if "/" in name else fit(name, width)


def _fields() -> Iterator[Field[HomeRow]]:
    yield Field("", NAME, _name, roomy=(_WIDE_FROM, WIDE_NAME))
    for state, word, short in _COUNTED:
        yield Field(short, 5, _count(state), right=True, below_width=_WORDS_FROM)
        yield Field(word, 7, _count(state), right=True, from_width=_WORDS_FROM)
    yield Field("CALLS", 6, lambda row: (short_count(row.calls), "record--quiet"), right=True, from_width=86)
    yield Field("ACTIVE", 10, lambda row: (row.active, "record--quiet"), right=True, from_width=_WORDS_FROM)
    yield Field("HEALTH", 0, _health)


def _name(row: HomeRow) -> tuple[str, str]:
    return row.name, "record--name"


def _count(state: str) -> Callable[[HomeRow], tuple[str, str]]:
    def text(row: HomeRow) -> tuple[str, str]:
        number: int = getattr(row, state)
        return (f"{GLYPHS[state]} {short_count(number)}", f"home--{state}") if number else ("0", "record--quiet")

    return text


def _health(row: HomeRow) -> tuple[str, str]:
    if row.state in ("ok", "missing"):
        style = "home--well" if row.state == "ok" else "record--quiet"
    else:
        style = "home--care" if row.state in ("stale", "degraded") else "home--wrong"
    return f"{HEALTH_GLYPHS.get(row.state, '?')} {row.health}", style


class FleetRow(Protocol):
    """A call, and which home it is of."""

    @property
    def home(self) -> int: ...
    @property
    def call(self) -> Call: ...
    @property
    def id(self) -> Hashable: ...


class FleetRows(Protocol):
    """Calls of several homes in view order."""

    def __len__(self) -> int: ...
    def at(self, index: int) -> FleetRow: ...
    def index(self, id: tuple[int, int]) -> int | None: ...


class _Calls:
    """The calls alone."""

    def __init__(self, rows: FleetRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, index: int) -> Call:
        return self._rows.at(index).call

    def index(self, call_id: int) -> int | None:
        """Several homes may have a call of that number."""
        return None


class FleetTable(CallTable):
    """Unconfirmed calls of several homes, each behind its home's name."""

    DEFAULT_CSS = """
    FleetTable { & > .fleet--home { color: $accent; } }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"fleet--home"}

    def __init__(
        self, rows: FleetRows, names: Sequence[str], facts: Sequence[CallFacts], *, id: str | None = None
    ) -> None:
        """`names` of the homes and who judges their calls, in the order in which rows count homes."""
        super().__init__("Unconfirmed", _Calls(rows), facts[0], PENDING_COLUMNS, id=id)
        self._of_homes, self._names, self._judges = rows, names, facts

    def row_key(self, index: int) -> Hashable:
        return self._of_homes.at(index).id

    def row_index(self, key: Hashable) -> int | None:
        return self._of_homes.index(key) if isinstance(key, tuple) else None

    def _row(self, index: int) -> tuple[Call, CallFacts]:
        row = self._of_homes.at(index)
        return row.call, self._judges[row.home]

    def row_cells(self, index: int, width: int) -> Sequence[Cell]:
        name = name_width(width)
        home = self._names[self._of_homes.at(index).home]
        return [(f" {fitted_name(home, name)} ", "fleet--home"), *super().row_cells(index, width - name - 2)]

    def _titles(self, width: int) -> str:
        name = name_width(width)
        return " " * (name + 2) + super()._titles(width - name - 2)
