"""`settings.json` beside the ledger: grace periods, redaction, durability. Read again whenever it changes."""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .inert import clip, inert

LONGEST_S = 1e9
"""Longest period that counts as a number of seconds: some thirty years."""

DURABILITY = ("normal", "full")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person may change. `problems` names every entry that was not usable; its default stands."""

    grace_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds per tool name; the key `default` for every tool without an entry of its own."""
    redact: bool = True
    """Take secrets out of arguments and results before they reach the disk."""
    durability: str = "normal"
    """`normal`: a power cut may cost the last records; `full`: it does not, and each call waits for the disk."""
    repeat_window_seconds: float = 1800.0
    """How long an identical call counts as a repeat."""
    problems: tuple[str, ...] = ()


def parse(text: str) -> Settings:
    """Settings from the file's text. Never raises: what is wrong is listed in `problems`."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))  # A mark with which editors of Windows begin a file.
    except (ValueError, RecursionError) as error:
        return Settings(problems=(f"settings.json is no JSON ({error}); defaults are used",))
    if not isinstance(data, dict):
        return Settings(problems=("settings.json is no JSON object; defaults are used",))
    settings, problems = Settings(), []
    for name, value in data.items():
        reader = _READERS.get(name)
        if reader is None:
            problems.append(f"settings.json: unknown entry {clip(repr(name), 80)}")
            continue
        if name == "grace_seconds" and isinstance(value, dict):
            value, bad = _usable_graces(value)
            problems += bad
        try:
            settings = replace(settings, **{name: reader(value)})
        except ValueError as error:
            problems.append(f"settings.json: {name}: {error}")
    return replace(settings, problems=tuple(problems))


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_S:
        raise ValueError(f"{clip(repr(value), 80)} is not a number of seconds")
    return float(value)


def _usable_graces(value: dict[str, Any]) -> tuple[dict[str, float], list[str]]:
    """The entries that can be used, and what is wrong with the others: one of them does not spoil the rest."""
    good: dict[str, float] = {}
    bad: list[str] = []
    for tool, seconds in value.items():
        try:
            good[tool] = _seconds(seconds)
        except ValueError as error:
            bad.append(f"settings.json: grace_seconds: {inert(clip(tool, 80))}: {error}")
    return good, bad


def _grace(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ValueError("must be an object of tool names and seconds")
    return dict(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{clip(repr(value), 80)} is neither true nor false")
    return value


def _durability(value: Any) -> str:
    if value not in DURABILITY:
        raise ValueError(f"{clip(repr(value), 80)} is none of {', '.join(DURABILITY)}")
    return str(value)


_READERS: dict[str, Any] = {
    "grace_seconds": _grace,
    "redact": _flag,
    "durability": _durability,
    "repeat_window_seconds": _seconds,
}


class SettingsFile:
    """The settings of one home, read again when the file changed; asked at most once a second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark: tuple[int, int, int] | None = None
        self._asked = -math.inf
        self._settings = Settings()

    def get(self, mono_now: float) -> Settings:
        """Current settings; `mono_now` is a monotonic clock in seconds."""
        if mono_now - self._asked < 1.0:
            return self._settings
        self._asked = mono_now
        try:
            info = self._path.stat()
            mark = (info.st_mtime_ns, info.st_size, info.st_ino)
            if not stat.S_ISREG(info.st_mode):
                raise OSError("not a file")
            if mark != self._mark:
                self._settings = parse(self._path.read_text(encoding="utf-8"))
                self._mark = mark
        except FileNotFoundError:
            self._settings, self._mark = Settings(), None
        except (OSError, ValueError) as error:
            self._settings = replace(self._settings, problems=(f"settings.json cannot be read ({error})",))
        return self._settings
