"""The app in a real terminal: tmux where there is one, and a pseudo-terminal with an emulator in any case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .ledgers import Clock, Ledger
from .terminals import HAVE_TMUX, Pty, Terminal, Tmux

IN_TMUX = pytest.param(
    Tmux,
    id="tmux",
    marks=[
        pytest.mark.tmux,
        pytest.mark.skipif(not HAVE_TMUX, reason="no tmux here: the same tests run in a pseudo-terminal"),
    ],
)


@pytest.fixture(params=[IN_TMUX, pytest.param(Pty, id="pty")])
def kind(request: pytest.FixtureRequest) -> type[Terminal]:
    chosen: type[Terminal] = request.param
    return chosen


@pytest.fixture
def live(home: Path) -> Ledger:
    """A ledger at the present time: this app runs by the real clock."""
    return Ledger(home, Clock(time.time()))


@pytest.fixture
def terminal(live: Ledger, home: Path, kind: type[Terminal]) -> Iterator[Terminal]:
    opened = kind(home, (100, 24))
    yield opened
    opened.close()


def test_a_call_is_seen_from_its_issue_to_its_end(live: Ledger, terminal: Terminal) -> None:
    terminal.until("● live", "nothing is recorded yet")
    call = live.issue("terminal", {"command": "make install"})
    terminal.until("○ pending", "make install")
    live.report(call)
    terminal.until("◆ ghost", "told")
    live.settle(call, duration_ms=700)
    terminal.until("↺ revived", "700ms")


def test_keys_reach_the_app_and_q_leaves_it(live: Ledger, terminal: Terminal) -> None:
    live.done("patch", {"path": "one.py"}, ago=20)
    live.done("write_file", {"path": "two.md"}, ago=10)
    terminal.until("one.py", "two.md")
    terminal.send("j", "Enter")
    terminal.until("arguments", '"path": "one.py"')
    terminal.send("q")
    terminal.until("Settled 2")
    terminal.send("/")
    terminal.until("Filter")
    terminal.send(*"tool:write_file", "Enter")
    terminal.until("Filter: tool:write_file", "two.md")
    assert "one.py" not in terminal.screen()
    terminal.send("?")
    terminal.until("Leave the app")
    terminal.send("q")
    terminal.wait(lambda: "Leave the app" not in terminal.screen(), "help gone")
    terminal.send("q")
    terminal.wait(lambda: not terminal.running(), "the app's end")


def test_it_fits_any_size(live: Ledger, terminal: Terminal) -> None:
    live.done("patch", {"path": "one.py"}, ago=20)
    terminal.until("one.py")
    for columns, lines in ((40, 12), (60, 15), (80, 24), (200, 60), (60, 15)):
        terminal.resize(columns, lines)
        terminal.wait(
            lambda lines=lines: (
                len(terminal.screen().rstrip().split("\n")) == lines  # type: ignore[misc]  # of now
                and "? Help" in terminal.screen().rstrip().split("\n")[-1]
            ),
            f"{columns}x{lines}",
        )
        assert "live" in terminal.screen()
        assert "confirmed" in terminal.screen()


def test_what_an_agent_wrote_does_nothing_to_the_terminal(live: Ledger, terminal: Terminal) -> None:
    """Escapes, a title, bidi controls, markup and wide characters: all seen, none obeyed."""
    terminal.until("● live")
    title = terminal.title()
    live.done("\x1b]0;owned\x07x", {"command": "\x1b]2;owned\x07\x1b[2J\x1b[31mred"}, ago=9)
    live.done("[@click=app.quit]x[/]", {"path": "[bold red]x[/nope]"}, ago=8)
    live.done("write_file", {"path": "五月の予算.csv \u202eevil\u202c"}, ago=7, session="\x1b[Hs\u2066")
    live.done("patch", {"path": "end.py"}, ago=6)
    seen = terminal.until("end.py", "\\u001b]0;owne", "[bold red]x[/nope]", "五月の予算.csv")
    assert "\x1b" not in seen
    assert not any(mark in seen for mark in "\u202e\u202c\u2066\x07\x9b")
    terminal.send("j", "j", "j", "Enter")
    seen = terminal.until("\\u001b]2;owned", "red")
    assert "\x1b" not in seen
    assert terminal.title() == title
    terminal.send("q")
    # Every row still begins where its column begins, whatever came before it.
    lines = [line for line in terminal.until("end.py").split("\n") if "✓ confirmed" in line and "WHAT" not in line]
    assert len({line.index("✓ confirmed") for line in lines[-4:]}) == 1
