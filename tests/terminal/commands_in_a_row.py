"""Runs every command line on the current home, one after the other, as a person would see them: `python THIS`."""

from __future__ import annotations

import sys

from ledger_tui.cli import run
from tests.terminal.lines import LINES


def main() -> None:
    for line in LINES:
        run(list(line))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
