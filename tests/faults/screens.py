"""The app in a real terminal, and a ledger and a session store under it that are harmed and put right again."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from agent_ledger.engine.paths import Paths
from tests.app.ledgers import Clock, Ledger, a_day
from tests.app.sessions import Sessions, a_family
from tests.app.terminals import Pty

from .striking import Fault

BACKSPACE = "\x7f"

KEYS = ("1", "2", "3", "4", "5")
NAMES = {"1": "Calls", "2": "Posture", "3": "Lineage", "4": "Policy", "5": "Repair"}


class Stage:
    """A home in which the app runs for as long as the rounds go on: it has to outlive all of them."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.home.mkdir()
        self._place = place
        self._numbers = iter(range(1, 1_000_000))
        self.ledger, self.state = Paths(self.home).ledger, Paths(self.home).state
        self.ledger.parent.mkdir(parents=True)
        self.terminal = Pty(self.home, (150, 40))

    def close(self) -> None:
        self.terminal.close()

    # -- sound files ---------------------------------------------------------------------------------------------------

    def good_ledger(self, mode: str) -> str:
        """A ledger with one more call than any before, put in its place. Returns what is seen of that call."""
        word = f"call-{next(self._numbers)}"
        made = Ledger(self._fresh("ledgers"), Clock(time.time()))
        a_day(made)
        made.issue("terminal", {"command": f"make {word}"})
        self._put(made.paths.ledger, made.db, self.ledger, mode)
        return word

    def good_state(self, mode: str) -> str:
        """A session store with a title that none before had, put in its place. Returns the title."""
        word = f"title-{next(self._numbers)}"
        made: Sessions = a_family(self._fresh("states"))
        made.db.execute("UPDATE sessions SET title = ? WHERE id = 'tip'", (word,))
        self._put(made.path, made.db, self.state, mode)
        return word

    def _fresh(self, name: str) -> Path:
        folder = self._place / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    def _put(self, made: Path, db: sqlite3.Connection, place: Path, mode: str) -> None:
        db.execute(f"PRAGMA journal_mode={mode}")
        db.close()
        place.parent.mkdir(parents=True, exist_ok=True)
        for end in ("-wal", "-shm", "-journal"):
            Path(f"{place}{end}").unlink(missing_ok=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        os.replace(made, place)
        shutil.rmtree(made.parents[2] if made.parent.name == "agent-ledger" else made.parent)

    # -- what is seen --------------------------------------------------------------------------------------------------

    def show(self, key: str) -> None:
        """Bring a screen to the front, and leave the details that may lie over it."""
        self.terminal.send(key)
        self.terminal.wait(lambda: self._stands(key), f"the screen {NAMES[key]}")

    def _stands(self, key: str) -> bool:
        if self.top().startswith(f" {NAMES[key]} "):
            return True
        if "q Close" in self.terminal.screen():
            self.terminal.send(BACKSPACE)
        return False

    def text(self) -> str:
        """The screen as one line: wherever a sentence is wrapped, it reads on."""
        return " ".join(self.terminal.screen().split())

    def until(self, *parts: str) -> str:
        """Wait until all of it is seen; gives the text."""
        self.terminal.wait(lambda: all(part in self.text() for part in parts), repr(parts))
        return self.text()

    def top(self) -> str:
        return self.terminal.screen().partition("\n")[0]

    def goes_round(self) -> None:
        """Every screen comes when it is called: the app lives, and its keys work."""
        for key in (*KEYS[1:], KEYS[0]):
            self.show(key)


class Struck(Pty):
    """An app whose repairs are struck by a fault (`striking.py`)."""

    def __init__(self, home: Path, fault: Fault) -> None:
        self._fault = fault
        super().__init__(home, (120, 40))

    def _open(self, size: tuple[int, int]) -> None:
        program = "import json, sys; from tests.faults.striking import app; app(sys.argv[1], json.loads(sys.argv[2]))"
        self._argv = [sys.executable, "-c", program, self._argv[-1], json.dumps(self._fault)]
        super()._open(size)


def write_a_log(path: Path) -> Callable[[], None]:
    """Leaves commits in the write-ahead log, as a writer does that is at work. Returns what ends it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint=0")
    with closing(connection.execute("PRAGMA journal_mode=WAL")) as rows:
        rows.fetchall()
    connection.execute("CREATE TABLE IF NOT EXISTS busy(n)")
    connection.execute("INSERT INTO busy VALUES(1)")
    return connection.close
