"""Writes docs/reference.md from the program itself: `python -m tests.docs.reference` from the checkout."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from ledger_tui.cli import app
from ledger_tui.commands.command_tree import Command, walk
from ledger_tui.commands.examples import EXAMPLES, exit_codes, shown
from ledger_tui.config import REFRESH, THRESHOLDS
from ledger_tui.personal import actions, default_keys

from .pages import ROOT

PATH = ROOT / "docs" / "reference.md"

HEAD = """\
# What is there to type?

Made from the program by `python -m tests.docs.reference`; a test holds it to that. What things mean stands in
[the commands](commands.md) and [the settings](terminal.md#settings-of-your-own). Options of the program stand before
the command, those of a command after it. `-h` and `--help` are options of every one."""


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for command in walk(typer.main.get_command(app)):
        if command.name and command.below:
            continue  # A word that others follow does nothing by itself.
        parts += ["", *_section(command)]
    parts += ["", *_settings(), "", *_keys()]
    return "\n".join(parts) + "\n"


def _section(command: Command) -> Iterator[str]:
    yield f"## `{shown(command.name)}`"
    yield ""
    yield f"{_prose(command.about)}"
    yield ""
    yield "```console"
    for typed, meaning in EXAMPLES[command.name]:
        yield f"$ {shown(typed)}"
        yield f"#   {meaning}"
    yield "```"
    if command.arguments or command.options:
        yield ""
        yield "| given | meaning |"
        yield "| --- | --- |"
    for argument in command.arguments:
        yield f"| `{argument.takes}` | {_prose(argument.help)} |"
    for option in command.options:
        names = ", ".join(f"`{name}{f' {option.takes}' if option.takes else ''}`" for name in option.names)
        yield f"| {names} | {_prose(option.help)}{' Needed.' if option.required else ''} |"
    if command.below:
        yield ""
        yield "Followed by: " + ", ".join(f"`{word}`" for word in command.below) + "."
    yield ""
    yield "Exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in exit_codes(command.name).items()) + "."


def _settings() -> Iterator[str]:
    yield from ("## `config.toml`", "", "| setting | usual |", "| --- | --- |")
    yield from ("| `theme` | the program's own |", "| `plain` | `false` |")
    yield "| `homes` | none |"
    yield from (f"| `refresh.{name}` | {value:g} |" for name, value in REFRESH.items())
    yield from (f"| `thresholds.{name}` | {value} |" for name, value in THRESHOLDS.items())
    yield "| `keys.ACTION` | see below |"


def _keys() -> Iterator[str]:
    yield from ("## Keys", "", "| action | keys | what it does |", "| --- | --- | --- |")
    known = actions()
    for name, keys in default_keys().items():
        binding = known[name]
        said = ", ".join(f"`{key}`" for key in keys.split(","))
        yield f"| `{name}` | {said} | {_prose(binding.tooltip or binding.description)} |"


def _prose(text: str) -> str:
    """Words of the help as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
