"""What any page tells a person to type exists: every command of `ledger-tui` with every option, wherever it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from ledger_tui.cli import app

from .pages import PAGES, ROOT, code
from .test_commands import commands

_EVERYTHING = commands()
_FLAGS = {"--help"} | {
    name for one in typer.main.get_command(app).params if getattr(one, "is_flag", False) for name in one.opts
}
_END = re.compile(r" (?:[|>;]|&&|\|\|) ?|[)…]")


def typed(text: str) -> list[str]:
    """What follows `ledger-tui` in commands and in backticks, without what another program is given."""
    lines = re.findall(r"^ *(?:\$ |[\d*/ ]+)?(?:\S*/)?ledger-tui((?: .*)?)$", text, re.M)
    lines += [found[1] for word in code(text) if (found := re.match(r"(?:\S*/)?ledger-tui( .+)$", word))]
    return [_END.split(re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", line))[0].strip() for line in lines]


def unknown(line: str) -> list[str]:
    """Words of a typed line that no command has."""
    words, wrong = line.split(), []
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option not in _EVERYTHING[""] | {"--help"}:
            wrong.append(option)
        elif option not in _FLAGS:
            words = words[1:]
    path = max((name for name in _EVERYTHING if f"{' '.join(words)} ".startswith(f"{name} ")), key=len, default="")
    if words and not path and words != ["COMMAND"]:
        return [*wrong, words[0]]
    return wrong + [word for word in words if word.startswith("-") and word not in _EVERYTHING[path] | {"--help"}]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_typed_exists(path: Path) -> None:
    found = {line: unknown(line) for line in typed(path.read_text(encoding="utf-8"))}
    assert {line: wrong for line, wrong in found.items() if wrong} == {}


def test_what_does_not_exist_is_found() -> None:
    assert unknown("stauts --json") == ["stauts"]
    assert unknown("status --jsno") == ["--jsno"]
    assert unknown("--hermes-home DIR policy report --since 7d") == []
    assert typed("```console\n$ .venv/bin/ledger-tui calls --json | jq --raw '.'\n```\n`ledger-tui status`\n") == [
        "calls --json",
        "status",
    ]
