"""Ledgers with a chain, made by the plugin's own writers without its hooks, and whatever somebody does to them then."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from agent_ledger.engine import schema
from agent_ledger.engine.call_rows import CallRows
from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.chain.report import Checked, Head
from agent_ledger.engine.chain.seal import ISSUE_COLUMNS, SETTLE_COLUMNS, Seal, link_of, pack, unpack
from agent_ledger.engine.outcome import Outcome
from agent_ledger.engine.records import utc_text

NOW = 1_767_355_200.0
"""2026-01-02T12:00:00Z."""


class Made:
    """A ledger under construction, with a clock that goes on by a second for every record."""

    def __init__(self, path: str | Path = ":memory:", *, columns: str = "", strict: bool = False) -> None:
        """`columns`: those of a ledger that other software made before."""
        self.db = sqlite3.connect(path, isolation_level=None)
        if columns:
            self.db.execute(f"CREATE TABLE ledger({columns}){' STRICT' if strict else ''}")
        schema.prepare(self.db)
        self.rows = CallRows(self.db)
        self.now = NOW

    def _tick(self) -> dict[str, Any]:
        self.now += 1
        return {"ts": utc_text(self.now), "now_us": int(self.now * 1_000_000)}

    def issue(self, call: str, **values: Any) -> int:
        """A call that is announced; its row."""
        at = self._tick()
        return self.rows.insert(self._row(call, at["ts"], **values), now_us=at["now_us"])

    def unannounced(self, call: str) -> int:
        """A call that is known from its end only; its row."""
        at = self._tick()
        settled = ("ERROR:cancelled", "unknown", "gone", at["ts"], 5, 1, "no-pre")
        return self.rows.insert_settled(self._row(call, at["ts"]), settled, now_us=at["now_us"])

    def _row(self, call: str, ts: str, **values: Any) -> list[Any]:
        cells = {
            "ts": ts, "session_id": "s1", "turn_id": "t1", "tool_call_id": call, "task_id": "s1",
            "request_id": "r1", "tool_name": "write_file", "args_json": f'{{"path":"/notes/{call}"}}', "args_cut": 0,
            "args_redacted": 0, "args_hash": call.encode().ljust(16, b"\0"), "status": "PENDING", "grace_s": 120.0,
            "mono": self.now / 7, "writer_id": 1, **values,
        }  # fmt: skip
        return [cells.get(name) for name in ISSUE_COLUMNS]

    def settle(self, call_id: int, call: str, status: str = "CONFIRMED") -> None:
        outcome = Outcome(status, "done", 0, 5, "3 bytes written")
        assert self.rows.settle(call_id, call, outcome, by="post", **self._tick())

    def report(self, call_id: int) -> None:
        assert self.rows.report([call_id], **self._tick()) == [call_id]
        self.turn()  # It is at the start of one that calls are reported.

    def contradict(self, call_id: int) -> None:
        assert self.rows.contradict(call_id, Outcome("ERROR:timeout", "unknown", None, 9, "later"), **self._tick())

    def turn(self) -> None:
        """What the start of a turn writes down."""
        self.db.execute("BEGIN IMMEDIATE")
        self.rows.keep_head(self._tick()["ts"])
        self.db.execute("COMMIT")

    def calls(self, first: int, last: int) -> None:
        """Settled calls, so many that they get these numbers."""
        for number in range(first, last + 1):
            assert self.issue(f"c{number}") == number
            self.settle(number, f"c{number}")

    def check(self, expected: Head | None = None) -> Checked:
        return check_chain(self.db, expected=expected)

    def head(self) -> Head:
        found = self.check().head
        assert found is not None
        return found

    def do(self, *statements: str) -> None:
        """What somebody does with sqlite3."""
        for statement in statements:
            self.db.execute(statement)

    def unsettle(self, call_id: int) -> None:
        """Take back a settlement, by somebody who has read what the seals hold."""
        (seal,) = self.db.execute("SELECT issue_seal FROM ledger WHERE id=?", (call_id,)).fetchone()
        issued = unpack(seal)
        assert issued is not None
        self.db.execute(
            "UPDATE ledger SET status='PENDING', effect=NULL, result_digest=NULL, settled_ts=NULL, duration_ms=NULL,"
            " exit_code=NULL, closed_by=NULL, settle_seal=NULL, changed=? WHERE id=?",
            (issued.changed, call_id),
        )

    def seal_anew(self, call_id: int) -> None:
        """Change the result of a call and give it a settlement that fits."""
        self.db.execute("UPDATE ledger SET result_digest='nothing to see' WHERE id=?", (call_id,))
        columns = ", ".join(SETTLE_COLUMNS)
        *values, data = self.db.execute(f"SELECT {columns}, settle_seal FROM ledger WHERE id=?", (call_id,)).fetchone()
        seal = unpack(data)
        assert seal is not None
        link = link_of(seal.previous, "settle", seal.number, call_id, seal.changed, values)
        self.db.execute("UPDATE ledger SET settle_seal=? WHERE id=?", (pack(Seal(*seal[:3], link)), call_id))


def found(checked: Checked) -> tuple[int | None, str] | None:
    """Row and kind of what is named first; None for a whole chain."""
    assert checked.whole == (checked.first is None)
    return None if checked.first is None else (checked.first.ledger_id, checked.first.kind)


def of_every_kind() -> Made:
    """Twelve calls: settled at once, after others, reported, revived, contradicted, pending; a turn began after 11."""
    made = Made()
    made.calls(1, 2)
    made.issue("c3")
    made.issue("c4")
    made.settle(4, "c4")
    made.settle(3, "c3", "ERROR:timeout")
    made.issue("c5")
    made.report(5)
    made.issue("c6")
    made.report(6)
    made.settle(6, "c6")
    made.calls(7, 8)
    made.contradict(7)
    made.issue("c9")
    assert made.rows.seen_again(9, now_us=int(made.now * 1e6) + 5)
    made.settle(9, "c9")
    made.calls(10, 11)
    made.turn()
    made.issue("c12")
    return made
