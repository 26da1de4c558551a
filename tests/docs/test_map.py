"""docs/architecture.md knows every file of the program, one line each."""

from __future__ import annotations

import re

from .pages import ROOT, page

PACKAGES = ("agent_ledger", "ledger_tui", "screens", "widgets")


def test_every_file_has_one_line() -> None:
    named = re.findall(r"^\| `([\w/]+\.(?:py|yaml))` \| \S", page("architecture.md"), re.M)
    there = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    there += (ROOT / "agent_ledger").glob("*.yaml")
    assert sorted(named) == sorted(str(path.relative_to(ROOT)) for path in there)


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    files = [path for folder in (*PACKAGES, "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    assert {str(path.relative_to(ROOT)): length for path, length in lengths.items() if length >= 400} == {}
