"""Packages that only some commands need, and how to put one beside this very program, however that was installed."""

from __future__ import annotations

import shlex
import sys

PACKAGES = {"browser": "textual-serve>=1.1.3,<2", "postgresql": "psycopg[binary]>=3.2,<4"}
"""What each extra of `pyproject.toml` brings."""


def missing(what: str, extra: str) -> str:
    """One sentence: what cannot be done, and the command that changes it."""
    package = PACKAGES[extra]
    name = package.split(">")[0].split("[")[0]
    python = shlex.quote(sys.executable or "python3")
    return (
        f"{what} needs the package {name}, which is not installed here; this puts it beside the program:"
        f" {python} -m pip install {shlex.quote(package)}"
    )
