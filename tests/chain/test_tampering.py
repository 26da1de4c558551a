"""What somebody does to a ledger with sqlite3, and which row is named for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ledger.engine.chain.check import check_chain
from agent_ledger.engine.schema import COLUMNS

from .ledgers import Made, found, of_every_kind

SEALS = ("issue_seal", "settle_seal")
PLACES = {"head": 1, "middle": 6, "amended": 7, "pending": 12}


def test_untouched_it_is_whole() -> None:
    made = of_every_kind()
    checked = made.check()
    assert (checked.state, checked.rows, checked.records, checked.uncovered) == ("whole", 12, 26, 0)
    assert found(checked) is None


@pytest.mark.parametrize("column", sorted(COLUMNS.keys() - {"id"}))
@pytest.mark.parametrize("place", PLACES)
def test_any_cell_that_says_something_else_is_found(column: str, place: str) -> None:
    made, row = of_every_kind(), PLACES[place]
    values: list[Any] = ["other", 77, 1.5, b"other", None]
    for value in values:
        (was,) = made.db.execute(f"SELECT {column} FROM ledger WHERE id=?", (row,)).fetchone()
        if column in ("ts", "tool_name", "status") and value is None:
            continue  # These may not be empty.
        made.db.execute(f"UPDATE ledger SET {column}=? WHERE id=?", (value, row))
        (now,) = made.db.execute(f"SELECT {column} FROM ledger WHERE id=?", (row,)).fetchone()
        if (type(now), now) != (type(was), was):
            first = made.check().first
            assert first is not None, (column, value)
            # A seal that is gone or is another one is seen at the record behind it as well.
            assert first.ledger_id == row, (column, value)
        made.db.execute(f"UPDATE ledger SET {column}=? WHERE id=?", (was, row))
    assert found(made.check()) is None


def test_bytes_do_not_pass_for_the_text_of_their_digits() -> None:
    made = Made()
    made.issue("c1", session_id="6162", task_id="6162")
    made.settle(1, "c1")
    made.do("UPDATE ledger SET session_id = X'6162'")
    assert found(made.check()) == (1, "edited")
    made.do("UPDATE ledger SET session_id = '6162', args_hash = lower(hex(args_hash))")
    assert found(made.check()) == (1, "edited")


def test_text_that_is_none_is_found_wherever_it_stands() -> None:
    for statement, row in (
        ("UPDATE ledger SET args_json = CAST(X'ff' AS TEXT) WHERE id=6", 6),
        ("UPDATE amendment SET did = CAST(X'ff' AS TEXT) WHERE ledger_id=7", 7),
        ("UPDATE amendment SET kind = CAST(X'ff' AS TEXT) WHERE ledger_id=7", 7),
    ):
        made = of_every_kind()
        made.do(statement)
        assert found(made.check()) == (row, "edited"), statement


AMENDMENTS: dict[str, Callable[[Made], None]] = {
    "kind": lambda made: made.do("UPDATE amendment SET kind='reported' WHERE ledger_id=7"),
    "what it did": lambda made: made.do("UPDATE amendment SET did=replace(did,'later','other') WHERE ledger_id=7"),
    "nonsense": lambda made: made.do(f"UPDATE amendment SET did='{'[' * 50_000}' WHERE ledger_id=7"),
    "number": lambda made: made.do("UPDATE amendment SET number=number+1 WHERE ledger_id=7"),
    "number as text": lambda made: made.do("UPDATE amendment SET number='x' WHERE ledger_id=7"),
    "time": lambda made: made.do("UPDATE amendment SET changed=changed+1 WHERE ledger_id=7"),
    "time as text": lambda made: made.do("UPDATE amendment SET changed='x' WHERE ledger_id=7"),
    "what it builds on": lambda made: made.do("UPDATE amendment SET previous=zeroblob(32) WHERE ledger_id=7"),
    "what it builds on, as text": lambda made: made.do("UPDATE amendment SET previous='x' WHERE ledger_id=7"),
    "link": lambda made: made.do("UPDATE amendment SET link=zeroblob(32) WHERE ledger_id=7"),
    "link as a number": lambda made: made.do("UPDATE amendment SET link=5 WHERE ledger_id=7"),
    "gone": lambda made: made.do("DELETE FROM amendment WHERE ledger_id=7"),
}  # fmt: skip


@pytest.mark.parametrize("what", AMENDMENTS)
def test_an_amendment_that_was_touched_is_found_at_its_call(what: str) -> None:
    made = of_every_kind()
    AMENDMENTS[what](made)
    assert found(made.check()) == (7, "edited")


@pytest.mark.parametrize("ledger_id", ["3", "3.5", "'x'", "x'00'", "NULL", "99"])
def test_an_amendment_that_was_given_to_another_call_is_found(ledger_id: str) -> None:
    made = of_every_kind()
    made.do(f"UPDATE amendment SET ledger_id={ledger_id} WHERE ledger_id=7")
    assert not made.check().whole


TAKEN: dict[str, tuple[Callable[[Made], None], tuple[int | None, str]]] = {
    "a call in the middle": (lambda made: made.do("DELETE FROM ledger WHERE id=6"), (6, "deleted")),
    "two of them": (lambda made: made.do("DELETE FROM ledger WHERE id IN (4, 8)"), (4, "deleted")),
    "a call with what was recorded of it later": (
        lambda made: made.do("DELETE FROM ledger WHERE id=7", "DELETE FROM amendment WHERE ledger_id=7"),
        (7, "deleted"),
    ),
    "the newest call": (lambda made: made.do("DELETE FROM ledger WHERE id=12"), (12, "cut off")),
    "the newest three, and how many there were": (
        lambda made: made.do(
            "DELETE FROM ledger WHERE id>9", "UPDATE sqlite_sequence SET seq=9 WHERE name='ledger'"
        ),
        (None, "cut off"),
    ),
    "the newest, and that numbers were given": (
        lambda made: made.do("DELETE FROM ledger WHERE id=12", "DELETE FROM sqlite_sequence WHERE name='ledger'"),
        (12, "cut off"),
    ),
    "a settlement": (lambda made: made.unsettle(8), (8, "edited")),
    "the last settlement before the turn": (lambda made: made.unsettle(11), (11, "edited")),
    "the seals of one call": (
        lambda made: made.do("UPDATE ledger SET issue_seal=NULL, settle_seal=NULL WHERE id=6"),
        (6, "added"),
    ),
    "the seals of the oldest calls, to pass for older than all seals": (
        lambda made: made.do("UPDATE ledger SET issue_seal=NULL, settle_seal=NULL, args_json='{}' WHERE id<=4"),
        (5, "deleted"),
    ),
    "all seals": (
        lambda made: made.do(
            "UPDATE ledger SET issue_seal=NULL, settle_seal=NULL, args_json='{}'", "DELETE FROM amendment"
        ),
        (None, "cut off"),
    ),
    "the columns of the seals": (
        lambda made: made.do("ALTER TABLE ledger DROP COLUMN issue_seal"),
        (None, "deleted"),
    ),
    "the table of amendments": (lambda made: made.do("DROP TABLE amendment"), (None, "deleted")),
    "the table with the head": (lambda made: made.do("DROP TABLE chain_head"), (None, "deleted")),
    "places of two calls": (
        lambda made: made.do(
            "UPDATE ledger SET id=-1 WHERE id=4",
            "UPDATE ledger SET id=4 WHERE id=8",
            "UPDATE ledger SET id=8 WHERE id=-1",
        ),
        (4, "reordered"),
    ),
    "a call, by one that takes its number": (
        lambda made: made.do("DELETE FROM ledger WHERE id=4", "UPDATE ledger SET id=4 WHERE id=8"),
        (4, "reordered"),
    ),
    "the place of a call, below all others": (
        lambda made: made.do("UPDATE ledger SET id=-7 WHERE id=8"),
        (-7, "added"),
    ),
    "a call of somebody else in between": (
        lambda made: made.do(
            "DELETE FROM ledger WHERE id=6",
            "INSERT INTO ledger(id, ts, tool_name, status) VALUES(6, 'now', 'terminal', 'PENDING')",
        ),
        (6, "added"),
    ),
    "that there was a turn": (lambda made: made.do("DELETE FROM chain_head"), (None, "deleted")),
    "nothing, but a call is put below all others": (
        lambda made: made.do("INSERT INTO ledger(id, ts, tool_name, status) VALUES(0, 'now', 'terminal', 'done')"),
        (0, "added"),
    ),
    "the number of the head that the turn wrote down": (
        lambda made: made.do("UPDATE chain_head SET number=0"),
        (None, "edited"),
    ),
    "the head that the turn wrote down": (
        lambda made: made.do("UPDATE chain_head SET link=zeroblob(32)"),
        (None, "edited"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TAKEN)
def test_what_was_taken_is_found_and_named(what: str) -> None:
    made = of_every_kind()
    act, expected = TAKEN[what]
    act(made)
    assert found(made.check()) == expected


def test_the_first_of_several_is_named() -> None:
    made = of_every_kind()
    made.do("UPDATE ledger SET args_json='{}' WHERE id=8")
    assert found(made.check()) == (8, "edited")
    made.unsettle(2)
    assert found(made.check()) == (2, "edited")


def test_the_first_of_thousands_is_named_and_all_are_counted() -> None:
    made = Made()
    made.calls(1, 1500)
    made.do("UPDATE ledger SET args_json='{}' WHERE id>=20")
    checked = made.check()
    assert (found(checked), checked.broken, len(checked.found)) == ((20, "edited"), 1481, 100)


def test_one_record_with_a_new_seal_is_found_by_the_one_behind_it() -> None:
    made = of_every_kind()
    made.seal_anew(8)
    assert found(made.check()) == (8, "edited")


def test_what_was_cut_off_stays_visible_when_the_agent_goes_on() -> None:
    """Another process goes on behind what the last turn saw, not behind what is left."""
    made = of_every_kind()
    made.unsettle(11)
    made.do("DELETE FROM ledger WHERE id=12", "UPDATE sqlite_sequence SET seq=11")
    later = Made.__new__(Made)
    later.db, later.now = made.db, made.now
    later.rows = type(made.rows)(made.db)
    later.calls(12, 13)
    later.turn()
    assert found(later.check()) == (11, "edited")


# -- at random --------------------------------------------------------------------------------------------------------


CELLS = sorted(COLUMNS.keys() - {"id"})
VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary(max_size=100),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)  # fmt: skip


@settings(max_examples=150, deadline=None, derandomize=True)
@given(row=st.integers(1, 12), column=st.sampled_from(CELLS), value=VALUES)
def test_any_value_in_any_cell_is_found(row: int, column: str, value: Any) -> None:
    made = of_every_kind()
    before = made.db.execute(f"SELECT typeof({column}), {column} FROM ledger WHERE id=?", (row,)).fetchone()
    if value is None and column in ("ts", "tool_name", "status"):
        return
    made.db.execute(f"UPDATE ledger SET {column}=? WHERE id=?", (value, row))
    after = made.db.execute(f"SELECT typeof({column}), {column} FROM ledger WHERE id=?", (row,)).fetchone()
    if before == after:
        assert made.check().whole
        return
    first = made.check().first
    assert first is not None
    assert first.ledger_id == row


@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=st.sets(st.integers(1, 12), min_size=1))
def test_any_set_of_rows_that_is_no_head_is_missed(rows: set[int]) -> None:
    made = of_every_kind()
    made.do(f"DELETE FROM ledger WHERE id IN ({','.join(map(str, rows))})")
    checked = made.check()
    head = set(range(1, len(rows) + 1))
    if rows == head and len(rows) < 12:
        assert checked.state == "pruned"
        return
    assert checked.first is not None
    left = min(set(range(1, 13)) - rows, default=1)
    assert checked.first.ledger_id == min(one for one in rows if one >= left)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(row=st.integers(1, 12), column=st.sampled_from(SEALS), at=st.integers(0, 79), flip=st.integers(1, 255))
def test_any_bit_of_any_seal_counts(row: int, column: str, at: int, flip: int) -> None:
    made = of_every_kind()
    (data,) = made.db.execute(f"SELECT {column} FROM ledger WHERE id=?", (row,)).fetchone()
    if data is None:
        return
    other = bytearray(data)
    other[at] ^= flip
    made.db.execute(f"UPDATE ledger SET {column}=? WHERE id=?", (bytes(other), row))
    first = check_chain(made.db).first
    assert first is not None
    assert first.ledger_id == row


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    edited=st.sets(st.integers(1, 12)),
    deleted=st.sets(st.integers(2, 12)),
    unsettled=st.sets(st.sampled_from([2, 8, 10])),
)
def test_the_first_of_all_that_was_done_is_named(edited: set[int], deleted: set[int], unsettled: set[int]) -> None:
    """Where calls are deleted, a settlement taken back near them can pass for theirs; it is found, if later."""
    made = of_every_kind()
    for call_id in unsettled:
        made.unsettle(call_id)
    for call_id in edited:
        made.do(f"UPDATE ledger SET task_id = task_id || '.' WHERE id={call_id}")
    for call_id in deleted:
        made.do(f"DELETE FROM ledger WHERE id={call_id}")
    first = made.check().first
    if not edited | deleted | unsettled:
        assert first is None
        return
    assert first is not None
    plain = edited | deleted
    if plain:
        assert first.ledger_id is not None
        assert first.ledger_id <= min(plain)
    if not unsettled:
        assert first.ledger_id == min(plain)


BESIDE = [("amendment", name) for name in ("number", "changed", "ledger_id", "kind", "did", "previous", "link")]
BESIDE += [("chain_head", name) for name in ("number", "link")]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(place=st.sampled_from(BESIDE), row=st.integers(0, 4), value=VALUES)
def test_any_value_in_the_tables_beside_is_found(place: tuple[str, str], row: int, value: Any) -> None:
    table, column = place
    made = of_every_kind()
    ids = [found[0] for found in made.db.execute(f"SELECT id FROM {table} ORDER BY id")]
    call_id = ids[row % len(ids)]
    if value is None and column != "ledger_id":
        return
    before = made.db.execute(f"SELECT typeof({column}), {column} FROM {table} WHERE id=?", (call_id,)).fetchone()
    made.db.execute(f"UPDATE {table} SET {column}=? WHERE id=?", (value, call_id))
    after = made.db.execute(f"SELECT typeof({column}), {column} FROM {table} WHERE id=?", (call_id,)).fetchone()
    assert made.check().whole == (before == after)
