"""Runs the real program in a process of its own, for the tests of what it touches and what it lets out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a person's shell would give, with nothing of this machine but where its programs lie."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home.parent),
        "HERMES_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
        **(more or {}),
    }


def run(
    home: Path, *arguments: str, program: Sequence[str] = ("-m", "ledger_tui"), umask: int = 0o022,
    env: Mapping[str, str] | None = None,
) -> Result:  # fmt: skip
    """`ledger-tui ARGUMENTS` on a home, in the folder that the home lies in."""
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        env=environment(home, env),
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        umask=umask,
    )
    return Result(done.returncode, done.stdout, done.stderr)
