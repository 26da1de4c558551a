"""Programs in pseudo-terminals of their own, and the moment at which a text arrives on one of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import selectors
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._homes import ROOT

TOKEN = re.compile(rb"tok\d{7}")
LINES, COLUMNS = 40, 120

_NOT_OURS = {"NO_COLOR", "TMUX", "TMUX_PANE", "LINES", "COLUMNS", "PYTHONDONTWRITEBYTECODE"}
"""What speaks of the terminal of whoever started the script; and an installed program is compiled once."""

APP = (
    "import sys; from pathlib import Path; from agent_ledger.engine.paths import Paths;"
    " from ledger_tui.app import make_app, run_blocking;"
    " sys.exit(run_blocking(make_app(Paths(Path(sys.argv[1])))))"
)

LOOP = """
import sqlite3, sys, time
from pathlib import Path
path = Path(sys.argv[1]) / "plugin-data" / "agent-ledger" / "ledger.db"
db = sqlite3.connect(path.as_uri() + "?mode=ro", uri=True, isolation_level=None)
((last,),) = db.execute("SELECT coalesce(max(id), 0) FROM ledger").fetchall()
version = None
while True:
    ((now,),) = db.execute("PRAGMA data_version").fetchall()
    if now != version:
        version = now
        for last, ts, tool, status, args in db.execute(
            "SELECT id, ts, tool_name, status, args_json FROM ledger WHERE id > ? ORDER BY id", (last,)
        ).fetchall():
            print(ts, tool, status, args[:80], flush=True)
    time.sleep(0.1)
"""
"""The bare loop: it asks `data_version` every 100 ms and prints the rows that are new."""


class Pane:
    """A program in a terminal of 120x40."""

    def __init__(self, program: str, home: Path) -> None:
        self.started = time.monotonic()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        env = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
        env.update(
            {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT), "TEXTUAL_ANIMATIONS": "none"}
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(home)],
            stdin=slave, stdout=slave, stderr=slave, env=env, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen: dict[str, float] = {}
        """Token to the moment (monotonic seconds) at which it first came."""
        self.latest: dict[str, float] = {}
        """The same for the last time."""
        self.wrote_at = 0.0
        """When it last wrote anything."""
        self._rest = b""

    def read(self) -> None:
        """Take what has come; call it when the terminal is readable."""
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        self.wrote_at = at = time.monotonic()
        text = self._rest + data
        end = 0
        for found in TOKEN.finditer(text):
            token = found.group().decode()
            self.seen.setdefault(token, at)
            self.latest[token] = at
            end = found.end()
        # A token may arrive in two halves; one that was counted must not be counted again.
        self._rest = text[max(end, len(text) - 9) :]

    def press(self, keys: str) -> float:
        """Type; the moment at which the keys were on their way."""
        at = time.monotonic()
        os.write(self.master, keys.encode())
        return at

    def cpu_s(self) -> float:
        """Processor time of all its threads so far, in seconds."""
        total = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def memory_mb(self) -> float:
        """Resident memory now, in MB."""
        return memory_mb(self.process.pid)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


def memory_mb(pid: int) -> float:
    """Resident memory of a process now, in MB; 0 where there is none left."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


class Watcher:
    """Reads several panes at once."""

    def __init__(self, panes: Sequence[Pane]) -> None:
        self._selector = selectors.DefaultSelector()
        for pane in panes:
            self._selector.register(pane.master, selectors.EVENT_READ, pane)

    def run(self, seconds: float) -> None:
        """Read for that long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.once(left)

    def once(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            key.data.read()

    def until(self, pane: Pane, token: str, *, after: float = 0.0, patience_s: float = 30.0) -> float:
        """The moment at which the token came on `pane`, after a moment; not a number when it does not come."""
        end = time.monotonic() + patience_s
        while (left := end - time.monotonic()) > 0:
            if pane.latest.get(token, -1.0) > after:
                return pane.latest[token]
            self.once(min(left, 0.5))
        return float("nan")


@contextlib.contextmanager
def panes(*programs: tuple[str, Path]) -> Iterator[tuple[list[Pane], Watcher]]:
    """Programs running side by side, ended afterwards."""
    running: list[Pane] = []
    try:
        for program, home in programs:
            running.append(Pane(program, home))
        yield running, Watcher(running)
    finally:
        for pane in running:
            pane.close()
