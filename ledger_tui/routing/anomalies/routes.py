"""What does not fit between rows, the keys of chats, and the gateway's own table of routes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator

from agent_ledger.engine.end_reasons import RECOVERABLE

from ..read import Store
from ..routes import route
from .kinds import Anomaly, note

_HOLDER = re.compile(r"pid=(\d{1,10})(?:$|:(?:.*:)?pidns=(\d+)(?:$|:)|:)")

_LOCKS = {"compression_locks": "compression", "session_turn_leases": "a turn"}


def routing_anomalies(store: Store, alive: frozenset[str]) -> Iterator[tuple[str, Anomaly]]:
    """Findings by session id. `alive`: the rows that the host's search would open for their chat."""
    yield from _rows(store, alive)
    yield from _stale_routes(store)


def _rows(store: Store, alive: frozenset[str]) -> Iterator[tuple[str, Anomaly]]:
    keyed = [row for row in store.sessions.values() if row.session_key]
    open_rows = Counter((row.source, row.session_key) for row in keyed if row.open)
    for row in keyed:
        rivals = open_rows[row.source, row.session_key]
        if row.open and rivals > 1:
            yield row.id, note("two-open", f"{rivals} rows of this chat are open at once (hermes-agent #92859).")
        if row.delegate_from is not None:
            text = "Messages of a chat are routed to it, but lists leave it out as a delegate's (hermes-agent #109073)."
            yield row.id, note("keyed-delegate", text)
        if row.id not in alive:
            continue
        if not row.open and row.end_reason in RECOVERABLE:
            text = f"It ended by accident ({row.end_reason}), and the next message of its chat reopens it."
            yield row.id, note("ended-owner", text)
        if row.open and store.routes and row.session_key not in store.routes:
            text = "The gateway's table has no entry for its chat, which finds it by a search (hermes-agent #54878)."
            yield row.id, note("no-route", text)


def _stale_routes(store: Store) -> Iterator[tuple[str, Anomaly]]:
    """Entries that lead to a row that is gone, or that ended on purpose."""
    for entry in store.routes.values():
        found = route(entry)
        if found is None:
            continue
        row = store.sessions.get(found.session_id)
        if row is None:
            yield "", note("stale-route", "An entry of the gateway's table leads to a row that does not exist.")
        elif row.end_reason is not None and row.end_reason not in RECOVERABLE:
            waits = ", and waits to be resumed" if found.resume_pending else ""
            text = f"The gateway's table still leads to this row, which ended ({row.end_reason}){waits}."
            yield row.id, note("stale-route", text)


def lease_anomalies(store: Store, *, now: float, gone: Callable[[int], bool | None]) -> Iterator[tuple[str, Anomaly]]:
    """Claims that have not run out, of processes that have."""
    for lease in store.leases:
        holder = _HOLDER.match(lease.holder)
        if holder is None or lease.expires_at is None or lease.expires_at <= now or not _here(holder[2]):
            continue
        if gone(int(holder[1])):
            text = (
                f"Process {holder[1]}, which is gone, holds {_LOCKS.get(lease.table, 'a lock')} on it for"
                f" {int(lease.expires_at - now)} more seconds."
            )
            yield (lease.session_id if lease.session_id in store.sessions else ""), note("stuck-lease", text)


def _here(namespace: str | None) -> bool:
    """Can a process of this namespace be seen from here?"""
    if not namespace:
        return True
    try:
        return os.readlink(f"/proc/{os.getpid()}/ns/pid") == f"pid:[{namespace}]"
    except OSError:
        return False


def lost_messages(store: Store) -> Iterator[tuple[str, Anomaly]]:
    """One finding for the whole store."""
    if store.lost_messages and not store.moved:
        count, rows = sum(store.lost_messages.values()), len(store.lost_messages)
        text = f"{count} messages belong to {rows} sessions that have no row (hermes-agent #71803)."
        yield "", note("lost-messages", text)
