"""A shipped ledger brought back into a throw-away file, where everything that reads ledgers can read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import Inert
from ledger_tui.sources.copied import CopiedLedger
from ledger_tui.sources.raw_rows import BESIDE, KEYS, Position, Row

from . import tables
from .cells import HIDDEN
from .engine import EngineError
from .tables import SOURCE, execute

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

_FIRST = -(2**63)
PAGE = 2000

_SEALED = {"ledger": "id", "amendment": "ledger_id"}
"""Tables whose rows are in the chain, and by which column the call of each is named."""

NEVER = "never"
"""When a ledger was shipped that was only begun."""

_SHOWN = 10
"""How many ledgers a sentence names."""


class ChoiceError(ValueError):
    """It is not clear which ledger is meant. The text is one inert sentence."""


@dataclass(frozen=True, slots=True)
class Source:
    """One ledger at an engine."""

    host: str
    ledger: str
    place: Inert
    shipped: Inert

    @property
    def host_name(self) -> Inert:
        return inert(self.host)

    @property
    def name(self) -> Inert:
        """As it is typed: `HOST/LEDGER`."""
        return inert(f"{self.host}/{self.ledger}")


def sources(connection: Connection) -> list[Source]:
    """Every ledger there, each host's last shipped first. Raises psycopg.Error."""
    if tables.columns_of(connection, SOURCE) is None:
        return []
    # NULL, a ledger that was begun and never shipped, would be the first.
    order = "ORDER BY host, shipped IS NULL, shipped DESC, ledger"
    found = execute(connection, f"SELECT host, ledger, place, shipped FROM {SOURCE} {order}").fetchall()
    return [Source(host, ledger, inert(place), inert(shipped or NEVER)) for host, ledger, place, shipped in found]


def chosen(found: Sequence[Source], wanted: str | None) -> Source:
    """The ledger that `HOST` or `HOST/LEDGER` names: of several of one host the last shipped. Raises ChoiceError."""
    if not found:
        raise ChoiceError("No ledger was shipped there yet; ledger-tui ship does that.")
    host, _, ledger = (wanted or "").partition("/")
    fitting = [one for one in found if (not host or one.host == host) and (not ledger or one.ledger == ledger)]
    if not fitting:
        raise ChoiceError(f"No ledger of {inert(wanted or '')} was shipped there; there are {_named(found)}.")
    if len({one.host for one in fitting}) > 1:
        raise ChoiceError(f"Several hosts shipped there; say --all-hosts, or name one by --host: {_named(fitting)}.")
    return fitting[0]


def _named(found: Sequence[Source]) -> str:
    names = list(dict.fromkeys(inert(one.host) for one in found))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _nobody(done: int, total: int) -> None:
    """Where nobody watches."""


class Brought:
    """Keeps a throw-away ledger as the engine has it."""

    def __init__(self, source: Source, copy: CopiedLedger) -> None:
        self.source = source
        self._copy = copy
        self._writings: int | None = None
        self._changed: tuple[float, int] = (_FIRST, _FIRST)
        self._last = dict.fromkeys(("writer", "amendment", "policy_decision", "prompt_decision"), _FIRST)

    def refresh(self, connection: Connection, tell: Callable[[int, int], None] = _nobody) -> bool:
        """Brings what is new; False where nothing is. `tell` hears how many calls are here, and how many there are.

        Raises EngineError where it was taken out there, psycopg.Error, sqlite3.Error.
        """
        with connection.transaction():
            execute(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            found = execute(
                connection,
                f"SELECT writings, shipped_to, shipped FROM {SOURCE} WHERE host = %s AND ledger = %s",
                (self.source.host, self.source.ledger),
            ).fetchall()
            if not found:
                raise EngineError(f"{self.source.name} was taken out of {SOURCE}.", passes=True)
            writings = int(found[0][0] or 0)
            if writings == self._writings:
                return False
            before = self._changed, dict(self._last)
            try:
                with self._copy:
                    self._bring(connection, tell)
                    self._copy.is_moment(_is_moment(found[0][1]))
            except BaseException:
                self._changed, self._last = before
                raise
            self._writings = writings
        self.source = replace(self.source, shipped=inert(found[0][2] or NEVER))
        return True

    def _bring(self, connection: Connection, tell: Callable[[int, int], None]) -> None:
        done, total = 0, 0 if tell is _nobody else self._there(connection, "ledger")
        while rows := self._calls(connection):
            self._put("ledger", rows)
            done += len(rows)
            tell(done, total)
            self._changed = (rows[-1]["changed"], rows[-1]["id"])
        for table, last in self._last.items():
            key = KEYS[table]
            while rows := self._read(connection, table, f'AND "{key}" > %s ORDER BY "{key}" LIMIT {PAGE}', (last,)):
                self._put(table, rows)
                self._last[table] = last = rows[-1][key]
        for table in (*BESIDE, "chain_head"):
            self._put(table, self._read(connection, table, "", ()))
        # Calls without a counter, by other software: their changes show in nothing else.
        self._put("ledger", self._read(connection, "ledger", "AND changed IS NULL", ()))
        for table in ("ledger", "verdict", "amendment"):
            self._drop_gone(connection, table)

    def _put(self, table: str, rows: Sequence[Row]) -> None:
        self._copy.put(table, rows)
        if table in _SEALED:
            calls = [row[_SEALED[table]] for row in rows if HIDDEN in row]
            self._copy.altered(call for call in calls if isinstance(call, int))

    def _calls(self, connection: Connection) -> list[Row]:
        changed, last = self._changed
        behind = f"AND (changed > %s OR (changed = %s AND id > %s)) ORDER BY changed, id LIMIT {PAGE}"
        return self._read(connection, "ledger", behind, (changed, changed, last))

    def _read(self, connection: Connection, table: str, rest: str, values: Sequence[Any]) -> list[Row]:
        return tables.read(connection, (self.source.host, self.source.ledger), table, rest, values)

    def _drop_gone(self, connection: Connection, table: str) -> None:
        """What a mirror took out there."""
        if self._there(connection, table) != self._copy.count(table):
            found = self._select(connection, f'"{KEYS[table]}"', table)
            self._copy.keep_only(table, {key for (key,) in found})

    def _there(self, connection: Connection, table: str) -> int:
        """How many rows there are at the engine."""
        ((count,),) = self._select(connection, "count(*)", table)
        return int(count)

    def _select(self, connection: Connection, what: str, table: str) -> list[tuple[Any, ...]]:
        where = "WHERE host = %s AND ledger = %s", (self.source.host, self.source.ledger)
        return execute(connection, f"SELECT {what} FROM {tables.name_of(table)} {where[0]}", where[1]).fetchall()


def _is_moment(shipped_to: str | None) -> bool:
    """Is what is shipped so far one moment of the ledger? Not so in the middle of a round, or where one broke off."""
    try:
        return not Position.of(shipped_to or "").more
    except ValueError:
        return False
