"""One window of a browser: a process of the app, and what flows between the two."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

import ledger_tui
from agent_ledger.engine.inert import inert

from . import DRIVER

_READY = b"__GANGLION__\n"
"""With this line the app's process says that it is one."""

_LONGEST = 500
"""Cells of a window in either direction; more is no window."""

_GRACE_S = 20.0
"""How long an app may take to end by itself: it finishes what it writes."""

_KEPT = 65_536
"""Bytes of what an app said at its end."""


class Session(AppService):
    """The process lives as long as the window: started with it, ended with it."""

    def __init__(self, command: Sequence[str], socket: web.WebSocketResponse) -> None:
        async def close() -> None:
            await socket.close()

        super().__init__(
            shlex.join(command),
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=DownloadManager(),
        )
        self._words = tuple(command)
        self._said = b""
        self._ending = asyncio.Lock()

    async def take(self, message: object) -> None:
        """One message of the page, decoded: keys or a size. Others are passed over; the app always has the keys."""
        match message:
            case ["stdin", str(keys)]:
                await self.send_bytes(keys.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await self.set_terminal_size(size(width), size(height))

    async def stop(self) -> None:
        """End the app, in the end by force, and wait until its process is gone."""
        async with self._ending:
            process, reading = self._process, self._task
            if process is None or reading is None:
                return
            await self.send_meta({"type": "quit"})
            self.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), _GRACE_S)
            except TimeoutError:
                process.kill()
                await process.wait()
            await reading
            self._task = None

    async def run(self) -> None:
        """Hand on what the app draws until its process ends, then close the window."""
        assert self._process is not None
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None
        assert stderr is not None
        listening = asyncio.create_task(self._listen(stderr))
        with suppress(asyncio.IncompleteReadError, ValueError):
            line = await stdout.readline()
            while line not in (_READY, b""):
                line = await stdout.readline()
            while line:
                kind, length = await stdout.readexactly(1), await stdout.readexactly(4)
                payload = await stdout.readexactly(int.from_bytes(length, "big"))
                if kind == b"D":
                    await self.on_data(payload)
        await listening
        if await self._process.wait():
            await self.on_data(last_words(self._said))
        with suppress(ConnectionError):
            await self.remote_close()

    async def on_data(self, payload: bytes) -> None:
        with suppress(ConnectionError):  # The window is gone; what is still drawn must flow all the same.
            await super().on_data(payload)

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while said := await stderr.read(4096):
            self._said = (self._said + said)[-_KEPT:]

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        root = str(Path(ledger_tui.__file__).resolve().parents[1])
        environment = super()._build_environment(width, height)
        environment["TEXTUAL_DRIVER"] = DRIVER
        environment["TERM"] = "xterm-256color"
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        return environment

    async def _open_app_process(self, width: int = 80, height: int = 24) -> asyncio.subprocess.Process:
        self._process = process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,  # Ctrl-C in the server's terminal is for the server.
        )
        assert process.stdin is not None
        self._stdin = process.stdin
        return process


def app_command(options: Sequence[str]) -> list[str]:
    """The command line of the app itself; nothing is imported from the folder in which it is started."""
    return [sys.executable, "-P", "-m", "ledger_tui", *options]


def size(cells: int) -> int:
    """So many cells as a window may have."""
    return min(max(cells, 1), _LONGEST)


def last_words(said: bytes) -> bytes:
    """What a person is told of an app that ended badly: the last line that it wrote on standard error."""
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return words(lines[-1].strip() if lines else "The app ended by an error.")


def words(text: str) -> bytes:
    """A line of our own on a page where no app draws, or none any more."""
    return f"\x1b[?1049l\x1b[?25l\x1b[2J\x1b[H\r\n{inert(text)}\r\n".encode()
