"""How far a long command is: one line on a terminal's standard error, wiped away when it is over.

The line moves by carriage returns and spaces alone, no escape sequences; a terminal without even those gets one plain
line. Ctrl-C ends the command, and the line is wiped away then, too. Standard library only: Hermes' own command line
shows it as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TextIO


class Tell(Protocol):
    """Takes how many are done, and of how many: 0 where nobody knows. `part`: what is done now, where that changes."""

    def __call__(self, done: int, total: int, part: str = "") -> None: ...


LONG_S = 1.0
"""Seconds after which a person wants to know that something goes on."""

OFTEN_S = 0.1
"""Pause between two drawings of the line."""

STOPS = "Ctrl-C stops"


class Line:
    """The line of one command. `width`: cells of the terminal; `moves`: whether it can go back to a line's start."""

    def __init__(self, what: str, stream: TextIO, *, mono: Callable[[], float], width: int, moves: bool) -> None:
        self._what, self._stream, self._mono = what, stream, mono
        self._width, self._moves = width, moves
        self._next = self._long = mono() + LONG_S
        self._cells = 0
        self._said = False
        self._part = what

    def tell(self, done: int, total: int, part: str = "") -> None:
        """Draws the line anew, once the command has become a long one; another part is shown at once."""
        now, part = self._mono(), part or self._what
        if now < (self._next if part == self._part else self._long):
            return
        self._part = part
        self._next = now + OFTEN_S
        if self._moves:
            self._draw(f"{part}{_share(done, total)}")
        elif not self._said:
            self._said = True
            self._write(f"{part} ({STOPS})\n")

    def _draw(self, text: str) -> None:
        told = f"{text} ({STOPS})"
        if len(told) >= self._width:
            told = text[: max(0, self._width - 1)]  # A line that wraps could not be wiped away.
        self._write(f"\r{told.ljust(self._cells)}")
        self._cells = len(told)

    def wipe(self) -> None:
        """Leaves the terminal as it was."""
        if self._cells:
            self._write(f"\r{' ' * self._cells}\r")
            self._cells = 0

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "ascii"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()


@contextmanager
def progress(
    what: str,
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
    mono: Callable[[], float] = time.monotonic,
) -> Iterator[Tell]:
    """Says on a terminal how far `what` is; in pipes and files, and with `quiet`, nothing at all."""
    out = sys.stderr if stream is None else stream
    if quiet or not out.isatty():
        yield _nobody
        return
    around = os.environ if environ is None else environ
    line = Line(what, out, mono=mono, width=_width(out), moves=around.get("TERM") != "dumb")
    try:
        yield line.tell
    finally:
        line.wipe()


def _share(done: int, total: int) -> str:
    if total > 0:
        return f": {min(100, 100 * done // total)} %"
    return f": {done:,}" if done else " …"


def _nobody(done: int, total: int, part: str = "") -> None:
    """Where nobody watches."""


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
