"""What `prune` leaves can be checked as before, and nothing passes for pruned that was not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import prune as engine
from agent_ledger.engine.chain.report import Head
from agent_ledger.engine.chain.seal import FIRST, ISSUE_COLUMNS, SETTLE_COLUMNS, Seal, link_of, pack
from agent_ledger.engine.chain.writer import ChainWriter
from agent_ledger.engine.prune import plan, prune

from .ledgers import Made, found

PENDING = (5, 17, 40)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """A ledger with 60 calls, of which three never ended, others ended late, and some have amendments."""
    path = tmp_path / "ledger.db"
    made = Made(path)
    path.chmod(0o600)
    late: list[int] = []
    for number in range(1, 61):
        made.issue(f"c{number}")
        if number % 11 == 0:
            late.append(number)
        elif number not in PENDING:
            made.settle(number, f"c{number}")
        if number % 15 == 0:
            made.contradict(number)
        if len(late) == 2:
            for one in late:
                made.settle(one, f"c{one}")
            late.clear()
    for one in late:
        made.settle(one, f"c{one}")
    made.report(17)
    made.turn()
    yield made
    made.db.close()


def path_of(made: Made) -> Path:
    return Path(made.db.execute("PRAGMA database_list").fetchone()[2])


def pruned(made: Made, keep: int, *, bite: int = 7) -> int:
    """Rows that went, in bites of some rows."""
    through = plan(made.db, keep).through_id
    assert through is not None
    usual, engine._FIRST_BITE = engine._FIRST_BITE, bite
    try:
        # A clock that stands still takes every bite for quick; one that is slow keeps them small.
        ticks = iter(range(1_000_000))
        return prune(
            path_of(made), through, clock=lambda: made.now, mono_clock=lambda: next(ticks) * 0.002, sleep=lambda _: None
        )
    finally:
        engine._FIRST_BITE = usual


@pytest.mark.parametrize("keep", [0, 1, 10, 33, 59])
def test_in_bites_with_what_is_pending_kept(made: Made, keep: int) -> None:
    pruned(made, keep)
    checked = made.check()
    assert found(checked) is None, checked.found
    assert (checked.state, checked.by_hand, checked.unproven) == ("pruned", False, 0)
    assert checked.rows + checked.pruned == 60
    assert checked.pruned_us is not None


def test_again_and_again_while_calls_come_and_end(made: Made) -> None:
    for keep in (50, 50, 41, 22, 22, 9, 3):
        pruned(made, keep)
        assert found(made.check()) is None
        made.calls((last := made.db.execute("SELECT max(id) FROM ledger").fetchone()[0]) + 1, last + 2)
        if keep == 41:
            made.settle(5, "c5")
            made.settle(17, "c17")
        made.turn()
        assert found(made.check()) is None
    checked = made.check()
    assert checked.rows + checked.pruned == 60 + 7 * 2


def test_a_kept_call_that_goes_later_is_missed(made: Made) -> None:
    pruned(made, 20)
    kept = [row[0] for row in made.db.execute("SELECT id FROM ledger ORDER BY id")]
    assert kept[:3] == [5, 17, 40]
    for call_id in kept[:-1]:
        made.db.execute("SAVEPOINT s")
        made.db.execute("DELETE FROM ledger WHERE id=?", (call_id,))
        checked = made.check()
        if call_id == 5:  # The oldest that is left: a head cut off by hand.
            assert (found(checked), checked.by_hand, checked.pruned) == (None, True, 38)
        else:
            assert found(checked) == (call_id, "deleted")
        made.db.execute("ROLLBACK TO s")


def test_an_edit_and_a_settlement_taken_back_are_still_found(made: Made) -> None:
    pruned(made, 20)
    made.db.execute("SAVEPOINT s")
    made.do("UPDATE ledger SET args_json='{}' WHERE id=50")
    assert found(made.check()) == (50, "edited")
    made.do("ROLLBACK TO s")
    made.unsettle(50)
    assert found(made.check()) == (50, "edited")


def test_what_prune_wrote_down_cannot_be_widened(made: Made) -> None:
    pruned(made, 20)
    made.do("UPDATE amendment SET did = replace(did, '\"records\":', '\"records\":9') WHERE kind='pruned'")
    assert not made.check().whole


def test_a_bite_that_is_cut_short_takes_nothing(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    bites = iter([True, True, False])
    usual = ChainWriter.note

    def note(*given: Any, **more: Any) -> None:
        usual(*given, **more)
        if not next(bites):
            raise KeyboardInterrupt

    monkeypatch.setattr(ChainWriter, "note", note)
    with pytest.raises(KeyboardInterrupt):
        pruned(made, 10)
    checked = made.check()
    assert found(checked) is None
    assert 0 < checked.pruned < 47
    monkeypatch.undo()
    pruned(made, 10)
    assert found(made.check()) is None


def test_no_note_makes_a_gap_in_the_middle_pruned(made: Made) -> None:
    """Somebody deletes a call and appends a record of his own that says it was pruned."""
    _delete_as_pruned(made, 30)
    first = made.check().first
    assert first is not None
    assert first.kind == "deleted"
    assert first.text == "Calls behind #1 are gone, and it was not `prune` that took them."


def _delete_as_pruned(made: Made, call_id: int) -> None:
    writer = ChainWriter(made.db)
    made.db.execute("BEGIN IMMEDIATE")
    record = engine._record(made.db, (call_id, call_id))
    made.db.execute("DELETE FROM ledger WHERE id=?", (call_id,))
    writer.note("pruned", record, now_us=int(made.now * 1e6))
    made.db.execute("COMMIT")


def test_a_call_put_where_one_was_pruned_is_named(made: Made) -> None:
    pruned(made, 20)
    made.do("INSERT INTO ledger(id, ts, tool_name, status) VALUES(3, 'now', 'terminal', 'CONFIRMED')")
    assert found(made.check()) == (3, "added")


@pytest.mark.parametrize("did", ["[]", "5", "{}", '{"ids":[1,true],"kept":[],"gone":[],"records":1}', "[" * 50_000])
def test_a_note_that_makes_no_sense_excuses_nothing(made: Made, did: str) -> None:
    made.db.execute(
        "INSERT INTO amendment(number, changed, ledger_id, kind, did, previous, link)"
        " VALUES(999,1,60,'pruned',?,x'',x'')",
        (did,),
    )
    assert not made.check().whole


# -- a head that was noted elsewhere ----------------------------------------------------------------------------------


def test_a_noted_head_stays_there_whatever_comes_later(made: Made) -> None:
    noted = made.head()
    made.calls(61, 65)
    assert made.check(noted).expected is True
    pruned(made, 20)
    assert made.check(noted).expected is True
    made.calls(66, 70)
    checked = made.check(noted)
    assert (checked.expected, checked.whole) == (True, True)


def test_a_head_from_before_all_that_is_left_cannot_be_told(made: Made) -> None:
    (data,) = made.db.execute("SELECT settle_seal FROM ledger WHERE id=2").fetchone()
    noted = Head(int.from_bytes(data[8:16], "big"), data[48:])
    assert made.check(noted).expected is True
    pruned(made, 20)
    checked = made.check(noted)
    assert (checked.whole, checked.expected) == (True, None)


def test_a_chain_made_anew_is_whole_and_lacks_the_noted_head(made: Made) -> None:
    noted = made.head()
    made.do("DELETE FROM amendment", "UPDATE ledger SET result_digest='all is well' WHERE id=30")
    make_anew(made.db)
    assert made.check().whole
    checked = made.check(noted)
    assert (checked.expected, found(checked)) == (False, (None, "edited"))
    pruned(made, 20)
    assert made.check(noted).expected is not True


def test_a_chain_made_anew_cannot_hide_behind_an_earlier_prune(made: Made) -> None:
    pruned(made, 50)
    noted = made.head()
    made.do("DELETE FROM amendment", "UPDATE ledger SET result_digest='all is well' WHERE id=30")
    make_anew(made.db, first_number=1)
    checked = made.check(noted)
    assert checked.expected is False


def test_an_older_copy_put_back_is_whole_and_lacks_the_noted_head(made: Made) -> None:
    copy = Made()
    made.db.backup(copy.db)
    made.calls(61, 62)
    noted = made.head()
    assert copy.check().whole
    checked = copy.check(noted)
    assert (checked.expected, found(checked)) == (False, (None, "cut off"))


def make_anew(db: sqlite3.Connection, first_number: int = 1) -> None:
    """What somebody can do who reads the docs: one issue and one settlement for each row, every link computed."""
    names = ", ".join(("id", *ISSUE_COLUMNS, *SETTLE_COLUMNS))
    previous, number, changed = FIRST, first_number, 1_800_000_000_000_000
    for row in db.execute(f"SELECT {names} FROM ledger ORDER BY id").fetchall():
        call_id, issue = row[0], list(row[1 : 1 + len(ISSUE_COLUMNS)])
        settled = list(row[1 + len(ISSUE_COLUMNS) :])
        status = issue[ISSUE_COLUMNS.index("status")]
        issue[ISSUE_COLUMNS.index("status")] = "PENDING"
        link = link_of(previous, "issue", number, call_id, changed, issue)
        seals = [pack(Seal(number, changed, previous, link)), None]
        previous, number = link, number + 1
        if status not in ("PENDING", "GHOST_REPORTED"):
            changed += 1
            link = link_of(previous, "settle", number, call_id, changed, settled)
            seals[1] = pack(Seal(number, changed, previous, link))
            previous, number = link, number + 1
        db.execute(
            "UPDATE ledger SET issue_seal=?, settle_seal=?, changed=?, later_status=NULL, later_ts=NULL,"
            " later_digest=NULL, reported_ts=NULL, seen=NULL, no_signal=NULL WHERE id=?",
            (*seals, changed, call_id),
        )
        changed += 1
    db.execute("UPDATE ledger SET status='PENDING', effect=NULL WHERE status='GHOST_REPORTED'")
    db.execute("DELETE FROM chain_head")


def test_what_prune_writes_is_plain_json(made: Made) -> None:
    pruned(made, 50, bite=100)
    ((did,),) = made.db.execute("SELECT did FROM amendment WHERE kind='pruned'").fetchall()
    record = json.loads(did)
    assert (record["ids"], record["kept"], record["records"]) == ([1, 10], [5], 18)
