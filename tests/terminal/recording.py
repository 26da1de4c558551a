"""Terminals that keep every byte which was sent to them: a real tmux, and a pseudo-terminal."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from tests.app.terminals import Pty, Tmux


class State(NamedTuple):
    """What a terminal is left in, and what was asked of it."""

    title: str
    window: str
    bell: str
    modes: str
    margins: str
    clipboard: str


_ALLOWED = (
    ("s", "set-clipboard", "on"), ("g", "allow-passthrough", "on"), ("w", "allow-rename", "on"),
    ("w", "automatic-rename", "off"), ("w", "monitor-bell", "on"),
)  # fmt: skip
"""Scope, option and value; one that this tmux does not know is passed over."""


class RecordedTmux(Tmux):
    """A tmux that allows programs everything: titles, names, the clipboard, and what they send through it."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], size: tuple[int, int]) -> None:
        self._argv = list(argv)
        self._env = {name: value for name, value in environ.items() if name not in {"NO_COLOR", "TMUX", "TMUX_PANE"}}
        self._folder = tempfile.TemporaryDirectory(prefix="recorded-")
        self._file = Path(self._folder.name) / "raw"
        self._open(size)

    def _open(self, size: tuple[int, int]) -> None:
        self._socket = f"ledger-tui-{os.getpid()}-{time.monotonic_ns()}"
        # Not before the recorder listens; and the shell keeps the pane, so that what was left behind can be seen.
        command = f"stty -echo; read go; stty echo; {shlex.join(self._argv)}; echo left with $?; sleep 600"
        self._tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-n", "recorded", command)
        for scope, name, value in _ALLOWED:
            self._tmux("set-option", f"-q{scope}", name, value)
        self._tmux("pipe-pane", "-o", f"cat > {self._file}; mv {self._file} {self._file}.whole")
        self.before = self.state()
        self._tmux("send-keys", "Enter")

    def raw(self) -> bytes:
        """Everything so far. Once the program has ended, really everything."""
        whole = Path(f"{self._file}.whole")
        if not self.running():
            self._tmux("pipe-pane")
            self.wait(whole.exists, "the end of the record")
        return (whole if whole.exists() else self._file).read_bytes()

    def state(self) -> State:
        told = self._tmux(
            "display-message", "-p",
            "#{pane_title}\t#{window_name}\t#{window_bell_flag}\t#{alternate_on} #{mouse_any_flag} #{origin_flag}"
            " #{keypad_flag} #{insert_flag} #{wrap_flag} #{cursor_flag} #{pane_width}x#{pane_height}"
            "\t#{scroll_region_upper} #{scroll_region_lower}\t",
        )  # fmt: skip
        title, window, bell, modes, margins, *_ = told.split("\t")
        return State(title, window, bell, modes, margins, self._tmux("list-buffers").strip())

    def coloured(self) -> str:
        """What is seen with its colours and links, as sequences."""
        return self._tmux("capture-pane", "-e", "-p")

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


class RecordedPty(Pty):
    """The same of the raw bytes, where there is no tmux."""

    _KEYS: ClassVar[dict[str, str]] = {**Pty._KEYS, "C-p": "\x10"}

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], size: tuple[int, int]) -> None:
        self._argv = list(argv)
        self._env = {name: value for name, value in environ.items() if name not in {"NO_COLOR", "TMUX", "TMUX_PANE"}}
        self._record = bytearray()
        self._open(size)

    def _take(self, data: bytes) -> None:
        self._record += data
        super()._take(data)

    def raw(self) -> bytes:
        self._read()
        return bytes(self._record)


Recorded = RecordedTmux | RecordedPty
Kind = Callable[[Sequence[str], Mapping[str, str], tuple[int, int]], Recorded]
