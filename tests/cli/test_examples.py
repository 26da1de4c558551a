"""What `--help` shows: examples for every command, of commands and options that there are, and how it ends."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.cells import cell_len
from typer.testing import CliRunner

from ledger_tui.cli import app
from ledger_tui.commands.command_tree import Command, walk
from ledger_tui.commands.examples import EXAMPLES

COMMANDS: Mapping[str, Command] = {one.name: one for one in walk(typer.main.get_command(app))}
BEFORE = {name: 2 if option.takes else 1 for option in COMMANDS[""].options for name in option.names}
"""Each option before the command, with how many words it is."""

LINES = sorted({typed for lines in EXAMPLES.values() for typed, _ in lines})


def one_command(typed: str) -> list[str]:
    """The words of the first command in a line: up to a pipe, a redirection, or what is done if it fails."""
    words = shlex.split(typed)
    ends = [at for at, word in enumerate(words) if word in ("|", "||", "<", ">")]
    return words[: ends[0]] if ends else words


def named(words: list[str]) -> tuple[str, list[str]]:
    """The command that is meant, and what follows it."""
    while words and words[0] in BEFORE:
        words = words[BEFORE[words[0]] :]
    for count in (2, 1):
        if " ".join(words[:count]) in COMMANDS:
            return " ".join(words[:count]), words[count:]
    return "", words


def test_every_command_has_examples_and_there_are_no_others() -> None:
    assert set(EXAMPLES) == set(COMMANDS), "what --help shows stands in ledger_tui/commands/examples.py"


@pytest.mark.parametrize("typed", LINES)
def test_an_example_is_of_a_command_and_options_that_exist(typed: str) -> None:
    name, rest = named(one_command(typed))
    options = {option for one in COMMANDS[name].options for option in one.names}
    assert {word for word in rest if word.startswith("-")} <= options
    assert name or all(word.startswith("-") for word in rest)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_shows_them_whole_on_80_cells(name: str) -> None:
    out = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "80"}, prog_name="ledger-tui").stdout
    for typed, meaning in EXAMPLES[name]:
        assert f"\n    $ ledger-tui {typed}".rstrip() + f"\n        {meaning}\n" in out
    assert "\n  Exit codes:\n    0   " in out
    assert max(map(cell_len, out.splitlines())) <= 80


HARMLESS = ("status", "calls", "posture", "ledger-check", "doctor", "policy", "prompt-policy", "export")


@pytest.mark.parametrize(
    "typed",
    [
        line
        for line in LINES
        if line.split(" ")[0] in HARMLESS and not any(mark in line for mark in ("<", ".json", ".db", "--expect"))
    ],
)
def test_they_do_what_is_shown(
    six_states: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERMES_HOME", str(home))
    done = CliRunner().invoke(app, one_command(typed))
    assert done.exit_code == ("--fail-on" in typed), done.stderr
    assert done.stdout or (tmp_path / typed.split()[-1]).stat().st_size
