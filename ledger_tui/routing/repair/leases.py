"""Turns and compactions that say in the store itself that they are under way, and back ends that say they live."""

from __future__ import annotations

import re
import sqlite3
import time
from dataclasses import dataclass

from ..rows import number
from .gateway_files import alive

TABLES = {"session_turn_leases": "a turn", "compression_locks": "a compaction"}

_HEARTBEAT_S = 120.0
"""A back end writes one every minute."""

_PID = re.compile(r"(?:^|:)pid=(\d{1,10})(?::|$)")


@dataclass(frozen=True, slots=True)
class Lease:
    """Something that is under way until `until`, in seconds since 1970."""

    what: str
    until: float
    gone: bool
    """The process that its holder names does not exist here."""


def leases(connection: sqlite3.Connection, *, now: float) -> tuple[Lease, ...]:
    """What has not run out. Raises sqlite3.Error."""
    found = []
    for table, what in TABLES.items():
        if not {"holder", "expires_at"} <= _columns(connection, table):
            continue
        for holder, expires in connection.execute(f"SELECT holder, expires_at FROM {table}").fetchall():
            until = number(expires)
            if until is not None and until > now:
                found.append(Lease(what, until, _gone(str(holder))))
    return tuple(found)


def back_ends(connection: sqlite3.Connection, *, now: float) -> int:
    """Terminal and web back ends whose last sign is fresh and whose process exists. Raises sqlite3.Error."""
    if not {"pid", "last_heartbeat"} <= _columns(connection, "gateway_heartbeats"):
        return 0
    rows = connection.execute("SELECT pid, last_heartbeat FROM gateway_heartbeats").fetchall()
    return sum(
        (moment := number(last)) is not None and abs(now - moment) < _HEARTBEAT_S and _exists(pid) for pid, last in rows
    )


def clock_time(moment: float) -> str:
    """`14:05:09` on this machine's clock; a far day too."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
    except (OverflowError, ValueError, OSError):
        return "a time that no clock shows"


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _gone(holder: str) -> bool:
    found = _PID.search(holder)
    return found is not None and not alive(int(found[1]))


def _exists(pid: object) -> bool:
    return not isinstance(pid, int) or pid <= 0 or alive(pid)
