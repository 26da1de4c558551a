"""A person's own DELETE of the oldest calls, and what somebody tries under its cover."""

from __future__ import annotations

import pytest

from .ledgers import Made, found, of_every_kind

CAP = "DELETE FROM ledger WHERE id NOT IN (SELECT id FROM ledger ORDER BY id DESC LIMIT {})"


@pytest.mark.parametrize("left", range(1, 12))
def test_by_itself_it_is_pruned_wherever_the_cut_goes(left: int) -> None:
    made = of_every_kind()
    made.do(CAP.format(left))
    checked = made.check()
    assert (checked.state, checked.pruned, checked.by_hand) == ("pruned", 12 - left, True)
    assert found(checked) is None


def test_what_comes_later_goes_on_behind_it() -> None:
    made = of_every_kind()
    made.do(CAP.format(3))
    made.calls(13, 20)
    made.turn()
    assert made.check().state == "pruned"


@pytest.mark.parametrize("left", [3, 6, 9, 11])
def test_an_edit_behind_it_is_found(left: int) -> None:
    made = of_every_kind()
    made.do(CAP.format(left), "UPDATE ledger SET args_json='{}' WHERE id=11")
    assert found(made.check()) == (11, "edited")


def test_a_deletion_behind_it_is_found() -> None:
    made = of_every_kind()
    made.do(CAP.format(9), "DELETE FROM ledger WHERE id=8")
    assert found(made.check()) == (8, "deleted")


def test_a_settlement_taken_back_behind_it_is_found() -> None:
    made = of_every_kind()
    made.do(CAP.format(10))
    made.unsettle(8)
    assert found(made.check()) == (8, "deleted")


def test_rows_that_are_to_pass_for_older_than_seals_are_found() -> None:
    made = of_every_kind()
    made.do(
        "DELETE FROM ledger WHERE id=1",
        "UPDATE ledger SET issue_seal=NULL, settle_seal=NULL, args_json='{}' WHERE id<=4",
    )
    assert not made.check().whole


@pytest.mark.parametrize("cells", ["issue_seal=NULL", "issue_seal=NULL, settle_seal=NULL"])
@pytest.mark.parametrize("gone", range(1, 11))
def test_calls_that_had_one_record_only_make_no_room_for_that(gone: int, cells: str) -> None:
    made = Made()
    for number in range(1, 11):
        made.issue(f"c{number}")
    made.calls(11, 14)
    made.do(
        f"DELETE FROM ledger WHERE id<={gone}",
        f"UPDATE ledger SET {cells}, args_json='{{}}' WHERE id IN (SELECT min(id) FROM ledger)",
    )
    assert not made.check().whole


@pytest.mark.parametrize("gone", range(1, 8))
def test_of_calls_from_before_seals_it_takes_the_later_settlements_as_well(gone: int) -> None:
    made = Made()
    for number in range(1, 9):
        made.do(
            "INSERT INTO ledger(ts, tool_call_id, tool_name, status)"
            f" VALUES('2026-01-01T00:00:00.000Z', 'c{number}', 'write_file', 'PENDING')"
        )
    for number in range(1, 9):
        made.settle(number, f"c{number}")
    made.calls(9, 12)
    made.turn()
    made.do(f"DELETE FROM ledger WHERE id<={gone}")
    checked = made.check()
    assert (checked.state, checked.uncovered, found(checked)) == ("pruned", 8 - gone, None)


def test_the_newest_records_cannot_go_with_it() -> None:
    made = of_every_kind()
    made.do("DELETE FROM ledger WHERE id=1", "DELETE FROM ledger WHERE id>10", "UPDATE sqlite_sequence SET seq=10")
    assert not made.check().whole


def test_a_record_written_anew_behind_it_is_found() -> None:
    """Even one with a fitting seal: no record is missing where the next one builds on another."""
    made = of_every_kind()
    made.do(CAP.format(10))
    made.seal_anew(8)
    assert found(made.check()) == (8, "edited")
