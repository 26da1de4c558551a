"""What is wrong with a command line, in one sentence with the value that was typed and the help that fits."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup
from typer.exceptions import TyperException

from agent_ledger.engine.inert import inert

_NUMBERS = {
    "int_parsing": "is no whole number",
    "int_parsing_size": "is too long a number",
    "int_from_float": "is no whole number",
    "float_parsing": "is no number",
    "finite_number": "is no number with an end",
}
"""What a value is not, by the kind of fault that the library names: its own words are for programmers."""

_BOUNDS = (
    ("greater_than_equal", "ge", "is too small: it must be at least"),
    ("greater_than", "gt", "is too small: it must be above"),
    ("less_than_equal", "le", "is too large: it must be at most"),
    ("less_than", "lt", "is too large: it must be below"),
)


def sentence(error: TyperException) -> str:
    """One plain sentence, and where to read on."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "ledger-tui"
    return f"{_ended(_what(error, context))} See: {path} --help"


def _what(error: TyperException, context: Any) -> str:
    text = error.format_message()
    if context is not None and isinstance(context.command, TyperGroup) and text == "Missing command.":
        return f"{context.command_path} needs a command: {', '.join(context.command.commands)}"
    return _value(error) or text


def _value(error: TyperException) -> str:
    """About a value that the library could not take; empty for everything else."""
    parameter, listed = getattr(error, "param", None), getattr(error.__cause__, "errors", None)
    if parameter is None or listed is None:
        return ""
    first = listed()[0]
    option = parameter.param_type_name == "option"
    name = max(parameter.opts, key=len) if option else str(parameter.metavar or parameter.name).strip("[]….")
    typed = inert(str(first["input"]))
    if first["type"] in _NUMBERS:
        return f"{name} '{typed}' {_NUMBERS[first['type']]}"
    for kind, bound, words in _BOUNDS:
        if first["type"] == kind:
            return f"{name} {typed} {words} {first['ctx'][bound]}"
    return ""


def _ended(text: str) -> str:
    line = inert(" ".join(text.split()))
    return line if line.endswith((".", "!", "?")) else line + "."
