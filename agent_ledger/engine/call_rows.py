"""The rows of `ledger` as the hooks see them: added, settled, amended, and found again."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .chain.writer import ChainWriter
from .outcome import Outcome
from .records import CONFIRMED, GHOST_REPORTED, PENDING

LATE_ROWS = 20_000
"""How many rows back a settlement may still contradict one that stands."""

_UNSETTLED = "status IN ('PENDING', 'GHOST_REPORTED') AND status <> 'CONFIRMED'"


class CallRows:
    """The table `ledger` over one writing connection. Every change is one statement or one short transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._chain = ChainWriter(connection)

    def taken_back(self) -> None:
        """A transaction was rolled back, or a part of one."""
        self._chain.forget()

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """A transaction, or a part of the one that is open."""
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            self._chain.forget()
            if self.connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
            raise

    def _amend(
        self, call_id: int, kind: str, new: Mapping[str, Any], *, where: str, values: Sequence[Any] = (), now_us: int
    ) -> bool:
        """Change cells of one row if it is still as `where` asks."""
        with self._whole():
            still = f"SELECT 1 FROM ledger WHERE id=? AND {where}"
            if not self.connection.execute(still, (call_id, *values)).fetchone():
                return False
            self._chain.amend(call_id, kind, new, now_us=now_us)
        return True

    # -- writing one call ------------------------------------------------------------------------------------------

    def insert(self, row: Sequence[Any], *, now_us: int) -> int:
        """Add a call (values in the order of ISSUE_COLUMNS); its id."""
        return self._chain.insert(row, now_us=now_us)

    def insert_settled(self, row: Sequence[Any], settled: Sequence[Any], *, now_us: int) -> int:
        """Add a call that was never announced (values in the order of ISSUE_COLUMNS and SETTLE_COLUMNS); its id."""
        return self._chain.insert_settled(row, settled, now_us=now_us)

    def settle(self, call_id: int, tool_call_id: str, outcome: Outcome, *, by: str, ts: str, now_us: int) -> bool:
        """Settle one unsettled row. False when there is none with that id and call id."""
        settled = (outcome.status, outcome.effect, outcome.digest, ts, outcome.duration_ms, outcome.exit_code, by)
        return self._chain.settle(call_id, tool_call_id, settled, now_us=now_us)

    def seen_again(self, call_id: int, *, now_us: int) -> bool:
        """Count one more announcement of a pending call; False when it is not pending any more."""
        question = "SELECT max(CAST(seen AS INTEGER)) FROM ledger WHERE id=?"
        (seen,) = self.connection.execute(question, (call_id,)).fetchone()
        new = {"seen": (seen or 1) + 1}
        return self._amend(call_id, "announced again", new, where=f"status='{PENDING}'", now_us=now_us)

    def fill_session(self, call_id: int, session_id: str, turn_id: str, *, now_us: int) -> None:
        """Name the conversation of a call that was announced without one (hermes-agent #28961)."""
        found = self.connection.execute(
            "SELECT coalesce(nullif(turn_id,''),?) FROM ledger WHERE id=? AND session_id=''", (turn_id, call_id)
        ).fetchone()
        if found:
            new = {"session_id": session_id, "turn_id": found[0]}
            self._amend(call_id, "conversation named", new, where="session_id=''", now_us=now_us)

    def contradict(self, call_id: int, outcome: Outcome, *, ts: str, now_us: int) -> bool:
        """Record a settlement that differs from the one that stands. The effect is done once either says so."""
        new: dict[str, Any] = {"later_status": outcome.status, "later_ts": ts, "later_digest": outcome.digest}
        if outcome.effect == "done":
            new["effect"] = "done"
        differs = f"status <> ? AND NOT ({_UNSETTLED})"
        return self._amend(call_id, "contradicted", new, where=differs, values=(outcome.status,), now_us=now_us)

    def announce_late(self, key: tuple[str, str, str], values: dict[str, Any], *, now_us: int) -> None:
        """Give the row of a call that was given up before it was announced its arguments (values by column)."""
        given_up = "closed_by='no-pre' AND id > (SELECT max(id) FROM ledger) - ?"
        rows = self.connection.execute(
            f"SELECT id FROM ledger WHERE session_id=? AND turn_id=? AND tool_call_id=? AND {given_up}",
            (*key, LATE_ROWS),
        ).fetchall()
        for (call_id,) in rows:
            new = {**values, "closed_by": "post", "effect": "unknown"}
            self._amend(call_id, "announced late", new, where="closed_by='no-pre'", now_us=now_us)

    def report(self, ids: Sequence[int], *, ts: str, now_us: int) -> list[int]:
        """PENDING to GHOST_REPORTED; the ids that were still pending."""
        done = []
        for call_id in ids:
            new = {"status": GHOST_REPORTED, "reported_ts": ts, "effect": "unknown"}
            if self._amend(call_id, "reported", new, where=f"status='{PENDING}'", now_us=now_us):
                done.append(call_id)
        return done

    def mark_no_signal(self, tool_name: str, ids: Sequence[int], *, ts: str, now_us: int) -> None:
        self.connection.execute("INSERT OR IGNORE INTO no_signal VALUES(?,?)", (tool_name, ts))
        for call_id in ids:
            self._amend(call_id, "no signal", {"no_signal": 1}, where="no_signal IS NOT 1", now_us=now_us)

    def keep_head(self, ts: str) -> None:
        """Write down which record is the last now, inside a transaction of the caller."""
        head = self._chain.newest()
        if head.number:
            self.connection.execute(
                "INSERT INTO chain_head(id, number, changed, link, seen_ts) VALUES(1,?,?,?,?) ON CONFLICT(id) DO UPDATE"
                " SET number=excluded.number, changed=excluded.changed, link=excluded.link, seen_ts=excluded.seen_ts"
                " WHERE number IS NOT excluded.number",
                (head.number, head.changed, head.link, ts),
            )

    # -- reading ---------------------------------------------------------------------------------------------------

    def pending_since(self, key: tuple[str, str, str], args_hash: bytes | None, since: str) -> int | None:
        """A pending call with these ids and arguments, announced since a moment."""
        found = self.connection.execute(
            f"SELECT id FROM ledger WHERE {_UNSETTLED} AND session_id=? AND turn_id=? AND tool_call_id=?"
            " AND args_hash IS ? AND ts >= ?",
            (*key, args_hash, since),
        ).fetchone()
        return int(found[0]) if found else None

    def hashes_of(self, sessions: Sequence[str], limit: int) -> list[tuple[Any, ...]]:
        """The newest calls of a conversation that may have run: argument hash, first of its kind, time."""
        marks = ",".join("?" * len(sessions))
        return self.connection.execute(
            "SELECT args_hash, coalesce(repeat_of, id), ts FROM ledger"
            f" WHERE session_id IN ({marks}) AND args_hash IS NOT NULL AND effect IS NOT 'none'"
            " ORDER BY id DESC LIMIT ?",
            (*sessions, limit),
        ).fetchall()

    def pending_of(self, sessions: Sequence[str], task_id: str) -> list[tuple[Any, ...]]:
        """Pending rows of a conversation whose silence means something: id, ts, tool, args, grace, mono, writer, call
        id. A nested call without a session belongs to the conversation of its task. Numbers are numbers, whatever the
        columns of other software are."""
        marks = ",".join("?" * len(sessions))
        return self.connection.execute(
            "SELECT id, ts, tool_name, args_json, CAST(grace_s AS REAL), CAST(mono AS REAL),"
            " CAST(writer_id AS INTEGER), tool_call_id FROM ledger"
            f" WHERE status = '{PENDING}' AND status <> 'CONFIRMED' AND no_signal IS NOT 1"
            f" AND (session_id IN ({marks}) OR (session_id = '' AND ? <> '' AND task_id = ?)) ORDER BY id",
            (*sessions, task_id, task_id),
        ).fetchall()

    def confirmed_before(self, sessions: Sequence[str], before_ts: str, limit: int) -> list[tuple[Any, ...]]:
        """The newest confirmed calls of a conversation issued before a moment: id, ts, tool, args."""
        marks = ",".join("?" * len(sessions))
        return self.connection.execute(
            f"SELECT id, ts, tool_name, args_json FROM ledger WHERE session_id IN ({marks}) AND status='{CONFIRMED}'"
            " AND ts < ? ORDER BY id DESC LIMIT ?",
            (*sessions, before_ts, limit),
        ).fetchall()

    # -- finding the row of a settlement ---------------------------------------------------------------------------

    def find(
        self, *, session_id: str, turn_id: str, tool_call_id: str, task_id: str, request_id: str, tool_name: str,
        args_hash: bytes | None,
    ) -> tuple[int, str, bool] | None:  # fmt: skip
        """(id, call id, unsettled) of the row that a settlement speaks of; None when no row is left for it."""
        if tool_call_id:
            return self._find_by_id(session_id, turn_id, tool_call_id, request_id, tool_name)
        return self._find_by_tool(session_id, task_id, tool_name, args_hash)

    def _find_by_id(
        self, session_id: str, turn_id: str, tool_call_id: str, request_id: str, tool_name: str
    ) -> tuple[int, str, bool] | None:
        # Ids come from the model's provider and are not unique: the same turn, else a row that names none.
        same = "tool_call_id = ? AND tool_name = ? AND (turn_id = ? OR coalesce(turn_id,'') = '' OR ? = '')"
        values = (tool_call_id, tool_name, turn_id, turn_id)
        found = self.connection.execute(
            f"SELECT id FROM ledger WHERE {_UNSETTLED} AND {same} AND (session_id IN (?, '') OR ? = '')"
            " ORDER BY (request_id = ?) DESC, (session_id = ?) DESC, id LIMIT 1",
            (*values, session_id, session_id, request_id, session_id),
        ).fetchone()
        if found:
            return int(found[0]), tool_call_id, True
        found = self.connection.execute(
            f"SELECT id FROM ledger WHERE session_id = ? AND id > (SELECT max(id) FROM ledger) - {LATE_ROWS} AND {same}"
            " ORDER BY (request_id = ?) DESC, id DESC LIMIT 1",
            (session_id, *values, request_id),
        ).fetchone()
        return (int(found[0]), tool_call_id, False) if found else None

    def _find_by_tool(
        self, session_id: str, task_id: str, tool_name: str, args_hash: bytes | None
    ) -> tuple[int, str, bool] | None:
        scope, value = ("session_id", session_id) if session_id else ("task_id", task_id)
        found = self.connection.execute(
            f"SELECT id, tool_call_id FROM ledger WHERE {_UNSETTLED} AND tool_name = ? AND {scope} = ?"
            " ORDER BY (args_hash IS ?) DESC, (coalesce(tool_call_id,'') = '') DESC, id LIMIT 1",
            (tool_name, value, args_hash),
        ).fetchone()
        if found is None and session_id and task_id:
            # Announced without a session and settled with one.
            found = self.connection.execute(
                f"SELECT id, tool_call_id FROM ledger WHERE {_UNSETTLED} AND tool_name = ? AND session_id = ''"
                " AND task_id = ? ORDER BY (args_hash IS ?) DESC, id LIMIT 1",
                (tool_name, task_id, args_hash),
            ).fetchone()
        return (int(found[0]), str(found[1] or ""), True) if found else None

    def newest_nested(self, tool_name: str, task_id: str, args_hash: bytes | None, *, before: str) -> int | None:
        """The newest settled call without an id of this tool, task and arguments, issued before a moment. Where the
        clock was set back meanwhile and none was, the newest of all.
        """
        question = (
            f"SELECT id FROM ledger WHERE id > (SELECT max(id) FROM ledger) - {LATE_ROWS} AND tool_call_id = ''"
            f" AND tool_name = ? AND task_id = ? AND args_hash IS ? AND NOT ({_UNSETTLED})"
        )
        for since, moment in ((" AND ts <= ?", (before,)), ("", ())):
            found = self.connection.execute(
                f"{question}{since} ORDER BY id DESC LIMIT 1", (tool_name, task_id, args_hash, *moment)
            ).fetchone()
            if found:
                return int(found[0])
        return None
