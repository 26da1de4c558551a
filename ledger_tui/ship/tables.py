"""The tables at the engine, in plain SQL that every engine speaking PostgreSQL's protocol takes.

Each table of a ledger has one here, with the same columns and before them whose rows they are: `host` and `ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_ledger.engine.chain.spans import PRUNED
from ledger_tui.sources.raw_rows import KEYS, Row, kinds

from .cells import ENGINE_KINDS, HIDDEN, ODD, incoming, outgoing

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

SOURCE = "agent_ledger_source"
"""One row for each ledger: where it comes from, and how far it has been shipped."""

_SOURCE_COLUMNS: Mapping[str, str] = {
    "host": "TEXT NOT NULL",
    "ledger": "TEXT NOT NULL",
    "origin": "TEXT NOT NULL",
    "place": "TEXT NOT NULL",
    "begun": "TEXT NOT NULL",
    "shipped": "TEXT",
    "shipped_to": "TEXT",
    "writings": "BIGINT",
}
"""`origin` tells ledgers apart, `place` is the file's path there, `shipped_to` the position, as JSON;
`writings` counts the transactions in which something of this ledger was written."""

_TRIES = 3
"""How often tables are made again where another machine makes them at the same moment."""


def name_of(table: str) -> str:
    """What a table of a ledger is called at the engine."""
    return "agent_ledger_call" if table == "ledger" else f"agent_ledger_{table}"


def prepare(connection: Connection) -> None:
    """Makes the tables that are not there, and adds the columns that they lack. Raises psycopg.Error."""
    import psycopg

    wanted = {SOURCE: dict(_SOURCE_COLUMNS), **{name_of(table): _columns(table) for table in KEYS}}
    keys = {SOURCE: "host, ledger", **{name_of(table): f'host, ledger, "{key}"' for table, key in KEYS.items()}}
    for table, columns in wanted.items():
        for left in reversed(range(_TRIES)):
            try:
                _make(connection, table, columns, keys[table])
                break
            except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable, psycopg.errors.DuplicateColumn):
                if not left:
                    raise


def _columns(table: str) -> dict[str, str]:
    own = {name: ENGINE_KINDS[kind] for name, kind in kinds()[table].items()}
    own[KEYS[table]] += " NOT NULL"
    return {"host": "TEXT NOT NULL", "ledger": "TEXT NOT NULL", **own, ODD: "TEXT", HIDDEN: "BIGINT"}


def _make(connection: Connection, table: str, columns: Mapping[str, str], key: str) -> None:
    there = columns_of(connection, table)
    if there is None:
        made = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        execute(connection, f"CREATE TABLE IF NOT EXISTS {table} ({made}, PRIMARY KEY ({key}))")
        if table == name_of("ledger"):
            index = f"{table}_changed ON {table} (host, ledger, changed)"
            execute(connection, f"CREATE INDEX IF NOT EXISTS {index}")
        return
    for name in columns.keys() - there:
        execute(connection, f'ALTER TABLE {table} ADD COLUMN "{name}" {columns[name].removesuffix(" NOT NULL")}')


def columns_of(connection: Connection, table: str) -> set[str] | None:
    """Names of a table's columns; None where there is no such table."""
    import psycopg

    try:
        found = execute(connection, f"SELECT * FROM {table} LIMIT 0")
    except psycopg.errors.UndefinedTable:
        return None
    return {column.name for column in found.description or ()}


def keep(connection: Connection, whose: tuple[str, str], table: str, rows: Sequence[Row]) -> None:
    """Writes rows of a ledger's table: new ones are added, those that are there become as they are now."""
    if not rows:
        return
    of_kind, key = kinds()[table], KEYS[table]
    names = ["host", "ledger", *(f'"{name}"' for name in (*of_kind, ODD, HIDDEN))]
    renewed = ", ".join(f"{name} = excluded.{name}" for name in names[2:] if name != f'"{key}"')
    statement = (
        f"INSERT INTO {name_of(table)} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"
        f' ON CONFLICT (host, ledger, "{key}") DO UPDATE SET {renewed}'
    )
    with connection.cursor() as cursor:
        cursor.executemany(statement, [(*whose, *outgoing(row, of_kind)) for row in rows])


def drop(connection: Connection, whose: tuple[str, str], first: int, last: int, kept: Sequence[int]) -> None:
    """Takes out calls by their ids, and what is kept beside them."""
    spared = "".join(f" AND {{key}} <> {int(number)}" for number in kept)
    for table, key in (("ledger", "id"), ("verdict", "ledger_id"), ("amendment", "ledger_id")):
        # `prune` notes what it did at the newest call, which may be one of these: that record stays.
        more = f" AND kind <> '{PRUNED}'" if table == "amendment" else ""
        execute(
            connection,
            f"DELETE FROM {name_of(table)} WHERE host = %s AND ledger = %s AND {key} BETWEEN %s AND %s"
            f"{spared.format(key=key)}{more}",
            (*whose, first, last),
        )


def read(connection: Connection, whose: tuple[str, str], table: str, rest: str, values: Sequence[Any]) -> list[Row]:
    """Rows of a ledger's table as they stood in the ledger. `rest` begins with AND or ORDER BY."""
    names = [*kinds()[table], ODD, HIDDEN]
    listed = ", ".join(f'"{name}"' for name in names)
    found = execute(
        connection,
        f"SELECT {listed} FROM {name_of(table)} WHERE host = %s AND ledger = %s {rest}",
        (*whose, *values),
    ).fetchall()
    return [incoming(dict(zip(names, row, strict=True))) for row in found]


def execute(connection: Connection, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
    """One statement, made of names that are ours alone; every value goes beside it."""
    return connection.execute(statement, tuple(values) or None)
