"""The repair in a real terminal, by keys alone: from the tree of sessions to the proof."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .sessions import ORPHAN, the_incident
from .terminals import Pty, Terminal, Tmux, confirm_repair
from .test_terminal import IN_TMUX


@pytest.fixture(params=[IN_TMUX, pytest.param(Pty, id="pty")])
def terminal(request: pytest.FixtureRequest, home: Path) -> Iterator[Terminal]:
    the_incident(home).chmod(0o600)
    kind: type[Tmux | Pty] = request.param
    opened = kind(home, (100, 30))
    yield opened
    opened.close()


def test_from_the_tree_to_the_proof(terminal: Terminal) -> None:
    confirm_repair(terminal, ORPHAN)
    terminal.until("The repair is done, and proven.", "✓ resolver")
    terminal.send("q")
    terminal.until("Sessions 2")
    time.sleep(0.2)  # What follows must not reach the screen that is just closing.
    terminal.send("q")
    terminal.wait(lambda: not terminal.running(), "the app's end")
