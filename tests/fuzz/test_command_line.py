"""Command lines of any words: an answer, or one sentence and the right exit code; nothing outside is changed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from hypothesis import event, example, given
from hypothesis import strategies as st

from ledger_tui.cli import app
from tests.app.ledgers import Clock, Ledger, a_day
from tests.app.sessions import the_incident

from . import places
from . import strategies as some
from .profiles import fuzzed
from .speaking import proper, speak

LEFT_OUT = frozenset({"demo", "watch", "serve"})
"""One plays a host and opens the app, the others never end."""

TOP: Any = typer.main.get_command(app)


def _commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from _commands(one, (*before, name))
        elif name not in LEFT_OUT:
            yield (*before, name), one


COMMANDS = tuple(_commands(TOP))


def _argument(text: str) -> str:
    """As a system hands it over: no null, and halves of characters only for bytes that are no UTF-8."""
    kept = text.replace("\0", "")
    return "".join(char if not "\ud800" <= char <= "\udfff" else chr(0xDC80 + ord(char) % 0x80) for char in kept)


_VALUES = (
    "1", "0", "-1", "9" * 30, "1e3", "٣", "2d", "24h", "2026-01-02", "9999-99-99", "0000-01-01", "99999999999d", "nan",
    "inf", "ghost", "ghost,overdue", "csv", "json", "md", "terminal", "s1", "lost", "orphan", "a=b", "=", "home", ".",
    "home/state.db", "home/plugin-data/agent-ledger/ledger.db", "out.csv", "no/such/folder", "x" * 5000, "-", "--",
    "link", "pipe", "~", "~nobody", "~nobody/x", "*",
)  # fmt: skip
odd = st.one_of(st.sampled_from(_VALUES), some.texts().map(_argument))


def options(one: Any) -> list[Any]:
    return [param for param in one.params if param.param_type_name == "option" and "--tmux" not in param.opts]


@st.composite
def _said_of(draw: st.DrawFn, one: Any) -> list[str]:
    """Options of a command with odd values, some forgotten, some twice, and what it is not asked for."""
    words: list[str] = []
    for option in draw(st.lists(st.sampled_from(options(one)), max_size=3)) if options(one) else []:
        words.append(draw(st.sampled_from(option.opts)))
        if not option.is_flag:
            words += [draw(odd) for _ in range(draw(st.sampled_from((option.nargs,) * 8 + (0, 3))))]
    extra = draw(st.lists(odd, max_size=2)) if draw(st.integers(0, 3)) == 0 else []
    at = draw(st.integers(0, len(words)))
    return [*words[:at], *extra, *words[at:]]


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, ...]:
    words, one = draw(st.sampled_from(COMMANDS))
    before = draw(_said_of(TOP)) if draw(st.integers(0, 2)) == 0 else []
    line = [*before, *words, *draw(_said_of(one))]
    if draw(st.integers(0, 9)) == 0:
        line[draw(st.integers(0, len(line) - 1))] = draw(odd)
    return tuple(line)


@contextmanager
def somewhere() -> Iterator[Path]:
    """A folder with a home in it, and with a link and a pipe that may be named."""
    folder = Path(tempfile.mkdtemp(dir=places.folder())) / "here"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def furnish(folder: Path) -> Path:
    """A home with calls and sessions, copied from one that is made once."""
    pattern = places.folder() / "furnished"
    if not pattern.exists():
        made = Ledger(pattern, Clock())
        a_day(made)
        made.db.close()
        the_incident(pattern)
    shutil.copytree(pattern, folder / "home")
    (folder / "link").symlink_to(folder / "home" / "state.db")
    os.mkfifo(folder / "pipe")
    return folder / "home"


def around(folder: Path) -> set[str]:
    """What lies beside the folder and above it."""
    return {path.name for path in (*folder.parent.iterdir(), *folder.parent.parent.iterdir())}


@example(("policy", "replay", "--since", "1"), b"")  # Once told that the example serves, and then that this is no time.
@given(lines(), st.one_of(st.just(b""), st.binary(max_size=40), some.files(some.values)))
@fuzzed(1.5)
def test_any_line_is_answered(line: tuple[str, ...], given: bytes) -> None:
    with somewhere() as folder:
        home = furnish(folder)
        before = around(folder)
        if set(line) & LEFT_OUT:
            return
        said = proper(speak(line, folder, home, given))
        event(f"exit code {said.code}")
        assert around(folder) == before


@given(st.lists(st.one_of(odd, st.sampled_from([word for words, _ in COMMANDS for word in words])), max_size=5))
@fuzzed(0.5)
def test_words_that_make_no_sense(words: list[str]) -> None:
    with somewhere() as folder:
        home = furnish(folder)
        if set(words) & LEFT_OUT:
            return
        said = proper(speak(tuple(words), folder, home))
        event(f"exit code {said.code}")


@given(st.sampled_from(COMMANDS), odd)
@fuzzed(0.5)
def test_an_option_that_nobody_knows(known: tuple[tuple[str, ...], Any], text: str) -> None:
    with somewhere() as folder:
        said = proper(speak((*known[0], f"--x{text}"), folder, folder))
        assert said.code == 2
        assert said.out == ""
