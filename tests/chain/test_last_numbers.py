"""Numbers at their end, where an edit put them: what can still be recorded is, and nothing is lost as unreadable."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from agent_ledger.engine.call_rows import CallRows
from agent_ledger.engine.chain.seal import LARGEST, Seal, pack, unpack
from agent_ledger.engine.keeper import Keeper
from tests.engine.homes import Home, until

from .ledgers import Made, of_every_kind


@pytest.mark.parametrize(
    "edit",
    [f"UPDATE sqlite_sequence SET seq={LARGEST} WHERE name='ledger'", f"UPDATE ledger SET id={LARGEST} WHERE id=6"],
)
def test_without_a_number_left_a_call_waits_and_others_still_end(edit: str) -> None:
    made = of_every_kind()
    made.do(edit)
    made.rows = CallRows(made.db)
    with pytest.raises(sqlite3.OperationalError, match="used up"):
        made.issue("c13")
    with pytest.raises(sqlite3.OperationalError, match="used up"):
        made.unannounced("c13")
    made.settle(12, "c12")


def test_a_number_in_a_call_that_no_ledger_can_hold_is_another_error() -> None:
    with pytest.raises(OverflowError):
        of_every_kind().issue("c13", args_cut=LARGEST + 1)


def seal_at_the_end(made: Made) -> None:
    """The newest record says that it is the last that there can be."""
    call_id, data = made.db.execute("SELECT id, issue_seal FROM ledger ORDER BY changed DESC LIMIT 1").fetchone()
    seal = unpack(data)
    assert seal is not None
    other = pack(Seal(LARGEST, *seal[1:]))
    made.db.execute("UPDATE ledger SET issue_seal=?, settle_seal=NULL WHERE id=?", (other, call_id))


@pytest.mark.parametrize("what", ["amendment", "chain_head", "ledger"])
def test_a_record_with_the_last_number_is_not_gone_on_from(what: str) -> None:
    made = of_every_kind()
    records = made.check().records
    if what == "ledger":
        seal_at_the_end(made)
    else:
        made.do(f"UPDATE {what} SET number={LARGEST} WHERE id=(SELECT max(id) FROM {what})")
    assert not made.check().whole
    made.rows = CallRows(made.db)
    made.calls(13, 14)
    made.turn()
    made.report(made.issue("c15"))
    assert made.check().whole == (what == "chain_head")  # Which a turn writes anew.
    (data,) = made.db.execute("SELECT issue_seal FROM ledger WHERE id=14").fetchone()
    seal = unpack(data)
    assert seal is not None
    assert records < seal.number <= records + 4


def test_calls_wait_in_the_spool_until_numbers_are_there_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[bool] = []
    usual = Keeper._try_round

    def counted(keeper: Keeper) -> bool:
        rounds.append(usual(keeper))
        return rounds[-1]

    monkeypatch.setattr(Keeper, "_try_round", counted)
    home.pre()
    home.post()
    home.merged()
    with closing(sqlite3.connect(home.paths.ledger, isolation_level=None)) as db:
        db.execute(f"UPDATE sqlite_sequence SET seq={LARGEST} WHERE name='ledger'")
        home.restart()
        home.pre(call="c2")
        home.post(call="c2")
        rounds.clear()
        until(lambda: len(rounds) >= 2, "it was tried to merge them, from its start to its end")
        assert not rounds[-1]
        assert db.execute("SELECT count(*) FROM ledger").fetchone() == (1,)
        db.execute("UPDATE sqlite_sequence SET seq=1 WHERE name='ledger'")
    assert [row["tool_call_id"] for row in home.rows()] == ["c1", "c2"]  # Once all is merged.
    assert not (home.paths.spool / "unreadable.txt").exists()
