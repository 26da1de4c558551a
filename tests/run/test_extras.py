"""Packages that only some commands need: the advice to install them fits this program, wherever it was installed."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from ledger_tui.extras import PACKAGES, missing

ROOT = Path(__file__).parents[2]


def test_the_packages_are_those_of_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra, package in PACKAGES.items():
        assert extras[extra] == [package]


def test_the_advice_is_for_this_very_python_and_asks_no_index_for_our_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/kim's tools/bin/python")
    told = missing("The browser view", "browser")
    assert told == (
        "The browser view needs the package textual-serve, which is not installed here; this puts it beside the"
        " program: '/opt/kim'\"'\"'s tools/bin/python' -m pip install 'textual-serve>=1.1.3,<2'"
    )
    for extra in PACKAGES:
        assert "install ledger-tui" not in missing("It", extra)
        assert "'ledger-tui" not in missing("It", extra)
