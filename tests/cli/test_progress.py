"""How far a long command is: what a terminal gets, and who gets nothing."""

from __future__ import annotations

import io

import pytest

from ledger_tui.commands.progress import counting, progress

DUMB, USUAL = {"TERM": "dumb"}, {"TERM": "xterm-256color"}


class Screen(io.StringIO):
    """A stream that says whether it is a terminal."""

    encoding = "utf-8"

    def __init__(self, *, terminal: bool = True) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_short_command_says_nothing() -> None:
    screen, clock = Screen(), Clock()
    with progress("reading", stream=screen, environ=USUAL, mono=clock) as tell:
        clock.now += 0.9
        tell(9, 10)
    assert screen.getvalue() == ""


def test_a_long_one_draws_its_share_ten_times_a_second_and_wipes_it_away() -> None:
    screen, clock = Screen(), Clock()
    with progress("reading", stream=screen, environ=USUAL, mono=clock) as tell:
        clock.now += 1.0
        tell(1, 3)
        clock.now += 0.09
        tell(2, 3)
        clock.now += 0.01
        tell(3, 3)
    first, second = "reading: 33 % (Ctrl-C stops)", "reading: 100 % (Ctrl-C stops)"
    assert screen.getvalue() == f"\r{first}\r{second}\r{' ' * len(second)}\r"


def test_a_shorter_line_covers_the_longer_one_before() -> None:
    screen, clock = Screen(), Clock()
    with progress("reading", stream=screen, environ=USUAL, mono=clock) as tell:
        clock.now += 1.0
        tell(7, 7)
        clock.now += 1.0
        tell(0, 0)
    drawn = screen.getvalue().split("\r")
    assert drawn[2] == "reading … (Ctrl-C stops)     "
    assert drawn[3] == " " * 24


def test_another_part_is_shown_at_once_once_it_takes_long() -> None:
    screen, clock = Screen(), Clock()
    with progress("mending", stream=screen, environ=USUAL, mono=clock) as tell:
        tell(0, 0, "copying")
        tell(0, 0, "checking")
        assert screen.getvalue() == ""
        clock.now += 1.0
        tell(5, 10, "copying")
        tell(6, 10, "copying")
        tell(0, 0, "writing")
    drawn = [part.strip() for part in screen.getvalue().split("\r") if part.strip()]
    assert drawn == ["copying: 50 % (Ctrl-C stops)", "writing … (Ctrl-C stops)"]


def test_where_nobody_knows_how_many_the_number_stands() -> None:
    screen, clock = Screen(), Clock()
    with progress("writing", stream=screen, environ=USUAL, mono=clock) as tell:
        clock.now += 1.0
        tell(120_000, 0)
    assert screen.getvalue().startswith("\rwriting: 120,000 (Ctrl-C stops)\r")


def test_more_than_was_counted_is_still_the_whole() -> None:
    screen, clock = Screen(), Clock()
    with progress("reading", stream=screen, environ=USUAL, mono=clock) as tell:
        clock.now += 1.0
        tell(12, 10)
    assert "reading: 100 %" in screen.getvalue()


def test_a_terminal_that_cannot_move_gets_one_plain_line() -> None:
    screen, clock = Screen(), Clock()
    with progress("reading", stream=screen, environ=DUMB, mono=clock) as tell:
        for done in range(10):
            clock.now += 1.0
            tell(done, 10)
    assert screen.getvalue() == "reading (Ctrl-C stops)\n"


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}])
def test_no_escape_sequence_is_ever_sent(colour: dict[str, str]) -> None:
    screen, clock = Screen(), Clock()
    with progress("reading", stream=screen, environ={**USUAL, **colour}, mono=clock) as tell:
        clock.now += 1.0
        tell(1, 2)
    assert "reading: 50 %" in screen.getvalue()
    assert "\x1b" not in screen.getvalue()


@pytest.mark.parametrize(("terminal", "quiet"), [(False, False), (True, True)])
def test_a_pipe_and_a_quiet_command_get_nothing(terminal: bool, quiet: bool) -> None:
    screen, clock = Screen(terminal=terminal), Clock()
    with progress("reading", quiet=quiet, stream=screen, environ=USUAL, mono=clock) as tell:
        clock.now += 5.0
        tell(1, 2)
    assert screen.getvalue() == ""


def test_the_line_is_wiped_away_when_the_command_is_interrupted() -> None:
    screen, clock = Screen(), Clock()
    work = progress("reading", stream=screen, environ=USUAL, mono=clock)
    tell = work.__enter__()
    clock.now += 1.0
    tell(1, 2)
    stop = KeyboardInterrupt()
    assert not work.__exit__(KeyboardInterrupt, stop, None)
    assert screen.getvalue().endswith(f"\r{' ' * len('reading: 50 % (Ctrl-C stops)')}\r")


def test_items_are_counted_as_they_are_taken() -> None:
    told: list[tuple[int, int]] = []
    taken = counting("abc", lambda done, total: told.append((done, total)), 3)
    assert next(taken) == "a"
    assert told == []
    assert [*taken] == ["b", "c"]
    assert told == [(1, 3), (2, 3), (3, 3)]
