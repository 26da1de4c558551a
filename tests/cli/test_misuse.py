"""A command line that cannot be meant: the sentence has what was typed, what may stand there, and the fitting help."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main

from ledger_tui import cli


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """The sentence with which a command line is turned down, from this very process."""

    def run(*arguments: str) -> str:
        code = typer.main.get_command(cli.app).main(list(arguments), "ledger-tui", standalone_mode=False)
        printed = capsys.readouterr()
        assert (code, printed.out) == (2, "")
        return printed.err

    return run


@pytest.mark.parametrize(
    ("arguments", "what", "whose"),
    [
        (("calls", "--limit", "1e3"), "--limit '1e3' is no whole number.", "calls"),
        (("calls", "--limit", "a\x1bb"), "--limit 'a\\u001bb' is no whole number.", "calls"),
        (("export", "calls", "--format", "csv", "--limit", "1.5"), "--limit '1.5' is no whole number.", "export calls"),
        (("sessions", "--limit", "-5"), "--limit -5 is too small: it must be at least 0.", "sessions"),
        (("serve", "--port", "65536"), "--port 65536 is too large: it must be at most 65535.", "serve"),
        (("prune", "--keep", "few"), "--keep 'few' is no whole number.", "prune"),
        (("demo", "--speed", "fast"), "--speed 'fast' is no number.", "demo"),
        (("verify", "9", "nine"), "ID 'nine' is no whole number.", "verify"),
        (("prune",), "Missing option '--keep'.", "prune"),
        (("policy", "test", "--nope"), "No such option: --nope.", "policy test"),
        (("--nope",), "No such option: --nope.", ""),
        (("cals",), "No such command 'cals'. Did you mean 'calls'?", ""),
        (("plugin", "instal"), "No such command 'instal'. Did you mean 'install', 'uninstall'?", "plugin"),
    ],
)  # fmt: skip
def test_the_sentence(told: Any, arguments: tuple[str, ...], what: str, whose: str) -> None:
    assert told(*arguments) == f"{what} See: {' '.join(('ledger-tui', *whose.split()))} --help\n"


@pytest.mark.parametrize("group", ["policy", "prompt-policy", "export", "plugin", "config"])
def test_a_word_that_is_only_the_first_half_names_the_second_halves(told: Any, group: str) -> None:
    below = ", ".join(typer.main.get_command(cli.app).commands[group].commands)  # type: ignore[attr-defined]
    assert told(group) == f"ledger-tui {group} needs a command: {below}. See: ledger-tui {group} --help\n"


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("calls", "--limit"), ("sessions", "--limit"), ("prune", "--keep"), ("repair-routing", "--max-gap-seconds"),
        ("serve", "--port"), ("demo", "--seed"), ("demo", "--speed"), ("demo", "--duration"),
    ],
)  # fmt: skip
def test_no_word_of_the_library_reaches_a_person(told: Any, command: str, option: str) -> None:
    """Its sentences speak of integers, inputs and parsing."""
    assert told(command, option, "many").startswith(f"{option} 'many' is no ")
