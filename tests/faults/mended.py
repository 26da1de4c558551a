"""A session store with lost rows, the commands that mend it, and what must hold of it whatever happens meanwhile."""

from __future__ import annotations

import functools
import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger_tui.routing.repair.backup import integrity
from ledger_tui.routing.repair.journal import folder
from tests.routing.corpus import case
from tests.routing.stores import NOW, cells, dump, repaired

from .children import Nursery
from .striking import STRUCK, Fault

CASE = "005"
"""Six conversations of one store, twelve rows."""

APPLY, UNDO = "apply", "undo"
BEFORE, AFTER, NEITHER, UNREAD = "before", "after", "neither", "unread"

_WORDS = {APPLY: ("repair-routing", "--apply", "--yes"), UNDO: ("repair-undo", "--yes")}

_SCRIPT = """
from tests.faults.striking import command
sys.exit(command({words!r}, now={now!r}, fault={fault!r}, spill={spill!r}))
"""


@dataclass(frozen=True, slots=True)
class Told:
    """How a command ended."""

    code: int
    out: str
    err: str
    struck: bool
    """Did it come to the step of the fault?"""


class Mended:
    """A home with a store in one journal mode, beside it a copy of it. To be repaired, or repaired and to be undone."""

    def __init__(self, place: Path, nursery: Nursery, *, mode: str, what: str) -> None:
        self.home, self.store = case(CASE).lay_out(place)
        self._nursery = nursery
        with closing(sqlite3.connect(self.store)) as connection:
            connection.execute(f"PRAGMA journal_mode={mode}")
        self.former = place / "former.db"
        shutil.copyfile(self.store, self.former)
        self.before = dump(self.store)
        self._now = NOW
        if what == UNDO:
            assert self.do(APPLY).code == 0

    @property
    def repairs(self) -> Path:
        return folder(self.home)

    def run(self, *words: str, fault: Fault | None = None, spill: bool = False) -> Told:
        """One command about this store, a minute after the last one. What it says must be fit for a person."""
        self._now += 60
        argv = ["--hermes-home", str(self.home), "--state", str(self.store), *words]
        script = _SCRIPT.format(words=argv, now=self._now, fault=fault, spill=spill)
        ended = self._nursery.run(script, HERMES_HOME=str(self.home), TZ="UTC")
        told = Told(ended.code, ended.out, ended.err.replace(STRUCK, ""), STRUCK in ended.err)
        well_told(told)
        return told

    def do(self, what: str, **more: Any) -> Told:
        """Repair, or take the repair back."""
        return self.run(*_WORDS[what], **more)

    def past(self) -> tuple[list[str], list[str]]:
        """What is told of the repairs of this store: their states, oldest first; journals that cannot be read."""
        told = self.run("repair-undo", "--list", "--json")
        assert told.code == 0, told
        found = json.loads(told.out)
        return [one["state"] for one in found["repairs"]], found["unreadable"]

    def holds(self, store: Path | None = None) -> str:
        """Which rows the store holds: those from before, those of the repair, neither; or nobody can read it."""
        try:
            rows, timeless = dump(store or self.store), _timeless(store or self.store)
        except sqlite3.Error:
            return UNREAD
        return BEFORE if rows == self.before else AFTER if timeless == rows_after() else NEITHER

    def mixed(self) -> bool:
        """Does the store hold some rows as before and some as of the repair, each of which the other changes?"""
        try:
            now = _timeless(self.store)
        except sqlite3.Error:
            return False
        before, after = _timeless(self.former), rows_after()
        changed = [key for key in before if before[key] != after[key]]
        ends = {(now.get(key) == before[key], now.get(key) == after[key]) for key in changed}
        return {(True, False), (False, True)} <= ends

    def put_back(self, copy: Path) -> None:
        """What a person does who restores a copy."""
        for end in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.store}{end}").unlink(missing_ok=True)
        shutil.copyfile(copy, self.store)

    def damage(self, path: Path | None = None) -> str:
        """What SQLite finds wrong with the store, or with another file; empty for a sound one."""
        try:
            with closing(sqlite3.connect(f"{(path or self.store).as_uri()}?mode=ro", uri=True)) as connection:
                return integrity(connection)
        except sqlite3.Error as error:
            return str(error)


@functools.cache
def rows_after() -> dict[str, dict[str, Any]]:
    """What a repair makes of the rows."""
    with tempfile.TemporaryDirectory() as place:
        home, store = case(CASE).lay_out(Path(place))
        repaired(home, store)
        return _timeless(store)


def _timeless(store: Path) -> dict[str, dict[str, Any]]:
    """The rows, but for the moment at which a repair ended some of them."""
    return {
        key: {**row, "ended_at": None} if row["end_reason"] == "superseded_by_repair" else row
        for key, row in cells(store).items()
    }


def well_told(told: Told) -> None:
    """No traceback; and where it failed, one sentence on one line of standard error."""
    assert "Traceback" not in told.err, told.err
    assert told.code in (0, 1, 3, 4, -9), told
    if told.code in (3, 4):
        assert told.err.count("\n") == 1, told.err
        assert told.err.endswith((".\n", ".)\n")), told.err
