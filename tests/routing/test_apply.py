"""A repair does what was announced, or nothing at all."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger_tui.routing.repair.apply import Step, apply
from ledger_tui.routing.repair.journal import APPLIED, folder, read_all
from ledger_tui.routing.repair.refused import RefusedError
from ledger_tui.routing.repair.undo import repairs, undo
from ledger_tui.sources.guard import SourceError
from tests.routing.corpus import DONOR, KEY, ORPHAN, case
from tests.routing.stores import NOW, cells, change, clock, digest, dump, planned, repaired

Place = tuple[Path, Path]


@pytest.fixture(params=["delete", "wal"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    home, path = case("incident-82616").lay_out(tmp_path)
    change(path, f"PRAGMA journal_mode={request.param}")
    return home, path


def test_the_incident(place: Place) -> None:
    home, path = place
    seen: list[Step] = []
    plan = planned(home, path)
    done = apply(path, home, plan, clock=clock, stopped_by="the test", tell=seen.append)
    assert (done.proven, done.orphan_ids) == (True, (ORPHAN,))
    assert [(one.before_id, one.after_id) for one in done.answers] == [(DONOR, ORPHAN)]
    assert [one.name for one in done.checks] == [
        "gateway-lock", "gateway-process", "open-files", "leases", "read-back", "integrity", "resolver", "journal",
    ]  # fmt: skip
    assert list(dict.fromkeys(one.stage for one in seen)) == ["checks", "scan", "backup", "write", "proof"]
    assert dump(done.backup) != dump(path)
    assert cells(done.backup)[ORPHAN]["session_key"] is None


def test_nobody_else_sees_half_of_it(place: Place) -> None:
    """A reader at any step finds the rows as before; after the commit as after."""
    home, path = place
    before = dump(path)
    seen = {}

    def look(step: str) -> None:
        seen[step] = dump(path) == before

    apply(path, home, planned(home, path), clock=clock, stopped_by="the test", fault=look)
    assert seen == {
        "checked": True, "scanned": True, "backed-up": True, "prepared": True, "begun": True, "row-written": True,
        "before-commit": True, "committed": False, "applied": False,
    }  # fmt: skip


def test_the_journal(place: Place) -> None:
    home, path = place
    done = repaired(home, path)
    (one,) = read_all(home)
    assert (one.repair_id, one.state, one.store, one.backup) == (done.repair_id, APPLIED, path, done.backup.name)
    assert {row.session_id: {cell.column for cell in row.cells} for row in one.rows}[DONOR] == {
        "ended_at",
        "end_reason",
    }
    assert one.adoptions[0]["orphan"] == ORPHAN
    assert one.chosen_by == "the test"


def refused(place: Place, fault: Callable[[str], None], match: str) -> None:
    """The repair ends without a change, and leaves neither copy nor journal."""
    home, path = place
    plan = planned(home, path)
    with pytest.raises(RefusedError, match=match):
        apply(path, home, plan, clock=clock, stopped_by="the test", fault=fault)
    assert cells(path)[ORPHAN]["session_key"] is None
    assert cells(path)[DONOR]["end_reason"] is None
    assert [one.name for one in folder(home).iterdir()] == ["lock"]


def at(step: str, do: Callable[[], object]) -> Callable[[str], None]:
    def fault(name: str) -> None:
        if name == step:
            do()

    return fault


@pytest.mark.parametrize(
    "sql",
    [
        f"UPDATE sessions SET chat_id = '1' WHERE id = '{ORPHAN}'",
        f"UPDATE sessions SET user_id = '1' WHERE id = '{DONOR}'",
        f"UPDATE sessions SET last_activity_at = 5 WHERE id = '{DONOR}'",
        f"DELETE FROM sessions WHERE id = '{ORPHAN}'",
    ],
)
def test_a_row_that_changed_since_it_was_shown(tmp_path: Path, sql: str) -> None:
    home, path = case("038").lay_out(tmp_path)
    plan = planned(home, path, max_gap_s=5000.0)
    one = plan.adoptions[0]
    change(path, "PRAGMA foreign_keys=OFF")
    change(path, sql.replace(ORPHAN, one.orphan_id).replace(DONOR, one.donor_id))
    before = digest(path)
    with pytest.raises(RefusedError, match="changed since it was looked at"):
        apply(path, home, plan, clock=clock, stopped_by="the test")
    assert digest(path) == before


@pytest.mark.parametrize("step", ["scanned", "backed-up", "prepared"])
def test_whoever_writes_meanwhile_stops_it(place: Place, step: str) -> None:
    _, path = place
    refused(
        place, at(step, lambda: change(path, "UPDATE sessions SET title = 'x' WHERE id = ?", DONOR)), "changed since"
    )


def test_a_gateway_that_starts_during_the_copy(place: Place) -> None:
    home, _ = place
    refused(place, at("prepared", lambda: (home / "gateway.pid").write_text("?")), "gateway-process")


def test_a_file_that_was_put_in_its_place_meanwhile(place: Place, tmp_path: Path) -> None:
    _, path = place

    def replace() -> None:
        shutil.copy(path, tmp_path / "other.db")
        os.replace(tmp_path / "other.db", path)

    home, _ = place
    plan = planned(home, path)
    with pytest.raises((RefusedError, SourceError)):
        apply(path, home, plan, clock=clock, stopped_by="the test", fault=at("prepared", replace))
    assert cells(path)[ORPHAN]["session_key"] is None


def test_a_holder_of_the_write_lock(place: Place) -> None:
    """Of this process, so that the list of open files does not show it; SQLite itself refuses."""
    home, path = place
    plan = planned(home, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RefusedError, match="locked by another process, and nothing was changed"):
            apply(path, home, plan, clock=clock, stopped_by="the test")
        other.execute("ROLLBACK")
    assert [one.name for one in folder(home).iterdir()] == ["lock"]


def test_an_interrupt_in_the_middle(place: Place) -> None:
    home, path = place

    def interrupt() -> None:
        raise KeyboardInterrupt

    plan = planned(home, path)
    before = dump(path)
    with pytest.raises(KeyboardInterrupt):
        apply(path, home, plan, clock=clock, stopped_by="the test", fault=at("row-written", interrupt))
    assert dump(path) == before
    assert [one.name for one in folder(home).iterdir()] == ["lock"]


def test_a_trigger_on_sessions_could_do_anything(place: Place) -> None:
    home, path = place
    change(path, "CREATE TRIGGER own AFTER UPDATE ON Sessions BEGIN DELETE FROM messages; END")
    with pytest.raises(RefusedError, match="has a trigger on its sessions"):
        repaired(home, path)
    assert cells(path)[ORPHAN]["session_key"] is None


def test_a_cell_that_cannot_hold_the_value(place: Place) -> None:
    """A column of another affinity would turn the text into a number; that is seen before the commit."""
    home, path = place
    change(path, "ALTER TABLE sessions RENAME COLUMN chat_id TO former")
    change(path, "ALTER TABLE sessions ADD COLUMN chat_id INTEGER")
    change(path, "UPDATE sessions SET chat_id = CAST('77' AS BLOB) WHERE id = ?", DONOR)
    done = repaired(home, path)  # A BLOB goes over as it is.
    assert done.proven
    assert cells(path)[ORPHAN]["chat_id"] == b"77"


def test_a_choice_needs_somebody_who_made_it(tmp_path: Path) -> None:
    home, path = case("002").lay_out(tmp_path)
    plan = planned(home, path)
    open_question = next(one.orphan_id for one in plan.skipped if "more than one keyed" in one.reason)
    donor = next(key for key, row in cells(path).items() if row["session_key"] and row["source"] == "telegram")
    plan = planned(home, path, only=[open_question], choices={open_question: donor})
    assert [one.chosen for one in plan.adoptions] == [True]
    with pytest.raises(RefusedError, match="nobody is named who did"):
        apply(path, home, plan, clock=clock, stopped_by="the test")
    apply(path, home, plan, clock=clock, stopped_by="the test", chosen_by="kim: only I write there")
    (one,) = read_all(home)
    assert (one.chosen_by, one.adoptions[0]["chosen"]) == ("kim: only I write there", True)
    assert cells(path)[open_question]["session_key"] == cells(path)[donor]["session_key"]


def test_a_row_that_a_person_ends(place: Place) -> None:
    home, path = place
    before = dump(path)
    plan = planned(home, path, only=[], end=[DONOR])
    assert (plan.adoptions, [one.session_id for one in plan.endings]) == ((), [DONOR])
    with pytest.raises(RefusedError, match="nobody is named who did"):
        apply(path, home, plan, clock=clock, stopped_by="the test")
    done = apply(path, home, plan, clock=clock, stopped_by="the test", chosen_by="kim: long over")
    assert done.proven
    assert [(one.before_id, one.after_id, one.effective) for one in done.answers] == [(DONOR, None, True)]
    row = cells(path)[DONOR]
    assert (row["ended_at"], row["end_reason"]) == (NOW, "session_reset")
    (one,) = read_all(home)
    assert (one.endings, one.adoptions, one.chosen_by) == ((DONOR,), (), "kim: long over")
    undo(path, home, clock=clock, stopped_by="the test")
    assert dump(path) == before


def test_routes_that_stand_only_in_the_older_file(place: Place) -> None:
    """The plan and the repair must see the same, also what `sessions.json` says."""
    home, path = place
    (home / "sessions").mkdir()
    entry = {"session_id": DONOR, "updated_at": "2026-08-09"}
    (home / "sessions" / "sessions.json").write_text(json.dumps({KEY: entry}), encoding="utf-8")
    done = repaired(home, path)
    assert (done.proven, [one.effective for one in done.answers]) == (True, [True])


def test_nothing_to_do_is_not_done(tmp_path: Path) -> None:
    home, path = case("004").lay_out(tmp_path)
    with pytest.raises(RefusedError, match="nothing to repair"):
        repaired(home, path)
    assert not (home / "plugin-data").exists()


def test_only_what_was_asked_for(tmp_path: Path) -> None:
    home, path = case("001").lay_out(tmp_path)
    first, second = (one.orphan_id for one in planned(home, path).adoptions)
    repaired(home, path, only=[second])
    after = cells(path)
    assert (after[first]["session_key"], bool(after[second]["session_key"])) == (None, True)


def test_a_journal_holds_nothing_that_is_said(place: Place) -> None:
    home, path = place
    change(path, "UPDATE messages SET content = 'the secret word'")
    change(
        path, "UPDATE sessions SET system_prompt = 'the secret word', title = 'the secret word' WHERE id = ?", ORPHAN
    )
    done = repaired(home, path)
    text = (folder(home) / f"{done.repair_id}.json").read_text(encoding="ascii")
    assert "superseded_by_repair" in text
    assert "secret" not in text


def test_whoever_is_in_the_way_of_the_proof_does_not_make_it_a_refusal(place: Place) -> None:
    """The host may be started in the very moment after the commit."""
    home, path = place
    plan = planned(home, path)
    tables = ("PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE", "UPDATE sessions SET title = NULL WHERE 0")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:

        def starts() -> None:
            for sql in tables:
                other.execute(sql).fetchall()

        if other.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            return  # There nobody is in a reader's way.
        done = apply(path, home, plan, clock=clock, stopped_by="the test", fault=at("committed", starts))
        other.execute("ROLLBACK")
    found = {one.name: one for one in done.checks}
    assert found["read-back"].state == "unknown"
    assert found["read-back"].text.startswith("The repair took effect")
    assert [one.state for one in repairs(home)] == ["applied"]


def test_links_that_were_broken_before_are_not_held_against_it(tmp_path: Path) -> None:
    """D6: the empty parent is one; the repair mends it."""
    home, path = case("001").lay_out(tmp_path)
    orphan = planned(home, path).adoptions[0].orphan_id
    change(path, "UPDATE sessions SET parent_session_id = '' WHERE id = ?", orphan)
    other = next(key for key in cells(path) if key != orphan)
    change(path, "UPDATE sessions SET parent_session_id = 'nobody' WHERE id = ?", other)
    done = repaired(home, path, only=[orphan])
    assert done.proven
    assert cells(path)[orphan]["parent_session_id"] != ""


def test_a_full_disk_at_the_end_costs_only_the_note(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repair took effect; the rows say so, and it can be taken back."""
    home, path = place
    plan = planned(home, path)

    def full(step: str) -> None:
        if step == "committed":
            monkeypatch.setattr(os, "replace", _no_room)

    done = apply(path, home, plan, clock=clock, stopped_by="the test", fault=full)
    assert {one.name: one.state for one in done.checks}["journal"] == "unknown"
    assert done.proven
    monkeypatch.undo()
    assert [(one.state, one.crashed) for one in repairs(home)] == [("applied", True)]
    undo(path, home, clock=clock, stopped_by="the test")
    assert cells(path)[ORPHAN]["session_key"] is None


def _no_room(source: Path, target: Path) -> None:
    raise OSError(28, "No space left on device")
