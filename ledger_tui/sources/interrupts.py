"""Ctrl-C while SQLite is at a statement of seconds: without this, Python hears of it only when that has ended."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_STEPS = 20_000
"""Steps of SQLite's machine between two looks: a fraction of a millisecond."""


@contextmanager
def ended_by_ctrl_c(connection: sqlite3.Connection) -> Iterator[None]:
    """Inside, Ctrl-C ends the running statement, and then raises KeyboardInterrupt.

    Only where Ctrl-C would raise that anyway: in the main thread, and where nobody else handles the signal, as the app
    does. The connection must have no progress handler of its own.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
        yield
        return
    pressed = threading.Event()

    def note(*_: Any) -> None:
        pressed.set()

    signal.signal(signal.SIGINT, note)
    connection.set_progress_handler(pressed.is_set, _STEPS)
    try:
        yield
    except sqlite3.OperationalError:
        if not pressed.is_set():
            raise
    finally:
        connection.set_progress_handler(None, 0)
        signal.signal(signal.SIGINT, usual)
    if pressed.is_set():
        raise KeyboardInterrupt
