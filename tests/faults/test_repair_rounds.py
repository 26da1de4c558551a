"""Repair and undo under faults at every step: no store is left half-repaired, and what is said of it is true."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .children import Nursery
from .mended import AFTER, APPLY, BEFORE, UNDO, UNREAD, Mended, Told
from .rounds import dice
from .striking import FILLER, LINE, Fault, harm

LINES = 420
"""So many lines of what acts run in a repair, and fewer in an undo; a fault at a later one strikes after the end."""

STEPS = ("checked", "scanned", "backed-up", "prepared", "begun", "row-written", "before-commit", "committed")

BESIDE = ("*.db", "*.part", "*.json", "lock", "")
"""Of a repair's own folder: the copy, one that is being made, the journal, the lock; and the folder itself."""


class Round:
    """One store, one command, one fault."""

    def __init__(self, seed: int, name: str, place: Path, nursery: Nursery) -> None:
        self.dice = dice(seed, name)
        self.what = self.dice.choice((APPLY, UNDO))
        self.mode = self.dice.choice(("delete", "wal"))
        self.mended = Mended(place, nursery, mode=self.mode, what=self.what)
        self.act = self.words = ""

    def strike(
        self, act: str, target: Path | None, at: float = 0.0, *, kill: bool | None = None, sound: bool = True
    ) -> None:
        """The command, and the fault at some step of it, or after it where it never comes to that step.

        `sound`: the rows themselves are not harmed, so that they tell whether the command told the truth.
        """
        self.act = act
        step, nth = _moment(self.dice)
        fault: Fault = {
            "step": step, "nth": nth, "act": act, "target": str(target) if target else "", "at": at,
            "by": str(self.mended.former), "kill": self.dice.random() < 0.5 if kill is None else kill,
        }  # fmt: skip
        told = self.mended.do(self.what, fault=fault, spill=self.dice.random() < 0.5)
        self.words = f"{self.what} in {self.mode} mode, {fault}, ended with {told.code}: {told.err}"
        if act == "fill" and target is not None:
            (target / FILLER).unlink(missing_ok=True)  # Somebody makes room.
        assert told.code != -9 or fault["kill"], self.words
        if sound:
            self._said_the_truth(told, fault)
        if not told.struck and act not in ("lock", "fill"):
            harm(fault)

    def _said_the_truth(self, told: Told, fault: Fault) -> None:
        """Done is done, and refused is nothing done."""
        done, not_done = (AFTER, BEFORE) if self.what == APPLY else (BEFORE, AFTER)
        # Nobody can tell of a store that was replaced after it was looked at for the last time.
        looked = fault["act"] != "replace" or fault["step"] != LINE or not told.struck
        if told.code == 0 and looked:
            assert self.mended.holds() == done, self.words
        elif told.code in (3, 4):
            assert self.mended.holds() == not_done, self.words

    def spared(self) -> None:
        """The store itself was not harmed: it is whole, all before or all after, and can be repaired and put back."""
        mended = self.mended
        held = mended.holds()
        states, odd = mended.past()
        assert held in (BEFORE, AFTER) or (held == UNREAD and states[-1:] == ["half-way"]), (held, states, self.words)
        if self.act == "flip" and states[-1:] == ["unclear"]:
            return  # A flipped byte may be one of a cell that the journal tells: no rows fit it, and that is said.
        if held == AFTER and not odd and states:
            assert states[-1] == "applied", (states, self.words)
        if held == BEFORE and self.act != "replace":  # The journal tells of what was done, not of what came after it.
            assert "applied" not in states, (states, self.words)

        again = mended.do(APPLY)
        assert (again.code, mended.holds(), mended.damage()) == (0, AFTER, ""), (again, self.words)
        states, odd = mended.past()
        back = mended.do(UNDO)
        if odd:
            assert (back.code, mended.holds()) == (3, AFTER), (back, self.words)
        else:
            wanted = BEFORE if "applied" in states else AFTER  # A journal that is gone takes the way back with it.
            assert (back.code, mended.holds()) == (0, wanted), (back, self.words)
            assert wanted == AFTER or not [*mended.repairs.glob("*.part")], self.words
        assert mended.damage() == "", self.words

    def harmed(self) -> None:
        """The store itself was harmed: nothing is claimed that its rows deny, and the copy is a way back."""
        mended = self.mended
        states = mended.past()[0] if mended.store.exists() else []
        if mended.mixed():
            assert mended.damage() or states[-1:] in (["unclear"], ["half-way"]), (states, self.words)
        mended.do(APPLY)  # It may be refused; how that is told has been seen to.
        mended.do(UNDO)
        copies = sorted(mended.repairs.glob("*.db"))
        assert [path for path in copies if mended.damage(path)] == [], self.words
        whole = [path for path in copies if mended.holds(path) == BEFORE]
        if whole:
            mended.put_back(whole[0])
            assert (mended.do(APPLY).code, mended.holds(), mended.damage()) == (0, AFTER, ""), self.words


