"""Runs command lines of ours in this process, and says what any of them must keep to."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ledger_tui.cli import run
from tests.terminal.judging import hazards


@dataclass(frozen=True)
class Said:
    line: tuple[str, ...]
    code: int
    out: str
    err: str


@contextlib.contextmanager
def _inside(folder: Path, home: Path) -> Iterator[None]:
    """The folder as the current one, the home as the current one, and no programs of the machine around."""
    names = ("HERMES_HOME", "PATH", "LEDGER_TUI_DEBUG", "COLUMNS")
    before, where = {name: os.environ.get(name) for name in names}, os.getcwd()
    os.environ.update({"HERMES_HOME": str(home), "PATH": str(folder)})
    os.environ.pop("LEDGER_TUI_DEBUG", None)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(where)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def speak(line: tuple[str, ...], folder: Path, home: Path, given: bytes = b"") -> Said:
    """One command line, with what it is given on standard input."""
    before = (sys.stdin, sys.stdout, sys.stderr)
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(given), "utf-8", "surrogateescape"), out, err
    try:
        with _inside(folder, home):
            code = run(list(line))
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    out.seek(0)
    err.seek(0)
    return Said(line, code, out.read(), err.read())


def proper(said: Said) -> Said:
    """What every command keeps to: a known exit code, plain text, and one sentence where it went wrong."""
    both = said.out + said.err
    assert said.code in (0, 1, 2, 3, 4), said
    assert "Traceback" not in both, said
    assert "defect of ledger-tui" not in both, said
    assert hazards(both) == [], said
    assert all(line.strip() for line in said.err.splitlines()), said
    if said.code in (2, 4):
        assert said.out == "", said
        assert said.err.count("\n") == 1, said
    if said.code == 3:
        assert said.err, said
    if "--json" in said.line and said.code in (0, 1) and not {"--help", "-h", "--version"} & set(said.line):
        assert said.out.isascii(), said
        assert json.loads(said.out) is not None, said
    return said
