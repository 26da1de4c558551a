"""One test for each way in which a fault once made a repair say or leave what was not so."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger_tui.routing.repair.journal import alone

from .children import Nursery
from .mended import AFTER, APPLY, BEFORE, UNDO, Mended


def at(step: str, act: str, target: Path | None = None, *, by: Path | None = None) -> dict[str, object]:
    return {
        "step": step,
        "nth": 1,
        "act": act,
        "target": str(target or ""),
        "at": 0,
        "by": str(by or ""),
        "kill": False,
    }


@pytest.mark.parametrize(("mode", "unproven"), [("delete", "journal"), ("wal", "read-back")])
def test_an_undo_that_cannot_note_itself_is_no_refusal(
    mode: str, unproven: str, tmp_path: Path, nursery: Nursery
) -> None:
    """On a full disk a write-ahead log cannot even be read anew."""
    mended = Mended(tmp_path, nursery, mode=mode, what=UNDO)
    told = mended.do(UNDO, fault=at("committed", "full"))
    assert (told.code, mended.holds()) == (0, BEFORE), told
    assert f"?     {unproven}: " in told.out
    assert mended.past() == (["undone"], [])  # Its rows say so.


def test_an_undo_that_cannot_be_read_back_is_no_refusal(tmp_path: Path, nursery: Nursery) -> None:
    mended = Mended(tmp_path, nursery, mode="delete", what=UNDO)
    told = mended.do(UNDO, fault=at("committed", "lock", mended.store))
    assert (told.code, mended.holds()) == (0, BEFORE), told
    assert "is locked by another process" in told.out
    assert "which could not be proven in full" in told.out
    assert mended.past() == (["undone"], [])


def test_a_proof_holds_for_the_file_at_its_place_only(tmp_path: Path, nursery: Nursery) -> None:
    mended = Mended(tmp_path, nursery, mode="delete", what=APPLY)
    told = mended.do(APPLY, fault=at("committed", "replace", mended.store, by=mended.former))
    assert (told.code, mended.holds()) == (1, BEFORE), told
    assert "FAIL  read-back: The store was repaired, and then another file" in told.out
    assert mended.do(APPLY).code == 0
    assert mended.holds() == AFTER


def test_an_undo_that_is_not_seen_in_the_store_is_not_noted(tmp_path: Path, nursery: Nursery) -> None:
    mended = Mended(tmp_path, nursery, mode="delete", what=UNDO)
    repaired = mended.store.with_name("repaired.db")
    repaired.write_bytes(mended.store.read_bytes())
    told = mended.do(UNDO, fault=at("committed", "replace", mended.store, by=repaired))
    assert (told.code, mended.holds()) == (1, AFTER), told
    assert "FAIL  read-back: " in told.out
    assert mended.past() == (["applied"], [])  # So it can still be taken back.
    assert (mended.do(UNDO).code, mended.holds()) == (0, BEFORE)


def test_a_journal_that_never_came_to_be_is_swept_away(tmp_path: Path) -> None:
    with alone(tmp_path) as place:
        pass
    mine, others = ".20260102T030405Z-abcd.json.0123abcd.part", ".notes.json.0123abcd.part"
    for name in (mine, others):
        (place / name).write_text("{", encoding="ascii")
    with alone(tmp_path):
        assert not (place / mine).exists()
    assert (place / others).exists()
