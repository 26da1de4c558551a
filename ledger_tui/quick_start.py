"""Opens the app without the machinery of the command line, where nothing but a home is named.

Most of what is loaded for the command line serves commands, and takes longer than the app itself. Whatever is unusual,
or cannot be meant, goes the long way, which also says what is wrong with it.
"""

import sys
from collections.abc import Mapping

_OPTIONS = ("--hermes-home", "--profile", "--ledger", "--state")


def wanted(argv: list[str]) -> dict[str, str] | None:
    """The options if they name one home or its files, each once, and nothing else is asked for; else None."""
    options: dict[str, str] = {}
    rest = list(argv)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in _OPTIONS or name in options:
            return None
        if not equals:
            value = rest.pop(0) if rest else ""
        if not value or value.startswith("-"):
            return None
        options[name] = value
    return options


def opened(argv: list[str], environ: Mapping[str, str]) -> int | None:
    """Run the app until it is left; returns the exit code, and None where the command line has to judge."""
    options = wanted(argv)
    if options is None or environ.get("TERM") == "dumb" or not in_a_terminal():
        return None
    from ledger_tui.loading import loading

    with loading():
        from ledger_tui.commands.ending import guarded
        from ledger_tui.commands.errors import CommandError
        from ledger_tui.commands.opening import open_app
        from ledger_tui.commands.place import place_of
        from ledger_tui.config import load
    if load().config.plain:
        return None
    try:
        home, profile, ledger, state = (options.get(name) for name in _OPTIONS)
        place = place_of(home, profile, ledger, state, environ)
    except CommandError:
        return None
    return guarded(lambda: open_app(place))


def in_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
