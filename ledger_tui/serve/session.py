"""One window of a browser: a process of the app, and what flows between the two."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
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

_TOLD_S = 2.0
"""How long a window may take to be told of that."""


class Session(AppService):
    """The process lives as long as the window: started with it, ended with it.

    `close` closes the window and waits for no browser that does not even read; `cut` lets go at once what it was still
    to be sent.
    """

    def __init__(
        self,
        command: Sequence[str],
        socket: web.WebSocketResponse,
        close: Callable[[], Awaitable[None]],
        cut: Callable[[], None],
    ) -> None:
        super().__init__(
            shlex.join(command),
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=DownloadManager(),
        )
        self._words = tuple(command)
        self._said = b""
        self._cut = cut
        self._parting = False

    async def take(self, message: object) -> None:
        """One message of the page, decoded: keys or a size. Others are passed over; the app always has the keys.

        Raises TimeoutError where the app has long taken none.
        """
        async with asyncio.timeout(_GRACE_S):
            match message:
                case ["stdin", str(keys)]:
                    await self.send_bytes(keys.encode("utf-8", "replace"))
                case ["resize", {"width": int(width), "height": int(height)}]:
                    await self.set_terminal_size(size(width), size(height))

    async def stop(self) -> None:
        """End the app, in the end by force, and wait until its process is gone."""
        process, reading = self._process, self._task
        if process is None or reading is None:
            return
        if not self._parting:
            self._cut()  # What the app still draws must flow, or it could not end.
        try:
            async with asyncio.timeout(_GRACE_S):
                await self.send_meta({"type": "quit"})
                self.stdin.close()
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        await reading

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
        while await stdout.read(_KEPT):  # It must flow even where it makes no sense.
            pass
        await listening
        failed = await self._process.wait() != 0
        self._parting = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_TOLD_S):
                if failed:
                    await self.on_data(last_words(self._said))
        await self.remote_close()

    async def on_data(self, payload: bytes) -> None:
        """Draw in the window. Where that is gone, what is still drawn must flow all the same."""
        try:
            await super().on_data(payload)
        except ConnectionError:
            pass
        except asyncio.CancelledError:
            # A ping that waited for the same, and was given up, takes this along; nobody meant us.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while said := await stderr.read(4096):
            self._said = (self._said + said)[-_KEPT:]

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        root = str(Path(ledger_tui.__file__).resolve().parents[1])
        environment = super()._build_environment(width, height)
        environment["TEXTUAL_DRIVER"] = DRIVER
        environment["TERM"] = "xterm-256color"
        environment["PYTHONPATH"] = os.pathsep.join((root, *_in_full(os.environ.get("PYTHONPATH", ""))))
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
    flags = sys.flags
    also = [flag for flag, given in (("-E", flags.ignore_environment), ("-s", flags.no_user_site)) if given]
    return [sys.executable, *also, "-P", "-m", "ledger_tui", *options]


def _in_full(path: str) -> list[str]:
    """The folders of a search path that are named in full; an empty one would mean the folder of the start, too."""
    return [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]


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
