"""docs/commands.md has every command and option of the program, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from ledger_tui.cli import app

from .pages import ROOT, code, page, sections, table

PARTS = sections(page("commands.md"))
GLOBAL = "Before the command"


def commands() -> dict[str, set[str]]:
    """Every command of the program, by its words, with the options it takes; "" stands for those before it."""
    return dict(_walk(typer.main.get_command(app), ()))


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, set[str]]]:
    below: dict[str, object] = getattr(command, "commands", {})
    if not below or not path:
        options = {name for parameter in command.params for name in parameter.opts}
        yield " ".join(path), {name for name in options if name.startswith("-")} - {"-h", "--help"}
    for name, one in below.items():
        yield from _walk(one, (*path, name))


def described(part: str) -> set[str]:
    """Options in the first column of a section's table."""
    rows = table(part) if "\n| option |" in part else []
    return {word.split()[0] for row in rows for word in code(row[0]) if word.startswith("-")}


def test_the_page_has_every_command_and_no_other() -> None:
    headed = {heading.strip("`") for heading in PARTS if heading != GLOBAL}
    assert headed == set(commands()) - {""}


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_option_is_described_and_exists(name: str) -> None:
    assert described(PARTS[f"`{name}`" if name else GLOBAL]) == commands()[name]


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_has_an_example(name: str) -> None:
    assert f"$ ledger-tui {name}".rstrip() in PARTS[f"`{name}`" if name else GLOBAL]


def test_what_examples_type_exists() -> None:
    everything = commands()
    for line in re.findall(r"^\$ (ledger-tui .+)$", page("commands.md"), re.M):
        words = line.split("|")[0].split(">")[0].split()[1:]
        while words and words[0].startswith("--"):
            assert words.pop(0) in everything[""], line
            words.pop(0)
        path = max((name for name in everything if name and " ".join(words).startswith(name)), key=len)
        used = {word for word in words if word.startswith("-")}
        assert used <= everything[path], line


def test_every_check_of_doctor_is_explained() -> None:
    folder = ROOT / "ledger_tui" / "commands" / "checks"
    source = "\n".join(path.read_text(encoding="utf-8") for path in (*folder.glob("*.py"), folder.parent / "doctor.py"))
    named = set(re.findall(r'Check\(\s*"([a-z-]+)"', source))
    explained = {name for row in re.findall(r"^\| (`[^|]+) \|", PARTS["`doctor`"], re.M) for name in code(row)}
    assert named - explained == set()
    assert {"ledger", "set-aside", "policy-mode"} <= explained


def test_every_line_of_status_is_explained() -> None:
    lines = re.findall(r"^([a-z]+)  +\S", PARTS["`status`"].split("$ ledger-tui status\n")[1].split("$ ")[0], re.M)
    explained = " ".join(re.findall(r"^\| (`[^|]+) \|", PARTS["`status`"], re.M))
    assert [name for name in lines if f"`{name}`" not in explained] == ["home"]
