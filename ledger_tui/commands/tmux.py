"""`tmux`: lines for `~/.tmux.conf` that put the ledger into the status bar, a popup and a layout."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

import typer

from ledger_tui.commands.errors import usage
from ledger_tui.commands.fleet import places_of
from ledger_tui.commands.output import say
from ledger_tui.commands.place import Place

POPUP_KEY, LAYOUT_KEY = "G", "H"
"""Keys after the prefix. tmux itself leaves both free."""

SIDE_BY_SIDE = 160
"""Cells from which on a window has room for a chat and the app beside it."""

_FORMATS = "#%(){}\n\r"
"""Characters by which tmux would take a part of a path for something of its own."""


def printed(context: typer.Context) -> None:
    """Print lines for ~/.tmux.conf: the ledger in the status bar, in a popup, and beside a chat.

    They are about what stands before the command. Nothing is written or changed.
    """
    before = context.find_root().params
    options = _every_profile(before["hermes_home"] or ()) if before["all_profiles"] else _named(places_of(context))
    say("\n".join(lines(_readable([*_program(), *options]))))


def _named(places: Sequence[Place]) -> list[str]:
    """The options that name these places."""
    words = []
    for place in places:
        for option, path, named in (
            ("--hermes-home", place.home, place.home_named),
            ("--ledger", place.ledger, place.ledger_named),
            ("--state", place.state, place.state_named),
        ):
            words += [option, str(path)] if named else []
    return words


def _every_profile(homes: Sequence[str]) -> list[str]:
    """The options that name all profiles, also those that are made later."""
    given = [word for home in homes for word in ("--hermes-home", os.path.abspath(os.path.expanduser(home)))]
    return [*given, "--all-profiles"]


def _readable(words: list[str]) -> list[str]:
    """The program as tmux has to start it. Raises CommandError (2) for what tmux would read otherwise."""
    for word in words:
        if any(character in word for character in _FORMATS):
            raise usage(f"tmux would misread {word!r}: one of # % ( ) {{ }} is in it; use a path without them.")
    return words


def _program() -> list[str]:
    """By its name where PATH knows it, else by its place: a status bar has no virtual environment."""
    if shutil.which("ledger-tui"):
        return ["ledger-tui"]
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) == "ledger-tui" and os.access(started, os.X_OK):
        return [started]
    return [sys.executable, "-m", "ledger_tui"]


def lines(words: list[str]) -> list[str]:
    """The lines for a configuration of tmux 3.2 or newer."""
    app, status = shlex.join(words), shlex.join([*words, "status", "--tmux"])
    beside = f"split-window -h {quoted(app)} ; select-pane -L"
    behind = f"new-window -n ledger {quoted(app)} ; last-window"
    return [
        "# The ledger in the status bar. To keep what stands there, put the #(...) into your own line instead.",
        "set -g status-right-length 80",
        f"set -g status-right {quoted(f'#({status}) | %H:%M ')}",
        f"# Prefix {POPUP_KEY}: the app in a popup; q leaves it.",
        f"bind-key {POPUP_KEY} display-popup -E -w 95% -h 90% {quoted(app)}",
        f"# Prefix {LAYOUT_KEY}: a window with a chat, and the app beside it, or behind it where there is no room.",
        f"bind-key {LAYOUT_KEY} new-window -n hermes hermes \\; if-shell -F"
        f" '#{{e|>=:#{{window_width}},{SIDE_BY_SIDE}}}' {quoted(beside)} {quoted(behind)}",
        "# The same as a session of its own, from a shell:",
        f"#   tmux new-session -s hermes hermes \\; split-window -h {shlex.quote(app)}",
    ]


def quoted(text: str) -> str:
    """`text` as one word of a tmux configuration."""
    for character in '\\"$':
        text = text.replace(character, f"\\{character}")
    return f'"{text}"'


def register(app: typer.Typer) -> None:
    app.command("tmux")(printed)
