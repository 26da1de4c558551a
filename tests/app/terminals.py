"""Terminals to run the app in: a real tmux, or a pseudo-terminal with an emulator where there is no tmux."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pyte

ROOT = Path(__file__).resolve().parents[2]
HAVE_TMUX = shutil.which("tmux") is not None
PATIENCE_S = 60.0

_RUN = (
    "import sys; from pathlib import Path; from agent_ledger.engine.paths import Paths;"
    " from ledger_tui.app import make_app, run_blocking;"
    " sys.exit(run_blocking(make_app(Paths(Path(sys.argv[1])))))"
)


class Terminal(ABC):
    """The app, running on a home in a terminal of a size."""

    def __init__(self, home: Path, size: tuple[int, int]) -> None:
        self._argv = [sys.executable, "-c", _RUN, str(home.resolve())]
        self._env = {
            name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TMUX", "TMUX_PANE"}
        } | {"PYTHONPATH": str(ROOT), "TEXTUAL_ANIMATIONS": "none", "LC_ALL": "C.UTF-8"}
        self._open(size)

    @abstractmethod
    def _open(self, size: tuple[int, int]) -> None: ...

    @abstractmethod
    def screen(self) -> str:
        """What is seen, as text."""

    @abstractmethod
    def title(self) -> str: ...

    @abstractmethod
    def send(self, *keys: str) -> None:
        """Press keys: single characters, or names that tmux knows."""

    @abstractmethod
    def resize(self, columns: int, lines: int) -> None: ...

    @abstractmethod
    def running(self) -> bool: ...

    @abstractmethod
    def close(self) -> None: ...

    def until(self, *parts: str) -> str:
        """Wait until all of it is seen; gives the screen."""
        self.wait(lambda: all(part in self.screen() for part in parts), repr(parts))
        return self.screen()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, f"{what} did not come about:\n{self.screen()}"
            time.sleep(0.05)


class Tmux(Terminal):
    """A tmux server of its own, on a socket of its own."""

    def _open(self, size: tuple[int, int]) -> None:
        self._socket = f"ledger-tui-{os.getpid()}-{time.monotonic_ns()}"
        # The shell after the app keeps the pane, so that what the app left behind can be seen.
        command = f"{shlex.join(self._argv)}; echo left with $?; sleep 60"
        self._tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), command)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-L", self._socket, *arguments],
            env=self._env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def title(self) -> str:
        return self._tmux("display-message", "-p", "#{pane_title}").strip()

    def send(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def running(self) -> bool:
        return "left with" not in self.screen()

    def close(self) -> None:
        self._tmux("kill-server")


class Pty(Terminal):
    """A pseudo-terminal, its output read by an emulator."""

    _KEYS: ClassVar[dict[str, str]] = {"Enter": "\r", "Tab": "\t", "Escape": "\x1b", "Down": "\x1b[B", "Up": "\x1b[A"}

    # Sequences with a private marker that the emulator would take for others, or print.
    _UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1bP[^\x1b]*\x1b\\")

    def _open(self, size: tuple[int, int]) -> None:
        self._emulator = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._emulator)
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(ROOT)
            os.execvpe(self._argv[0], self._argv, self._env | {"TERM": "xterm-256color"})
        self._status: int | None = None
        self.resize(*size)

    def _read(self) -> None:
        while select.select([self._fd], [], [], 0)[0]:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                return
            if not data:
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        self._stream.feed(self._UNKNOWN.sub(b"", data))

    def screen(self) -> str:
        self._read()
        return "\n".join(line.rstrip() for line in self._emulator.display)

    def title(self) -> str:
        self._read()
        return str(self._emulator.title)

    def send(self, *keys: str) -> None:
        for key in keys:
            os.write(self._fd, self._KEYS.get(key, key).encode())
            time.sleep(0.02)

    def resize(self, columns: int, lines: int) -> None:
        self._read()
        self._emulator.resize(lines, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.kill(self._pid, signal.SIGWINCH)

    def running(self) -> bool:
        self._read()
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status is None

    def close(self) -> None:
        if self.running():
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)


def confirm_repair(terminal: Terminal, orphan: str) -> None:
    """By keys alone, from the first screen to the last word before a lost conversation is taken back."""
    terminal.until("Sessions", "missing")
    terminal.send("3")
    terminal.until("◉ 1 zombie", "after repair", orphan)
    terminal.send("r")
    terminal.until("1 Safety", "leases:")
    terminal.send("n")
    terminal.until("2 Findings", "goes on from")
    terminal.send("n")
    terminal.until("1 row would be taken back")
    terminal.send("n")
    terminal.wait(lambda: "An empty line closes" in terminal.screen(), "a question")
    if "Type stopped" in terminal.screen():  # Where processes cannot be looked into, a person says so.
        terminal.send(*"stopped", "Enter")
        terminal.until("Type repair")
    terminal.send(*"repair", "Enter")