def _moment(thrown: random.Random) -> tuple[str, int]:
    if thrown.random() < 0.7:
        return LINE, thrown.randrange(1, LINES)
    step = thrown.choice(STEPS)
    return step, thrown.randint(1, 12) if step == "row-written" else 1


@pytest.fixture
def fault_round(seed: int, request: pytest.FixtureRequest, tmp_path: Path, nursery: Nursery) -> Round:
    return Round(seed, request.function.__name__, tmp_path, nursery)


@pytest.mark.rounds(12)
def test_killed_at_any_line(fault_round: Round) -> None:
    fault_round.strike("nothing", None, kill=True)
    fault_round.spared()


@pytest.mark.rounds(12)
def test_what_lies_beside_the_store_is_harmed(fault_round: Round) -> None:
    """The copy, the journal, the lock or their folder: cut, flipped or removed."""
    thrown = fault_round.dice
    target = fault_round.mended.repairs / thrown.choice(BESIDE)
    fault_round.strike(thrown.choice(("flip", "truncate", "remove")), target, thrown.random())
    fault_round.spared()


@pytest.mark.rounds(8)
def test_no_file_may_grow(fault_round: Round) -> None:
    """From some line on every write behind a size fails, as on a disk that is full."""
    size = fault_round.dice.choice((0, 512, 4096, 70_000, 200_000))
    fault_round.strike("full", None, size)
    fault_round.spared()


@pytest.mark.rounds(6)
def test_somebody_locks_the_store(fault_round: Round) -> None:
    fault_round.strike("lock", fault_round.mended.store)
    fault_round.spared()


@pytest.mark.rounds(6)
def test_an_older_copy_is_put_in_the_place_of_the_store(fault_round: Round) -> None:
    """What a person does who restores a backup at the wrong moment."""
    fault_round.strike("replace", fault_round.mended.store)
    fault_round.spared()


@pytest.mark.rounds(12)
def test_the_store_itself_is_harmed(fault_round: Round) -> None:
    """The file, its log or its journal: cut, flipped or removed."""
    thrown = fault_round.dice
    target = Path(f"{fault_round.mended.store}{thrown.choice(('', '', '-wal', '-journal'))}")
    act = thrown.choice(("flip", "flip", "truncate", "remove"))
    fault_round.strike(act, target, thrown.random(), sound=False)
    fault_round.harmed()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room, where one may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(place)], capture_output=True, text=True, check=False
    ) if shutil.which("mount") else None  # fmt: skip
    if done is None or done.returncode:
        pytest.skip("no file system may be mounted here; in other rounds no file may grow")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.rounds(6)
def test_the_disk_is_full(seed: int, small_disk: Path, nursery: Nursery) -> None:
    fault_round = Round(seed, "full disk", small_disk, nursery)
    fault_round.strike("fill", small_disk, fault_round.dice.choice((0, 4096, 40_000, 150_000)))
    fault_round.spared()
