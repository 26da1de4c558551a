"""One round: what changed in a ledger since the last one goes to the engine, with the position in one transaction.

So it does not matter where a round is broken off, by whom, or how often the same one is begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import utc_text
from ledger_tui.sources.raw_rows import BESIDE, PAGE, Page, Position, RawLedger, Row, kinds, raw_ledger

from . import tables
from .cells import outgoing
from .engine import EngineError
from .tables import SOURCE, execute

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

_NAME_CHARS = 16
"""How much of its origin names a ledger at the engine: 64 bits."""


@dataclass(slots=True)
class Shipped:
    """What one round did."""

    host: str
    ledger: str
    rows: int = 0
    """Calls that were written, new ones and changed ones."""
    begun: bool = False
    """Was this ledger not at the engine before?"""


@dataclass(frozen=True, slots=True)
class Shipper:
    """Ships the ledger of one home."""

    host: str
    path: Path
    clock: Callable[[], float]
    mirror: bool = False
    """Take out at the engine what `prune` took out here?"""
    size: int = PAGE

    def round(self, connection: Connection, tell: Callable[[int], None] = lambda done: None) -> Shipped:
        """Everything that the ledger holds by now. `tell` hears how many calls are shipped so far.

        Raises SourceError, psycopg.Error.
        """
        with raw_ledger(self.path) as ledger:
            done = self._known(connection, ledger)
            whose = (done.host, done.ledger)
            more = True
            while more:
                with connection.transaction():
                    page = self._page(connection, ledger, whose)
                more = page.more
                done.rows += len(page.rows["ledger"])
                tell(done.rows)
            with connection.transaction():
                position = Position.of(self._locked(connection, whose))
                done.rows += self._uncounted(connection, ledger, whose)
                for table in BESIDE:
                    _keep_others(connection, whose, table, ledger.beside(table))
                for one in ledger.prunings(position.mirrored) if self.mirror else ():
                    tables.drop(connection, whose, one.first, one.last, one.kept)
                    position = replace(position, mirrored=one.number)
                self._note(connection, whose, position)
        return done

    def _page(self, connection: Connection, ledger: RawLedger, whose: tuple[str, str]) -> Page:
        """The next rows."""
        position = Position.of(self._locked(connection, whose))
        page = ledger.after(position, size=self.size)
        for table, rows in page.rows.items():
            tables.keep(connection, whose, table, rows)
        self._note(connection, whose, page.position)
        return page

    def _locked(self, connection: Connection, whose: tuple[str, str]) -> str:
        """How far it is shipped. Whoever ships the same ledger at the same time waits here, and goes on from there.

        Raises EngineError where somebody took it out meanwhile: the next round begins it anew.
        """
        found = execute(
            connection, f"SELECT shipped_to FROM {SOURCE} WHERE host = %s AND ledger = %s FOR UPDATE", whose
        ).fetchall()
        if not found:
            raise EngineError(f"{whose[0]}/{whose[1]} was taken out of {SOURCE} while it was shipped.", passes=True)
        return str(found[0][0])

    def _uncounted(self, connection: Connection, ledger: RawLedger, whose: tuple[str, str]) -> int:
        """Calls without a counter, by other software: that one changed shows in nothing but its cells."""
        changed = 0
        rows = ledger.uncounted(size=self.size)
        while rows:
            first, last = rows[0]["id"], rows[-1]["id"]
            between = "AND changed IS NULL AND id BETWEEN %s AND %s"
            changed += _keep_others(connection, whose, "ledger", rows, between, (first, last))
            rows = ledger.uncounted(last, size=self.size)
        return changed

    def _note(self, connection: Connection, whose: tuple[str, str], position: Position) -> None:
        execute(
            connection,
            f"UPDATE {SOURCE} SET shipped_to = %s, shipped = %s, place = %s, writings = coalesce(writings, 0) + 1"
            " WHERE host = %s AND ledger = %s",
            (position.text(), utc_text(self.clock()), inert(str(self.path)), *whose),
        )

    def _known(self, connection: Connection, ledger: RawLedger) -> Shipped:
        """Under which name this ledger is at the engine; a new one where it is another than those there.

        An older copy that was put back, and written to since, is another one: what followed upon it is no longer so.
        """
        origin = ledger.origin()
        found = execute(
            connection, f"SELECT ledger, shipped_to FROM {SOURCE} WHERE host = %s AND origin = %s", (self.host, origin)
        ).fetchall()
        positions = {str(name): _position(text) for name, text in found}
        fitting = {name: one for name, one in positions.items() if one is not None and ledger.continues(one)}
        if fitting:
            return Shipped(self.host, max(fitting, key=lambda name: fitting[name].order))
        name = next(one for one in _names(origin[:_NAME_CHARS]) if one not in positions)
        execute(
            connection,
            f"INSERT INTO {SOURCE} (host, ledger, origin, place, begun, shipped_to) VALUES (%s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (host, ledger) DO NOTHING",
            (self.host, name, origin, inert(str(self.path)), utc_text(self.clock()), Position(more=True).text()),
        )
        return Shipped(self.host, name, begun=True)


def _position(text: str | None) -> Position | None:
    """How far a ledger is shipped; None where somebody else wrote what says so."""
    try:
        return Position.of(text or "")
    except ValueError:
        return None


def _names(first: str) -> Iterator[str]:
    yield first
    yield from (f"{first}-{number}" for number in count(2))


def _keep_others(
    connection: Connection, whose: tuple[str, str], table: str, rows: Sequence[Row], rest: str = "", values: Any = ()
) -> int:
    """Writes those rows that the engine does not have, or has otherwise; what it has is read by `rest`."""
    known = {_cells(table, row) for row in tables.read(connection, whose, table, rest, values)}
    new = [row for row in rows if _cells(table, row) not in known]
    tables.keep(connection, whose, table, new)
    return len(new)


def _cells(table: str, row: Row) -> tuple[Any, ...]:
    """A row as it is kept, but for the count of what was hidden: in what comes back from there nothing is hidden."""
    return tuple(outgoing(row, kinds()[table])[:-1])
