"""A session store that cannot lose a chat: identity in the first write, errors that are errors, one commit a step.

`Fault` tells what it guards against. Sources: hermes-agent #82633, #82743, #59527, #99714, #111999.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agent_ledger.engine.end_reasons import COMPRESSION, RECOVERABLE

from ..resolver import Peer, Resolver
from ..rows import COLUMNS, Session, session
from . import session_rows, transcripts
from .faults import SOUND, Fault, Faults
from .shapes import PLAIN, CompressionError, Identity, Message, Origin, TranscriptReadError

log = logging.getLogger(__name__)

RESET = "session_reset"

AUTOMATIC = RECOVERABLE | {"tui_shutdown", "ws_disconnect", "idle_timeout", "lru_evict"}
"""Ends that nobody meant: whoever still holds the conversation may continue it."""


class HardenedStore:
    """Sessions and messages over a writing connection that the caller opened, in autocommit mode, and will close.

    The file has the columns of Hermes 0.22. Every method is one transaction and raises sqlite3.Error when it cannot be
    written; nothing is half there then. `clock` gives seconds since 1970; `owner` is the profile of the store.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        clock: Callable[[], float],
        owner: str | None = "default",
        faults: Faults = SOUND,
    ) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        self.faults, self.owner = faults, owner
        self._connection, self._clock = connection, clock

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; one that is open already is joined."""
        if self._connection.in_transaction:
            yield self._connection
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    # -- rows ------------------------------------------------------------------------------------------------------

    def create(self, session_id: str, identity: Identity, origin: Origin = PLAIN) -> None:
        """The row with its whole identity; where it is there already, only gaps are filled."""
        with self.transaction() as connection:
            session_rows.upsert(connection, session_id, identity, origin, owner=self.owner, at=self._clock())

    def ensure(self, session_id: str, identity: Identity) -> None:
        """The same from the agent's side, late: before the first message or count of a session."""
        if Fault.BARE_LAZY_ROWS not in self.faults:
            self.create(session_id, identity)
            return
        with self.transaction() as connection:
            session_rows.insert_bare(connection, session_id, identity.source, at=self._clock())

    def refresh(self, session_id: str, identity: Identity) -> None:
        """Say again who the session is for. A row that is missing is made, with all of it; no key, no change."""
        if not session_id or not identity.session_key:
            return
        with self.transaction() as connection:
            there = session_rows.update_identity(connection, session_id, identity)
            if not there and Fault.UPDATE_ONLY_REFRESH not in self.faults:
                session_rows.upsert(connection, session_id, identity, owner=self.owner, at=self._clock())

    def end(self, session_id: str, reason: str) -> bool:
        """The first end stands; True if this was it."""
        with self.transaction() as connection:
            return session_rows.end(connection, session_id, reason, at=self._clock())

    def promote(self, session_id: str, reason: str = RESET) -> bool:
        """Draw a boundary, also over an accidental end; nothing before it comes back. True if it was drawn."""
        with self.transaction() as connection:
            return session_rows.promote(connection, session_id, reason, at=self._clock())

    def reopen(self, session_id: str) -> None:
        with self.transaction() as connection:
            session_rows.reopen(connection, session_id)

    def rotate(self, before: str, after: str, identity: Identity, reason: str = RESET, origin: Origin = PLAIN) -> None:
        """A reset: the old row ends at a boundary and the new one says what it follows, in one commit."""
        if Fault.RESET_WITHOUT_PARENT not in self.faults:
            config = {**(origin.model_config or {}), "_reset_from": before}
            origin = replace(origin, parent=before, model_config=config)
        with self.transaction() as connection:
            # Its own first write may have failed, and a parent has to be there.
            session_rows.upsert(connection, before, identity, owner=self.owner, at=self._clock())
            session_rows.promote(connection, before, reason, at=self._clock())
            session_rows.upsert(connection, after, identity, origin, owner=self.owner, at=self._clock())

    def compress(
        self,
        parent: str,
        child: str,
        identity: Identity,
        handoff: Iterable[Message],
        origin: Origin = PLAIN,
    ) -> None:
        """The parent ends as compressed and goes on in the child: row, messages, counters and stamp in one commit.

        Raises CompressionError where there is no such parent, it was ended on purpose, or nothing is handed over.
        """
        handoff = list(handoff)
        if not handoff:
            raise CompressionError(f"nothing is handed over to {child}")
        with self.transaction() as connection:
            row = connection.execute("SELECT ended_at, end_reason FROM sessions WHERE id = ?", (parent,)).fetchone()
            if row is None:
                raise CompressionError(f"there is no session {parent}")
            if row[0] is not None and row[1] not in AUTOMATIC:
                raise CompressionError(f"{parent} ended for {row[1]}")
            session_rows.reopen(connection, parent)
            session_rows.end(connection, parent, COMPRESSION, at=self._clock())
            session_rows.upsert(
                connection, child, identity, replace(origin, parent=parent), owner=self.owner, at=self._clock()
            )
            transcripts.append(connection, child, handoff, at=self._clock())

    # -- messages --------------------------------------------------------------------------------------------------

    def append(self, session_id: str, identity: Identity, *messages: Message) -> None:
        """Keep messages; a row that is missing yet is made first."""
        with self.transaction() as connection:
            self.ensure(session_id, identity)
            transcripts.append(connection, session_id, messages, at=self._clock())

    def transcript(self, session_id: str) -> list[Message]:
        """The conversation, followed through its compressions; empty where nothing was said yet.

        Raises TranscriptReadError where it cannot be read.
        """
        try:
            return transcripts.read(self._connection, transcripts.tip(self._connection, session_id))
        except (sqlite3.Error, ValueError, RecursionError) as error:  # Cells by other software need not hold JSON.
            if Fault.EMPTY_ON_ERROR in self.faults:
                log.debug("transcript of %s: %s", session_id, error)
                return []
            log.error("The transcript of session %s cannot be read and is not taken for empty: %s", session_id, error)
            raise TranscriptReadError(f"session {session_id}: {error}") from error

    # -- finding a session again -----------------------------------------------------------------------------------

    def row(self, session_id: str) -> Session | None:
        """None where there is none."""
        return next(iter(self._rows("id = ?", session_id)), None)

    def resolve(self, peer: Peer) -> Session | None:
        """The row in which this chat goes on after a restart; None where there is none to go on in."""
        rows = {row.id: row for row in self._rows("source = ? AND session_key = ?", peer.source, peer.session_key)}
        if peer.chat_id is not None and peer.chat_type is not None:
            tuple_rows = self._rows(
                "source = ? AND COALESCE(user_id, '') = ? AND chat_id = ? AND chat_type = ?"
                " AND COALESCE(thread_id, '') = ?",
                peer.source, peer.user_id or "", peer.chat_id, peer.chat_type, peer.thread_id or "",
            )  # fmt: skip
            rows |= {row.id: row for row in tuple_rows}
        recent = Fault.RESOLVE_BY_START not in self.faults
        return Resolver(rows.values(), self.owner, recent=recent).resolve(peer)

    # -- routes ----------------------------------------------------------------------------------------------------

    def save_route(self, scope: str, identity: Identity, session_id: str) -> None:
        """Which session a chat is in, for the next start of the gateway."""
        entry = {"session_id": session_id, "platform": identity.source, "chat_type": identity.chat_type}
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO gateway_routing(scope, session_key, entry_json, updated_at) VALUES(?,?,?,?)"
                " ON CONFLICT(scope, session_key) DO UPDATE SET entry_json = excluded.entry_json,"
                " updated_at = excluded.updated_at",
                (scope, identity.session_key, json.dumps(entry), self._clock()),
            )

    def routes(self, scope: str) -> dict[str, str]:
        """Session ids by routing key; entries that nobody can read are left out."""
        rows = self._connection.execute("SELECT session_key, entry_json FROM gateway_routing WHERE scope = ?", (scope,))
        named = {key: _named(text) for key, text in rows.fetchall()}
        return {key: session_id for key, session_id in named.items() if session_id is not None}

    def _rows(self, where: str, *values: Any) -> list[Session]:
        found = self._connection.execute(
            f"SELECT {', '.join(f's.{name}' for name in COLUMNS)},"
            f" (SELECT count(*) FROM messages m WHERE m.session_id = s.id) FROM sessions s WHERE {where}",
            values,
        )
        return [session(row[:-1])._replace(messages=row[-1]) for row in found.fetchall()]


def _named(text: str) -> str | None:
    """The session that a route's entry names."""
    try:
        entry = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    found = entry.get("session_id") if isinstance(entry, dict) else None
    return found if isinstance(found, str) else None
