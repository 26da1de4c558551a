"""How far a long command is: one line on a terminal's standard error, wiped away when it is over.

The line moves by carriage returns and spaces alone, no escape sequences; a terminal without even those gets one plain
line. Ctrl-C ends the command with exit code 130 (`cli.py`), and the line is wiped away then, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO, TypeVar

Tell = Callable[[int, int], None]
"""Takes how many are done, and of how many; 0 in all where nobody knows."""

Item = TypeVar("Item")

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
        self._next = mono() + LONG_S
        self._cells = 0
        self._said = False

    def tell(self, done: int, total: int) -> None:
        """Draws the line anew, once the command has become a long one."""
        now = self._mono()
        if now < self._next:
            return
        self._next = now + OFTEN_S
        if self._moves:
            self._draw(f"{self._what}: {min(100, 100 * done // total)} %" if total > 0 else f"{self._what} …")
        elif not self._said:
            self._said = True
            self._write(f"{self._what} ({STOPS})\n")

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


def counting(items: Iterable[Item], tell: Tell, total: int = 0) -> Iterator[Item]:
    """The same items; each is told when the next one is asked for."""
    for number, item in enumerate(items, 1):
        yield item
        tell(number, total)


def stdout_is_terminal() -> bool:
    """Rows that run over a terminal show how far they are; a second line there would only tear them."""
    return sys.stdout.isatty()


def _nobody(done: int, total: int) -> None:
    """Where nobody watches."""


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
