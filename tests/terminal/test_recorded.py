"""Every byte that reaches a real terminal, from the commands and from the app, in a home full of hostile text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.terminals import _RUN, HAVE_TMUX
from tests.app.test_terminal import IN_TMUX
from tests.engine.homes import ROOT

from .corpus import SAMPLES, TITLE
from .judging import hazards, plain, sequences
from .recording import Kind, Recorded, RecordedPty, RecordedTmux

SIZE = (180, 55)

TMUX = pytest.param(RecordedTmux, id="tmux", marks=IN_TMUX.marks)


@pytest.fixture(params=[TMUX, pytest.param(RecordedPty, id="pty")])
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def environ(home: Any) -> dict[str, str]:
    """Of programs in the planted home."""
    folder = home("planted")
    return {
        **os.environ, "HERMES_HOME": str(folder), "PYTHONPATH": str(ROOT), "TEXTUAL_ANIMATIONS": "none",
        "LC_ALL": "C.UTF-8",
    }  # fmt: skip


@pytest.fixture
def opened(kind: Kind, environ: dict[str, str]) -> Iterator[Any]:
    terminals: list[Recorded] = []

    def run(*argv: str) -> Recorded:
        terminals.append(kind((sys.executable, *argv), environ, SIZE))
        return terminals[-1]

    yield run
    for terminal in terminals:
        terminal.close()


@pytest.mark.tmux
@pytest.mark.skipif(not HAVE_TMUX, reason="no tmux here, whose effects these are")
def test_what_is_let_through_is_seen(environ: dict[str, str], tmp_path: Path) -> None:
    """The same text straight to the terminal: title, name, clipboard and bell are taken, and all is in the record."""
    let = [sample.hostile for sample in SAMPLES if sample.name not in ("reset", "torn", "torn-string", "pictures")]
    (tmp_path / "raw").write_text("".join(let), "utf-8")
    terminal = RecordedTmux(("cat", str(tmp_path / "raw")), environ, SIZE)
    try:
        terminal.wait(lambda: not terminal.running(), "the end")
        state = terminal.state()
        assert (state.title, state.window, state.bell) == (TITLE, TITLE, "1")
        assert "hostile-clipboard" in state.clipboard
        raw = terminal.raw()
        assert {name for name, _ in sequences(raw)} == {"csi", "osc", "string", "short"}
        assert len(hazards(plain(raw))) > 60
    finally:
        terminal.close()


def test_the_commands(environ: dict[str, str]) -> None:
    """Not one sequence, of theirs or ours: what commands print is text."""
    kind = RecordedTmux if HAVE_TMUX else RecordedPty
    argv = (sys.executable, str(Path(__file__).with_name("commands_in_a_row.py")))
    terminal = kind(argv, environ, SIZE)
    try:
        _judge_commands(terminal)
    finally:
        terminal.close()


def _judge_commands(terminal: Recorded) -> None:
    terminal.wait(lambda: not terminal.running(), "the last command")
    raw = terminal.raw().replace(b"\r\n", b"\n")
    assert b"\x1b" not in raw
    assert hazards(raw.decode("utf-8", "surrogateescape")) == []
    assert b"Traceback" not in raw
    assert all(sample.first.encode() in raw for sample in SAMPLES)
    if isinstance(terminal, RecordedTmux):
        assert terminal.state() == terminal.before


_OURS = re.compile(
    r"\?(?:1000|1003|1004|1006|1015|1049|2004|25|7)[hl]|\?(?:2026|2048)\$p|>25u|<u"  # The screen, mouse, keyboard.
    r"|\d+;\d+H|H|[0-9;]*m"  # Where to write, and in which colours.
)
_POINTER = "22;default"

_WALK: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((), ("Pending", "Ghosts", "Settled", "wren62a")),
    (("Enter",), ("timeline", "facts")),
    (("q",), ("Settled",)),
    (("j", "j", "j", "Enter"), ("timeline", "facts")),
    (("q",), ("Settled",)),
    (("/",), ("Apply",)),
    ((*"wren0", "Enter"), ("Filter: wren0",)),
    (("/",), ("Apply",)),
    ((*" session:", "Tab"), ("session:",)),
    (("Escape",), ("Details",)),
    (("x",), ("wren62a",)),
    (("e",), ("esc Close",)),
    (("Escape",), ("Details",)),
    (("C-p",), ("Search",)),
    ((*"wren44",), ("Show the calls of wren44a [link=",)),
    (("Enter",), ("Clear",)),
    (("x",), ("wren62a",)),
    (("2",), ("findings", "wren02a")),
    (("Enter",), ("timeline", "facts")),
    (("q",), ("findings",)),
    (("3",), ("orphans", "wren08a")),
    (("i",), ("aside",)),
    (("j", "j", "Enter"), ("session_key",)),
    (("q",), ("orphans",)),
    (("G",), ("wren62a",)),
    (("5",), ("Past repairs",)),
    (("r",), ("leases:",)),
    (("n",), ("ambiguous", "wren04a")),
    (("d",), ("the lost session",)),
    (("q",), ("ambiguous",)),
    (("n",), ("session_key",)),
    (("q",), ("Past repairs",)),
    (("4",), ("dry_run", "wren rule", "wren16a")),
    (("t",), ("esc Close",)),
    ((*"rm -rf ~/x", "Enter"), ("block",)),
    (("?",), ("Leave the app",)),
)
"""Keys, and what must be seen after them: every screen, and what opens over it."""


def _step(terminal: Recorded, keys: tuple[str, ...], words: tuple[str, ...]) -> str:
    """Keys, and the screen that has come of them; nothing on it is hostile, and no colour or link but ours."""
    terminal.send(*keys)
    seen = terminal.until(*words)
    assert hazards(seen) == []
    if isinstance(terminal, RecordedTmux):
        assert {name for name, _ in sequences(terminal.coloured().encode())} <= {"csi"}
    return seen


def _judge(raw: bytes) -> None:
    """Every sequence is one of the app's own, and what stands between them is text."""
    told = list(sequences(raw))
    strange = {(name, said) for name, said in told if name != "csi" or not _OURS.fullmatch(said)}
    assert strange <= {("osc", _POINTER)}
    assert not any("38;2;1;2;3" in said or said == "777;777H" for _, said in told)
    assert hazards(plain(raw).replace("\r\n", "\n")) == []


def test_the_app(opened: Any, environ: dict[str, str]) -> None:
    terminal = opened("-c", _RUN, environ["HERMES_HOME"])
    seen = [_step(terminal, keys, words) for keys, words in _WALK]
    terminal.send("q", "q")
    terminal.wait(lambda: not terminal.running(), "the end of the app")
    _judge(terminal.raw())
    assert sum(sample.first in "".join(seen) or sample.last in "".join(seen) for sample in SAMPLES) > 55
    if isinstance(terminal, RecordedTmux):
        assert terminal.state() == terminal.before
