"""Which session each chat of a gateway is in: in memory, in the store, and found again after a restart.

Sources: hermes-agent #82616, #82633, #60609, #61993, #12857.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from ..owners import key_profile
from ..rows import Session
from .faults import Fault
from .shapes import PLAIN, Identity, Origin
from .store import RESET, HardenedStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Routed:
    """Where a message goes."""

    session_id: str
    new: bool = False
    """It is the first of a session that did not exist before."""
    resumed: bool = False
    """The session was found again in the store, by the chat's identity."""


class Routes:
    """The routing table of one gateway. A new object is a gateway that has just started and remembers nothing."""

    def __init__(self, store: HardenedStore, *, scope: str) -> None:
        """`scope` keeps the routes of gateways apart that share a store. Raises sqlite3.Error."""
        self._store, self._scope = store, scope
        self._table: dict[str, str] = {}
        self._kept = store.routes(scope)

    def session_for(self, identity: Identity, new_id: Callable[[], str], origin: Origin = PLAIN) -> Routed:
        """The session of a chat's next message. `new_id` is asked only where no row of this chat may go on."""
        key = identity.session_key
        assert key is not None
        known = self._table.get(key)
        if known is not None and not self._closed(known):
            self._refreshed(known, identity)
            return Routed(known)
        found = self._found(key, identity)
        if found is not None:
            return self._resumed(found, identity)
        return self._begun(new_id(), identity, origin)

    def reset(
        self, identity: Identity, new_id: Callable[[], str], reason: str = RESET, origin: Origin = PLAIN
    ) -> str | None:
        """The chat begins anew; the id it is in from now on. Unchanged where that could not be written; None if it
        had none."""
        key = identity.session_key
        if key is None:
            return None
        if key not in self._table:  # The first word after a start.
            found = self._found(key, identity)
            if found is None:
                return None
            self._table[key] = found.id
        before, after, faults = self._table[key], new_id(), self._store.faults
        if Fault.TABLE_FIRST in faults:
            self._table[key] = after
        try:
            with self._store.transaction():
                self._store.rotate(before, after, identity, reason, origin)
                self._store.save_route(self._scope, identity, after)
        except sqlite3.Error as error:
            if Fault.SWALLOWED_WRITES in faults:
                log.debug("rotation of %s: %s", key, error)
                self._table[key] = after
            else:
                self._warn_of_reset(key, before, after, error)
            return self._table[key]
        self._table[key] = after
        return after

    def advance(self, identity: Identity, session_id: str) -> None:
        """The chat goes on in the child of a compression."""
        if identity.session_key is not None:
            self._table[identity.session_key] = session_id
            self._written(
                "route", identity, session_id, lambda: self._store.save_route(self._scope, identity, session_id)
            )

    # -- how a message finds its session ---------------------------------------------------------------------------

    def _closed(self, session_id: str) -> bool:
        """Did it end while the table still names it? A row that is missing yet will be made by the next refresh."""
        row = self._store.row(session_id)
        return row is not None and not row.open

    def _found(self, key: str, identity: Identity) -> Session | None:
        """The row that the gateway was last in, unless the search knows one that was used later: routes get stale."""
        peer = identity.peer
        found = self._store.resolve(peer) if peer is not None else None
        kept = self._kept.pop(key, None)
        row = self._store.row(kept) if kept is not None else None
        if row is not None and row.open and (found is None or _activity(found) <= _activity(row)):
            found = row
        return found if found is not None and self._own(found) else None

    def _own(self, row: Session) -> bool:
        profile = key_profile(row.session_key)
        return self._store.owner is None or profile is None or profile == self._store.owner

    def _resumed(self, row: Session, identity: Identity) -> Routed:
        self._table[identity.session_key or ""] = row.id

        def write() -> None:
            with self._store.transaction():
                if not row.open:
                    self._store.reopen(row.id)
                self._store.refresh(row.id, identity)
                self._store.save_route(self._scope, identity, row.id)

        self._written("resumption", identity, row.id, write)
        return Routed(row.id, resumed=True)

    def _begun(self, session_id: str, identity: Identity, origin: Origin) -> Routed:
        self._table[identity.session_key or ""] = session_id

        def write() -> None:
            with self._store.transaction():
                self._store.create(session_id, identity, origin)
                self._store.save_route(self._scope, identity, session_id)

        self._written("first row", identity, session_id, write)
        return Routed(session_id, new=True)

    def _refreshed(self, session_id: str, identity: Identity) -> None:
        if Fault.UPDATE_ONLY_REFRESH not in self._store.faults:
            self._written("identity", identity, session_id, lambda: self._store.refresh(session_id, identity))

    # -- writing ---------------------------------------------------------------------------------------------------

    def _written(self, what: str, identity: Identity, session_id: str, write: Callable[[], None]) -> None:
        """A failure here does not end the turn: the next refresh writes it. Until then a restart may lose the chat."""
        try:
            write()
        except sqlite3.Error as error:
            if Fault.SWALLOWED_WRITES in self._store.faults:
                log.debug("%s of %s: %s", what, identity.session_key, error)
                return
            log.warning(
                "The %s of session %s for %s could not be written (%s): after a restart the chat may go on in another"
                " session, until the next message writes it again",
                what, session_id, identity.session_key, error,
            )  # fmt: skip

    def _warn_of_reset(self, key: str, before: str, after: str, error: sqlite3.Error) -> None:
        if self._table[key] == after:
            consequence = (
                f"session {before} stays open and may be resumed after a restart, until the next message writes {after}"
            )
        else:
            consequence = f"the chat stays in session {before}; nothing was switched"
        log.warning("The reset of %s could not be written (%s): %s", key, error, consequence)


def _activity(row: Session) -> float:
    return row.last_active or 0.0
