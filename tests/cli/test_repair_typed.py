"""`repair-routing` on a terminal: what is to be done must be typed."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from ledger_tui.commands.consent import STOPPED
from screens import repair_walk
from tests.cli.conftest import ROOT
from tests.routing.corpus import DONOR, KEY, ORPHAN
from tests.routing.stores import cells, digest, dump


class Terminal:
    """The real program on a terminal of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ledger_tui", *arguments],
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(home), "HERMES_HOME": str(home),
                 "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "TERM": "xterm"},
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def until(self, words: str) -> None:
        """Reads on until these words stand on the terminal, not counting those before the last answer."""
        ends = time.monotonic() + 60
        while words not in self.text:
            assert time.monotonic() < ends, self.text
            if select.select([self.master], [], [], 1.0)[0]:
                try:
                    self.text += os.read(self.master, 65_536).decode("utf-8", "replace")
                except OSError:
                    assert words in self.text, self.text
                    return

    def answer(self, line: str) -> None:
        self.text = ""
        os.write(self.master, line.encode() + b"\n")

    def close(self) -> int:
        """Its exit code."""
        try:
            while os.read(self.master, 65_536):
                pass
        except OSError:
            pass
        os.close(self.master)
        return self.process.wait(timeout=60)


def vouch(terminal: Terminal, question: str) -> None:
    """Where the system shows no open files, the program asks whether everything is stopped, before anything else."""
    terminal.until("Type '")
    if f"Type '{STOPPED}' if" in terminal.text:
        terminal.answer(STOPPED)
    terminal.until(question)


def test_the_app_asks_for_the_same_word() -> None:
    assert repair_walk.STOPPED == STOPPED == "stopped"


def test_on_a_terminal_what_is_to_be_done_must_be_typed(state: Path, home: Path) -> None:
    before = dump(state)
    terminal = Terminal(home, "repair-routing", "--apply")
    vouch(terminal, "Type 'repair 1' to do it: ")
    assert dump(state) == before
    terminal.answer("repair 1")
    assert terminal.close() == 0
    assert cells(state)[ORPHAN]["session_key"] == KEY
    terminal = Terminal(home, "repair-undo")
    vouch(terminal, "Type 'undo' to take back repair ")
    terminal.answer("undo")
    assert terminal.close() == 0
    assert dump(state) == before


def test_ctrl_c_at_the_question_says_that_nothing_was_changed(state: Path, home: Path) -> None:
    before = digest(state)
    terminal = Terminal(home, "repair-routing", "--apply")
    terminal.until("Type '")  # Whichever question is the first on this system.
    os.kill(terminal.process.pid, signal.SIGINT)
    terminal.until("\r\nInterrupted, so nothing was changed.\r\n")
    assert terminal.close() == 130
    assert digest(state) == before


def test_another_word_changes_nothing(state: Path, home: Path) -> None:
    before = digest(state)
    terminal = Terminal(home, "repair-routing", "--apply")
    vouch(terminal, "Type 'repair 1' to do it: ")
    terminal.answer("yes")
    assert terminal.close() == 4
    assert digest(state) == before


def test_a_choice_is_typed_out_with_its_reason(state: Path, home: Path) -> None:
    terminal = Terminal(home, "repair-routing", "--apply", "--choose", f"{ORPHAN}={DONOR}")
    vouch(terminal, "Type the id of the lost session")
    terminal.answer(ORPHAN)
    terminal.until("Why are you sure?")
    terminal.answer("it is my own chat")
    terminal.until("Type 'repair 1' to do it: ")
    terminal.answer("repair 1")
    assert terminal.close() == 0
    (journal,) = (home / "plugin-data" / "agent-ledger" / "repairs").glob("*.json")
    assert json.loads(journal.read_text(encoding="ascii"))["chosen_by"].endswith(": it is my own chat")
