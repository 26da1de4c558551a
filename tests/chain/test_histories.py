"""Histories at random: whatever the plugin and a person may do in whatever order is never taken for tampering."""

from __future__ import annotations

import random

import pytest

from agent_ledger.engine import prune as engine
from agent_ledger.engine.call_rows import CallRows

from .by_docs import verified
from .ledgers import Made, found


class History:
    """One history, drawn from a seed."""

    def __init__(self, seed: int, *, by_hand: bool) -> None:
        self.chance = random.Random(seed)
        self.made = Made()
        if seed % 3 == 0:
            self.older_calls()
        self.steps = [
            self.issue, self.issue, self.settle, self.settle, self.unannounced, self.report, self.contradict,
            self.again, self.turn, self.taken_back, self.other_process, self.prune,
        ]  # fmt: skip
        if by_hand:
            self.steps.append(self.cut)

    def older_calls(self) -> None:
        """From before there were seals; some of them are pending."""
        self.made.db.executemany(
            "INSERT INTO ledger(ts, session_id, tool_call_id, tool_name, status) VALUES('t', 's1', ?, 'patch', ?)",
            [(f"old{n}", self.chance.choice(("CONFIRMED", "PENDING", "ERROR:x"))) for n in range(5)],
        )

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.chance.choice(self.steps)()

    def _any(self, where: str) -> tuple[int, str] | None:
        rows = self.made.db.execute(f"SELECT id, tool_call_id FROM ledger WHERE {where} ORDER BY id").fetchall()
        return self.chance.choice(rows) if rows else None

    def issue(self) -> None:
        self.made.issue(f"c{self.chance.random()}")

    def settle(self) -> None:
        if row := self._any("status IN ('PENDING', 'GHOST_REPORTED')"):
            self.made.settle(*row, self.chance.choice(("CONFIRMED", "ERROR:x")))

    def unannounced(self) -> None:
        row = ["t", "s1", "t1", "c", "s1", "r", "patch", "{}", None, None, None, None, "PENDING", None, None, 1]
        settled = ("ERROR:cancelled", "unknown", "gone", "t", None, None, "no-pre")
        self.made.rows.insert_settled([*row, None, None, None], settled, now_us=int(self.made.now * 1e6))

    def report(self) -> None:
        if row := self._any("status='PENDING'"):
            self.made.report(row[0])

    def contradict(self) -> None:
        if row := self._any("status='CONFIRMED'"):
            self.made.contradict(row[0])

    def again(self) -> None:
        if row := self._any("status='PENDING'"):
            assert self.made.rows.seen_again(row[0], now_us=int(self.made.now * 1e6))

    def turn(self) -> None:
        self.made.turn()

    def taken_back(self) -> None:
        self.made.db.execute("BEGIN IMMEDIATE")
        self.issue()
        self.settle()
        self.made.db.execute("ROLLBACK")
        self.made.rows.taken_back()

    def other_process(self) -> None:
        """From here on another process writes as well, which remembers another record as the last."""
        self.made.rows = CallRows(self.made.db)

    def prune(self) -> None:
        through = self.made.db.execute("SELECT max(id) - ? FROM ledger", (self.chance.randrange(8),)).fetchone()[0]
        self.made.now += 1
        if through is not None:
            engine._bite(self.made.db, through, self.chance.randrange(1, 6), int(self.made.now * 1e6))

    def cut(self) -> None:
        """A person's own DELETE of the oldest."""
        (rows,) = self.made.db.execute("SELECT count(*) FROM ledger").fetchone()
        keep = max(1, rows - self.chance.randrange(4))
        self.made.do(f"DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT {keep})")


@pytest.mark.parametrize("seed", range(40))
def test_no_false_alarm(seed: int) -> None:
    history = History(seed, by_hand=seed % 2 == 1)
    for _ in range(6):
        history.run(20)
        checked = history.made.check()
        assert found(checked) is None, (seed, checked.found)
        if not checked.pruned:
            assert len(verified(history.made.db)) == checked.records
    if seed % 2 == 0:
        assert not checked.by_hand
        assert not checked.unproven


@pytest.mark.parametrize("seed", range(60))
def test_one_thing_done_to_it_is_found(seed: int) -> None:
    """An edit, a settlement taken back, a call or an amendment deleted: after any history, with calls pruned or not."""
    kind = seed % 4
    history = History(1000 + seed, by_hand=kind in (0, 3) and seed % 8 >= 4)
    history.run(80)
    for _ in range(3):
        history.issue()
    made = history.made
    made.turn()
    last = made.db.execute("SELECT max(id) FROM ledger").fetchone()[0]
    oldest = made.db.execute("SELECT min(id) FROM ledger").fetchone()[0]
    call_id, _ = history._any(f"id > {oldest} AND id < {last} AND issue_seal IS NOT NULL") or (last, "")
    settled = made.db.execute(
        "SELECT settle_seal IS NOT NULL AND id NOT IN (SELECT ledger_id FROM amendment) FROM ledger WHERE id=?",
        (call_id,),
    ).fetchone()[0]
    amendments = made.db.execute("SELECT id FROM amendment WHERE kind <> 'pruned' ORDER BY id").fetchall()
    if kind == 0 or (kind == 1 and not settled) or (kind == 2 and not amendments):
        made.do(f"UPDATE ledger SET tool_name = tool_name || ' ' WHERE id={call_id}")
    elif kind == 1:
        made.unsettle(call_id)
    elif kind == 2:
        made.do(f"DELETE FROM amendment WHERE id={history.chance.choice(amendments)[0]}")
    else:
        made.do(f"DELETE FROM ledger WHERE id={call_id}")
    first = made.check().first
    assert first is not None, (seed, kind, call_id)
    if kind == 0:
        assert first.ledger_id == call_id
