"""A person's own settings: `config.toml` in the folder that this system keeps for settings. Read, never written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from ledger_tui.sources.small_files import read_bytes

_MOST_BYTES = 100_000

REFRESH: Mapping[str, float] = {"ledger_s": 0.04, "sessions_s": 0.5}
"""Least seconds between two looks of the app, and what they are unless told."""

THRESHOLDS: Mapping[str, int] = {"calls_listed": 200, "calls_scored": 20_000, "sessions_surveyed": 20_000}
"""How many are shown or worked out without being asked for, and what they are unless told."""

_SLOWEST_S = 3600.0
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class Config:
    """What counts. `theme` is "" for the program's own; `keys` has names of actions in the app to their keys.

    `homes` are those that `--all-profiles` is about where none is named; none for the usual one.
    """

    theme: str = ""
    plain: bool = False
    refresh: Mapping[str, float] = field(default_factory=lambda: REFRESH)
    thresholds: Mapping[str, int] = field(default_factory=lambda: THRESHOLDS)
    keys: Mapping[str, str] = field(default_factory=dict)
    homes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as it was found. Where anything in it is wrong, `config` is what counts without a file."""

    path: Path
    exists: bool
    config: Config
    problems: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What is wrong, in one sentence; "" where nothing is."""
        if not self.problems:
            return ""
        more = f" (and {len(self.problems) - 1} more; see: ledger-tui config check)" if self.problems[1:] else ""
        return f"{self.path} is not used: {self.problems[0]}{more}."


def config_path() -> Path:
    """Where the file belongs; `$XDG_CONFIG_HOME` counts where the system knows it."""
    return platformdirs.user_config_path("ledger-tui", appauthor=False) / "config.toml"


def load(path: Path | None = None) -> Loaded:
    """The file at `path`, else at its place. Raises nothing: what cannot be used is named instead."""
    path = path or config_path()
    try:
        text = read_bytes(path, _MOST_BYTES + 1).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Loaded(path, False, Config())
    except UnicodeDecodeError:
        return Loaded(path, True, Config(), ("it is no UTF-8 text",))
    except OSError as error:
        return Loaded(path, True, Config(), (f"it cannot be read ({error.strerror or error})",))
    if len(text.encode()) > _MOST_BYTES:
        return Loaded(path, True, Config(), (f"it is larger than {_MOST_BYTES:,} bytes",))
    config, problems = parsed(text)
    return Loaded(path, True, Config() if problems else config, tuple(problems))


def parsed(text: str) -> tuple[Config, list[str]]:
    """The settings in a file's text, and everything that is wrong with it."""
    try:
        found = tomllib.loads(text.removeprefix("\ufeff"))  # A mark with which editors of Windows begin a file.
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        return Config(), [f"it is no TOML ({error})"]
    problems: list[str] = []
    theme = found.pop("theme", "")
    if not isinstance(theme, str):
        problems.append("theme must be a text")
    plain = found.pop("plain", False)
    if not isinstance(plain, bool):
        problems.append("plain must be true or false")
    refresh = _numbers(found, "refresh", REFRESH, _SLOWEST_S, problems)
    thresholds = _numbers(found, "thresholds", THRESHOLDS, _MOST, problems)
    keys = _keys(found.pop("keys", {}), problems)
    homes = _texts(found.pop("homes", []), "homes", problems)
    problems += [f"there is no setting {name!r}" for name in found]
    whole = {name: int(value) for name, value in thresholds.items()}
    return Config(str(theme), bool(plain), {**REFRESH, **refresh}, {**THRESHOLDS, **whole}, keys, homes), problems


def _texts(found: Any, name: str, problems: list[str]) -> tuple[str, ...]:
    """A list of texts, none of them empty."""
    if isinstance(found, list) and all(isinstance(one, str) and one for one in found):
        return tuple(found)
    problems.append(f"{name} must be a list of texts")
    return ()


def _numbers(
    found: dict[str, Any], table: str, known: Mapping[str, float], most: float, problems: list[str]
) -> dict[str, float]:
    """The numbers of one table. Thresholds are whole ones, of one or more."""
    values = found.pop(table, {})
    if not isinstance(values, dict):
        problems.append(f"{table} must be a table")
        return {}
    good: dict[str, float] = {}
    for name, value in values.items():
        if name not in known:
            problems.append(f"there is no setting {f'{table}.{name}'!r}; there are {', '.join(known)}")
            continue
        least = min(1, known[name])
        right = isinstance(value, (type(known[name]), int)) and not isinstance(value, bool)
        if right and least <= value <= most:
            good[name] = value
        else:
            kind = "a whole number" if isinstance(known[name], int) else "a number"
            problems.append(f"{table}.{name} must be {kind} from {least:g} to {most:,.0f}")
    return good


def _keys(found: Any, problems: list[str], start: str = "") -> dict[str, str]:
    """Actions to keys; `calls.filter = "f"` is a table in a table for TOML, and the same for us in quotes."""
    if not isinstance(found, dict):
        problems.append("keys must be a table")
        return {}
    good: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            good |= _keys(value, problems, f"{start}{name}.")
        elif isinstance(value, str) and value.strip():
            good[f"{start}{name}"] = ",".join(key.strip() for key in value.split(","))
        else:
            problems.append(f"keys.{start}{name} must be a text such as 'f' or 'slash,ctrl+f'")
    return good
