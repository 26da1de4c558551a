"""Command lines for every command that there is: one that is added later comes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import typer

from ledger_tui.cli import app

from .corpus import SAMPLES

SESSION = f"lost {SAMPLES[4].text}"

LEFT_OUT = {"demo", "serve", "watch"}
"""One plays a host of its own and opens the app; the others never end, and have tests of their own."""

_EXPORTS = (("--format", "csv"), ("--format", "json"), ("--format", "md"))

ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "status": ((), ("--tmux",)),
    "calls": ((), ("--limit", "1000"), ("--session", SAMPLES[5].text)),
    "sessions": ((), ("--anomalies-only", "--limit", "1000"), ("--ignore", SESSION, "orphan")),
    "verify": ((), ("1", "2", "3")),
    "completion": (("bash",), ("fish",)),
    "prune": (("--keep", "5"), ("--keep", "5", "--apply")),
    "policy test": (("rm -r ~/notes/" + SAMPLES[4].text,), ("--tool", SAMPLES[4].text, "shred /srv/archive")),
    "prompt-policy test": ((SAMPLES[4].text,),),
    "repair-routing": ((), ("--only", SESSION), ("--apply", "--yes", "--because", SAMPLES[6].text)),
    "repair-undo": (("--list",), ("--yes",)),
    # No engine is there: what libpq says of it repeats the name.
    "ship": (("--once", "--to", f"postgresql:///{quote(SAMPLES[4].text)}?host=/nowhere/{quote(SAMPLES[6].text)}"),),
    "export calls": _EXPORTS,
    "export posture": _EXPORTS,
    "export sessions": _EXPORTS,
}
"""What a command is called with where it is not enough to call it; with and without --json."""


def leaves(group: Any = None, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(words, command) of every command that is no group."""
    top: Any = group or typer.main.get_command(app)
    for name, one in top.commands.items():
        if hasattr(one, "commands"):
            yield from leaves(one, (*before, name))
        elif name not in LEFT_OUT:
            yield (*before, name), one


def takes_json(one: Any) -> bool:
    return any("--json" in option.opts for option in one.params)


def lines() -> Iterator[tuple[str, ...]]:
    for words, one in leaves():
        for more in ARGUMENTS.get(" ".join(words), ((),)):
            yield (*words, *more)
            if takes_json(one) and "--tmux" not in more:
                yield (*words, *more, "--json")


LINES = tuple(lines())


def name(line: tuple[str, ...]) -> str:
    """A line as a test is named after it."""
    return " ".join(word if word.isascii() and word.isprintable() else "…" for word in line)
