"""`hermes ledger posture` and `check` on a long way: how far they are, and Ctrl-C."""

from __future__ import annotations

import argparse
import io
import itertools

import pytest

from agent_ledger import host_command
from agent_ledger.engine.paths import Paths

from .homes import Home


class Terminal(io.StringIO):
    """A stream that calls itself a terminal. `stops`: somebody presses Ctrl-C at its first line."""

    def __init__(self, *, stops: bool = False) -> None:
        super().__init__()
        self._stops = stops

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        wrote = super().write(text)
        if self._stops:
            self._stops = False
            raise KeyboardInterrupt
        return wrote


def asked(home: Home, words: list[str], step_s: float) -> int:
    """Runs the command by a clock that goes on by `step_s` whenever somebody looks at it."""
    parser = argparse.ArgumentParser()
    host_command.set_up(parser)
    ticks = itertools.count(1000.0, step_s)
    return host_command.run(parser.parse_args(words), Paths(home.folder), mono=lambda: next(ticks))


@pytest.mark.parametrize(
    ("command", "told"), [("posture", "scoring the calls: 100 %"), ("check", "checking the calls: 0 %")]
)
def test_how_far_it_is_stands_on_the_terminal_and_goes(
    lived: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, told: str
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    assert asked(lived, [command], 2.0) == 0
    drawn = screen.getvalue()
    assert f"\r{told} (Ctrl-C stops)" in drawn
    assert drawn.endswith(" \r")
    assert told not in capsys.readouterr().out


@pytest.mark.parametrize("command", ["posture", "check"])
def test_who_waits_no_second_sees_nothing_of_it(lived: Home, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    assert asked(lived, [command], 0.001) == 0
    assert not screen.getvalue()


@pytest.mark.parametrize("command", ["posture", "check"])
def test_in_a_pipe_and_beside_json_nothing_is_said(lived: Home, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    assert asked(lived, [command], 2.0) == 0
    assert not pipe.getvalue()
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    assert asked(lived, [command, "--json"], 2.0) == 0
    assert not screen.getvalue()


@pytest.mark.parametrize("command", ["posture", "check"])
def test_ctrl_c_ends_it(
    lived: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    screen = Terminal(stops=True)
    monkeypatch.setattr("sys.stderr", screen)
    assert asked(lived, [command], 2.0) == 130
    assert capsys.readouterr().out == ""


def test_ctrl_c_leaves_the_ledger_as_it_was(lived: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal(stops=True))
    assert asked(lived, ["check"], 2.0) == 130
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert asked(lived, ["check"], 2.0) == 0
