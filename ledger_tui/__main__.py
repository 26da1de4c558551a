"""The program's front door: `ledger-tui`, and `python -m ledger_tui`."""

import os
import sys

from ledger_tui import quick_start, tmux_line


def main() -> None:
    """Run the command line and leave with its exit code. The tmux line is answered before anything heavy loads."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - open until the end
    if sys.stdout is None or sys.stderr is None:  # Started with one of them closed.
        nowhere = open(os.devnull, "w")  # noqa: SIM115 - open until the end
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    try:
        if tmux_line.answer(sys.argv[1:]):
            return
        code = quick_start.opened(sys.argv[1:], os.environ)
        if code is None:
            code = _commanded(sys.argv[1:])
    except KeyboardInterrupt:  # While everything was still being loaded, or a busy ledger waited for.
        code = 130
    except ModuleNotFoundError as missing:
        # The plugin alone was installed, as into a host's own environment; the tmux line needs no more.
        print(
            f"ledger-tui: the Python package {missing.name!r} is not installed here;"
            " install ledger-tui with its dependencies into an environment of its own.",
            file=sys.stderr,
        )
        code = 3
    sys.exit(code)


def _commanded(argv: list[str]) -> int:
    from ledger_tui.loading import loading

    with loading():
        from ledger_tui.cli import run
    return run(argv)


if __name__ == "__main__":
    main()
