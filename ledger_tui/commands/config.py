"""`config show|path|check`: the file of a person's own settings, and what of it counts."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agent_ledger.engine.inert import inert
from agent_ledger.engine.paths import Paths
from ledger_tui.commands.errors import DONE, FOUND
from ledger_tui.commands.output import print_json, say, warn
from ledger_tui.config import Config, Loaded, config_path, load

group = typer.Typer(rich_markup_mode=None, help="Your own settings: theme, keys, pace, sizes.")

_Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]


@group.command("show")
def shown(json: _Json = False) -> int:
    """Print every setting as it counts now, in the form of the file."""
    loaded, keys = judged()
    if loaded.problems:
        warn(loaded.sentence())
    if json:
        print_json({"path": str(loaded.path), "exists": loaded.exists, **asdict(loaded.config), "actions": keys})
        return DONE
    what = "" if loaded.exists else ", which does not exist: this is what counts without it"
    say(f"# {inert(str(loaded.path))}{what}")
    say(as_toml(loaded.config, keys))
    return DONE


@group.command("path")
def place() -> int:
    """Print where the file belongs, whether it exists or not."""
    say(inert(str(config_path())))
    return DONE


@group.command("check")
def checked(json: _Json = False) -> int:
    """Name everything that is wrong with the file. Exit 1 if anything is."""
    loaded, _ = judged()
    if json:
        print_json({"path": str(loaded.path), "exists": loaded.exists, "problems": list(loaded.problems)})
    else:
        start = inert(str(loaded.path))
        for problem in loaded.problems:
            say(f"{start}: {inert(problem)}.")
        if not loaded.problems:
            say(f"{start} is fine." if loaded.exists else f"{start} does not exist; the defaults count.")
    return FOUND if loaded.problems else DONE


def judged() -> tuple[Loaded, Mapping[str, str]]:
    """The file, also by what the app alone knows: its themes, actions and keys."""
    from ledger_tui import personal  # Only here: it takes the whole app.
    from ledger_tui.app import make_app

    loaded = personal.with_app(make_app(Paths(Path("/nonexistent"))), load())
    return loaded, personal.default_keys()


def as_toml(config: Config, keys: Mapping[str, str]) -> str:
    """The settings as a file that says the same. Keys that are not changed stand there as remarks."""
    lines = [f"theme = {_text(config.theme)}" if config.theme else '# theme = "ledger-light"']
    lines.append(f"plain = {str(config.plain).lower()}")
    lines.append(f"homes = [{', '.join(map(_text, config.homes))}]" if config.homes else '# homes = ["~/.hermes"]')
    lines += ["", "[refresh]"]
    lines += [f"{name} = {value:g}" for name, value in config.refresh.items()]
    lines += ["", "[thresholds]", *(f"{name} = {value}" for name, value in config.thresholds.items()), "", "[keys]"]
    for name, usual in keys.items():
        asked = config.keys.get(name)
        lines.append(f"{name} = {_text(asked)}" if asked is not None else f"# {name} = {_text(usual)}")
    return "\n".join(lines)


def _text(value: str) -> str:
    """A text of TOML. (Its escapes are those of JSON, but for the delete character.)"""
    return json_text.dumps(value).replace("\x7f", "\\u007f")


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="config")
