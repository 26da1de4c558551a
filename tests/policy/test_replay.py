"""`policy replay` on a long ledger: how far it is, rows and that line apart from each other, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.progress import Tell
from ledger_tui.cli import run
from ledger_tui.commands import policy

from .test_command import home

__all__ = ["home"]

ROW = "deletes"
"""The rule by which the one call of that home would be refused."""


class Line:
    """Stands for the line on the terminal: what it was told, and what was printed while it stood there."""

    def __init__(self, printed: Callable[[], str]) -> None:
        self.told: list[tuple[int, int]] = []
        self.meanwhile = ""
        self.quiet = False
        self.stops = False
        self._printed = printed

    @contextmanager
    def __call__(self, what: str, *, quiet: bool = False) -> Iterator[Tell]:
        assert what == "judging the calls"
        self.quiet = quiet
        yield self._tell
        self.meanwhile = self._printed()

    def _tell(self, done: int, total: int, part: str = "") -> None:
        if self.stops:
            raise KeyboardInterrupt
        self.told.append((done, total))


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Line:
    made = Line(lambda: capsys.readouterr().out)
    monkeypatch.setattr(policy, "progress", made)
    return made


def replay(home: Path, *words: str) -> Any:
    return run(["--hermes-home", str(home), "policy", "replay", *words])


def test_each_call_is_told(home: Path, line: Line) -> None:
    assert replay(home) == 0
    assert line.told == [(0, 3), (1, 3), (2, 3)]
    assert ROW in line.meanwhile, "rows run into a pipe as they are found"


def test_of_a_part_nobody_knows_the_size(home: Path, line: Line) -> None:
    assert replay(home, "--since", "1d") == 0
    assert line.told == [(0, 0), (1, 0), (2, 0)]


def test_on_a_terminal_rows_follow_once_the_line_is_gone(
    home: Path, line: Line, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(policy, "stdout_is_terminal", lambda: True)
    assert replay(home) == 0
    assert line.meanwhile == ""
    out = capsys.readouterr().out
    assert ROW in out
    assert out.endswith("1 of 3 recorded calls would have been refused.\n")


def test_json_says_nothing_beside_itself(home: Path, line: Line) -> None:
    assert replay(home, "--json") == 0
    assert line.quiet


def test_ctrl_c_ends_it(home: Path, line: Line, capsys: pytest.CaptureFixture[str]) -> None:
    line.stops = True
    assert replay(home) == 130
    assert ROW not in capsys.readouterr().out
