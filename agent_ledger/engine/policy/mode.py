"""Mode files of one word: `off`, `dry_run`, `enforce`. Another word leaves the last valid one in force."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

OFF, DRY_RUN, ENFORCE = "off", "dry_run", "enforce"
MODES = (OFF, DRY_RUN, ENFORCE)
INVALID = "invalid"

LONGEST = 256
"""Bytes that are read; a mode is one word."""

_CAREFULLY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
"""Without waiting for the other end of a pipe."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What a mode file says. `value` is one of MODES, or `invalid` where `valid` is false; `raw` is its text."""

    value: str
    valid: bool
    raw: str


def _start(path: Path) -> bytes:
    descriptor = os.open(path, _CAREFULLY)
    try:
        return os.read(descriptor, LONGEST)
    finally:
        os.close(descriptor)


def mode_of(path: Path) -> Mode:
    """The mode in this file; `off` where there is none. Never raises: what cannot be read is invalid."""
    try:
        raw = _start(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return Mode(OFF, True, "")
    except (OSError, ValueError) as error:
        return Mode(INVALID, False, f"({getattr(error, 'strerror', None) or error})")
    word = raw.strip().removeprefix("\ufeff")
    return Mode(word, True, raw) if word in MODES else Mode(INVALID, False, raw)


class ModeFile:
    """A mode file that is asked again and again: the last valid word stays in force."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._in_force = OFF
        self.last = Mode(OFF, True, "")
        """What the file said when it was asked last."""

    def value(self) -> str:
        """The mode in force: off, dry_run or enforce."""
        self.last = mode_of(self.path)
        if self.last.valid:
            self._in_force = self.last.value
        return self._in_force
