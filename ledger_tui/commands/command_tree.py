"""The commands of the program as a list, taken from the program itself: for completion and the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer


@dataclass(frozen=True, slots=True)
class Option:
    """One option: all its names, what it is given ("" for nothing), and its help."""

    names: tuple[str, ...]
    takes: str
    help: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """What a command takes by its place."""

    takes: str
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command by its words; "" is the program itself. `below` are the words that may follow it."""

    name: str
    about: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    below: tuple[str, ...]


def commands(context: typer.Context) -> list[Command]:
    """Every command of the program that runs in `context`, each before those below it."""
    return list(walk(context.find_root().command))


def walk(command: Any, words: tuple[str, ...] = ()) -> Iterator[Command]:
    """The same from a command of typer on, which `words` name."""
    below: dict[str, Any] = getattr(command, "commands", {})
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    yield Command(
        name=" ".join(words),
        about=" ".join((command.help or "").split()),
        options=tuple(_option(one) for one in shown if one.param_type_name == "option"),
        arguments=tuple(_argument(one) for one in shown if one.param_type_name == "argument"),
        below=tuple(below),
    )
    for name, one in below.items():
        yield from walk(one, (*words, name))


def _option(one: Any) -> Option:
    takes = "" if one.is_flag else one.metavar or "VALUE"
    return Option((*one.opts, *one.secondary_opts), takes, one.help or "", bool(one.required))


def _argument(one: Any) -> Argument:
    return Argument(one.metavar or str(one.name).upper(), one.help or "")
