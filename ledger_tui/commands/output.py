"""How commands speak: JSON for programs, aligned text for people, one sentence on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size

from agent_ledger.engine.inert import inert
from ledger_tui.sources.forms import document


def print_json(value: Any) -> None:
    """One document, in ASCII: whatever an agent wrote, a terminal sees only letters and backslashes."""
    sys.stdout.write(document(value, indent=2) + "\n")


def print_json_list(values: Iterable[Any]) -> None:
    """One JSON list, an item a line, written as the items come."""
    write_json_list(values, sys.stdout)


def write_json_list(values: Iterable[Any], stream: TextIO) -> None:
    """The same into any stream. Nothing is written before the first item is there: it may be an error."""
    separator = "[\n"
    for value in values:
        stream.write(separator + document(value))
        separator = ",\n"
    stream.write("[]\n" if separator == "[\n" else "\n]\n")


def print_json_line(value: Any) -> None:
    """One document on one line, sent at once: for pipes that wait for it."""
    sys.stdout.write(document(value) + "\n")
    sys.stdout.flush()


def say(line: str = "") -> None:
    """One line for a person. A character that the stream cannot show is written as an escape, never a crash."""
    sys.stdout.write(speakable(line, sys.stdout.encoding) + "\n")


def say_now(line: str) -> None:
    """The same, sent at once."""
    say(line)
    sys.stdout.flush()


def warn(line: str) -> None:
    """One sentence on standard error."""
    sys.stderr.write(speakable(inert(line), sys.stderr.encoding) + "\n")
    sys.stderr.flush()


def speakable(line: str, encoding: str | None) -> str:
    """`line` with what `encoding` lacks written as backslash escapes."""
    name = encoding or "ascii"
    return line.encode(name, "backslashreplace").decode(name)


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` terminal cells; what does not fit is cut and marked."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(0, width - 1)) + "…"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, width: int, flexible: int) -> list[str]:
    """Aligned lines, measured in cells. The column number `flexible` takes what the others leave of `width`."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(head))]
    others = sum(widths) - widths[flexible] + 2 * (len(head) - 1)
    widths[flexible] = min(widths[flexible], max(12, width - others))
    return ["  ".join(fit(cell, widths[i]) for i, cell in enumerate(line)).rstrip() for line in lines]


def terminal_width(default: int = 160) -> int:
    """Cells of the terminal; `default` where standard output is a pipe or file."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else default
    except (OSError, ValueError):
        return default


def amount(number: int, one: str, many: str = "") -> str:
    """`1 call`, `2 calls`, `2 processes`."""
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def duration(seconds: float | None) -> str:
    """`42s`, `7m`, `3h`, `12d`; a question mark where nobody knows."""
    if seconds is None:
        return "?"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size * (2 if unit != "m" else 1):
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"
