"""The text of a policy file, or why it is not used: the same for tools and for prompts."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PolicyError:
    """Why a policy file is not used. `line` counts from 1; 0 where the whole file is meant."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


def read_policy(path: Path, largest: int) -> str | PolicyError:
    """The text of a plain file of at most `largest` bytes. Never raises, never waits for a pipe."""
    file = str(path)
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            return PolicyError(file, 0, "it is no file")
        if info.st_size > largest:
            return PolicyError(file, 0, f"it is larger than {largest} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return PolicyError(file, 0, "it is not written in UTF-8")
    except (OSError, ValueError) as error:
        return PolicyError(file, 0, f"it cannot be read ({getattr(error, 'strerror', None) or error})")
