"""Repairs that a person makes in the app, killed or disturbed at a step: the rows are whole, and the app tells so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ledger_tui.routing.repair.journal import folder
from ledger_tui.routing.repair.undo import finish, repairs
from tests.app.sessions import ORPHAN, the_incident
from tests.app.terminals import Pty, confirm_repair
from tests.routing.stores import cells, clock, dump

from .rounds import dice, integrity
from .screens import Struck
from .striking import Fault

STEPS = ("checked", "scanned", "backed-up", "prepared", "begun", "row-written", "before-commit", "committed", "applied")

REFUSED, DONE = "Nothing was changed.", "The repair is done, and proven."
ENDS = (REFUSED, DONE, "The repair is written, but", "It stopped by an error.")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = the_incident(tmp_path / "home")
    path.chmod(0o600)
    shutil.copyfile(path, tmp_path / "former.db")
    return path


def taken_back(store: Path) -> bool:
    """Do the rows hold the whole repair? None of it, otherwise; anything else fails."""
    if dump(store) == dump(store.parents[1] / "former.db"):
        return False
    rows = cells(store)
    changed = {key for key, row in cells(store.parents[1] / "former.db").items() if row != rows[key]}
    assert len(changed) == 2
    assert rows[ORPHAN]["session_key"]
    assert [row["end_reason"] for key, row in rows.items() if key in changed - {ORPHAN}] == ["superseded_by_repair"]
    return True


@pytest.mark.rounds(1)
def test_the_app_is_killed_in_the_middle_of_a_repair(store: Path, seed: int) -> None:
    thrown = dice(seed, "app killed")
    fault = {"step": thrown.choice(STEPS), "nth": 1, "act": "nothing", "target": "", "at": 0, "by": "", "kill": True}
    _killed(store, fault)
    home = store.parent
    again = Pty(home, (120, 40))
    try:
        again.until("Sessions", "missing")
        again.send("5")
        told = repairs(home)
        if told:
            again.until(told[-1].text.split(": ", 1)[1], "its process ended in the middle of it")
        again.send("q")
        again.wait(lambda: not again.running(), "the app's end")
    finally:
        again.close()
    finish(store, home, clock=clock, stopped_by="the test")
    assert integrity(store) == "ok"
    assert taken_back(store) == (fault["step"] in ("committed", "applied"))
    assert [one.state for one in repairs(home)] == [{True: "applied", False: "not applied"}[taken_back(store)]] * len(
        told
    )


def _killed(store: Path, fault: Fault) -> None:
    terminal = Struck(store.parent, fault)
    try:
        confirm_repair(terminal, ORPHAN)
        terminal.wait(lambda: not terminal.running(), "the app's death")
    finally:
        terminal.close()


@pytest.mark.rounds(1)
def test_a_repair_in_the_app_is_disturbed(store: Path, seed: int) -> None:
    """The copy, the journal or the store go or are others at a step; the app says what it did, and lives."""
    thrown = dice(seed, "app disturbed")
    target = thrown.choice(
        (store, folder(store.parent) / "*.json", folder(store.parent) / "*.db", folder(store.parent))
    )
    fault = {
        "step": thrown.choice(STEPS), "nth": 1, "act": "replace" if target == store else "remove", "kill": False,
        "target": str(target), "at": 0, "by": str(store.parents[1] / "former.db"),
    }  # fmt: skip
    terminal = Struck(store.parent, fault)
    try:
        confirm_repair(terminal, ORPHAN)
        terminal.wait(lambda: any(end in terminal.screen() for end in ENDS), "an end")
        seen = terminal.screen()
        if REFUSED in seen:
            assert not taken_back(store), (fault, seen)
        if DONE in seen:
            assert taken_back(store) or fault["step"] == "applied", (fault, seen)
        terminal.send("q")
        terminal.send("5")
        terminal.until("Repair")
    finally:
        terminal.close()
    taken_back(store)
    assert integrity(store) == "ok"
