"""The program's front door: `ledger-tui`, and `python -m ledger_tui`."""

import sys

from ledger_tui import tmux_line


def main() -> None:
    """Run the command line and leave with its exit code. The tmux line is answered before anything heavy loads."""
    if tmux_line.answer(sys.argv[1:]):
        return
    from ledger_tui.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
