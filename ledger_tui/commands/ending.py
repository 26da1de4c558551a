"""How whatever is run ends: in one exit code, and in one sentence where something is wrong. Never a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable

from ledger_tui.commands.errors import UNREADABLE, CommandError
from ledger_tui.commands.output import warn
from ledger_tui.sources.guard import SourceError

INTERRUPTED = 130


def guarded(act: Callable[[], object]) -> int:
    """Do it. Returns the exit code: what `act` returned, else 0; what it raised is told in a sentence."""
    try:
        code = act()
    except CommandError as error:
        warn(error.text)
        return error.code
    except SourceError as error:
        warn(str(error))
        return UNREADABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        leave_pipe()
        warn(f"{error.filename or 'The output'} cannot be read or written ({error.strerror or error}).")
        return UNREADABLE
    except Exception as error:
        if os.environ.get("LEDGER_TUI_DEBUG"):
            raise
        warn(
            f"This is a defect of ledger-tui, not yours: {type(error).__name__}: {error}."
            " Set LEDGER_TUI_DEBUG=1 to see where, and please report it."
        )
        return UNREADABLE
    return code if isinstance(code, int) else 0


def leave_pipe() -> None:
    """Nobody takes our output any more. Nothing may complain about that at exit either."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
