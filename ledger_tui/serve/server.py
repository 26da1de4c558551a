"""The server: the page, the few files it needs, and the sockets of its windows. It listens on 127.0.0.1 only."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket as sockets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web

from .crowd import BACKLOG, Crowd
from .guard import Guard, headers
from .session import Session, size, words

LIMIT = 4
"""Windows at once: each is a process of the app."""

_FULL = f"{LIMIT} windows are open already. Close one of them, then load this page again."

_OURS = Path(__file__).parent / "page"
_THEIRS = Path(textual_serve.__file__).parent / "static"

FILES = {
    "page.css": _OURS / "page.css",
    "page.js": _OURS / "page.js",
    "textual.js": _THEIRS / "js" / "textual.js",
    "xterm.css": _THEIRS / "css" / "xterm.css",
    "mono.ttf": _THEIRS / "fonts" / "RobotoMono-VariableFont_wght.ttf",
    "mono-italic.ttf": _THEIRS / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf",
}
"""Everything that the page loads, by its name there."""

_BIGGEST_MESSAGE = 1_048_576

_CLOSING_S = 2.0

_HEARTBEAT_S = 15.0
"""So often a silent browser is asked whether it is there; half of that later it must have said so."""

_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")


def listen(port: int) -> sockets.socket:
    """A socket on 127.0.0.1; port 0 takes a free one. Raises OSError."""
    return sockets.create_server(("127.0.0.1", port))


@dataclass(frozen=True, eq=False, slots=True)
class _Window:
    """A window that is open, or whose app has not ended yet."""

    request: web.Request
    socket: web.WebSocketResponse

    async def close(self, code: WSCloseCode = WSCloseCode.OK) -> None:
        """As it is proper, as long as the browser plays its part."""
        with suppress(TimeoutError, ConnectionError):
            await asyncio.wait_for(self.socket.close(code=code), 2 * _CLOSING_S)
        self.cut()

    def cut(self) -> None:
        """At once; what was not read by now is not sent."""
        if self.request.transport is not None:
            self.request.transport.abort()


class Server:
    """Serves the app that `command` starts, to windows that know the secret."""

    def __init__(self, command: Sequence[str], guard: Guard) -> None:
        self._command = tuple(command)
        self._guard = guard
        self._open: list[_Window] = []
        self._changed = asyncio.Condition()
        self._ended = False
        self._page = Template((_OURS / "page.html").read_text(encoding="utf-8"))

    @asynccontextmanager
    async def running(self, listening: sockets.socket) -> AsyncIterator[None]:
        """Serves inside; afterwards every window is closed and every process of the app gone."""
        app = web.Application(middlewares=[self._guarded])
        app.add_routes(
            [
                web.get("/{secret}/", self._index),
                web.get("/{secret}/ws", self._window),
                web.get("/{secret}/{file}", self._file),
            ]
        )
        app.on_response_prepare.append(_with_headers)
        app.on_shutdown.append(self._close)
        # No log of requests: the secret is in each of them.
        runner = web.AppRunner(app, access_log=None, logger=_silent(), shutdown_timeout=_CLOSING_S)
        await runner.setup()
        assert runner.server is not None
        crowd = Crowd(runner.server, lambda: [window.request.protocol for window in self._open])
        answering = await asyncio.get_running_loop().create_server(crowd, sock=listening, backlog=BACKLOG)
        try:
            yield
        finally:
            answering.close()
            await runner.cleanup()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        status = self._guard.refusal(
            request.headers.getall("Host", []),
            request.headers.getall("Origin", []),
            request.path,
            socket=request.headers.get("Upgrade") is not None,
        )
        if status is not None:
            return web.Response(status=status, text=f"{status}\n")
        response: web.StreamResponse = await handler(request)
        return response

    async def _index(self, request: web.Request) -> web.Response:
        address = f"ws://{request.headers['Host']}/{self._guard.secret}/ws"
        return web.Response(text=self._page.substitute(socket=address), content_type="text/html", charset="utf-8")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = FILES.get(request.match_info["file"])
        if path is None:
            raise web.HTTPNotFound(text="404\n")
        return web.FileResponse(path)

    async def _window(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(
            timeout=_CLOSING_S, heartbeat=_HEARTBEAT_S, compress=False, max_msg_size=_BIGGEST_MESSAGE
        )
        window = _Window(request, socket)
        if not await self._enter(window):
            await socket.prepare(request)
            with suppress(ConnectionError):
                await socket.send_bytes(words(_FULL))
            await window.close(WSCloseCode.TRY_AGAIN_LATER)
            return socket
        try:
            await socket.prepare(request)
            await self._talk(window)
        finally:
            async with self._changed:
                self._open.remove(window)
                self._changed.notify_all()
        return socket

    async def _enter(self, window: _Window) -> bool:
        """Is there a place? One that is about to be left is waited for: such is a page that is loaded again."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._ended or len(self._open) < LIMIT or not any(one.socket.closed for one in self._open)
            )
            if self._ended:
                raise web.HTTPServiceUnavailable
            if len(self._open) >= LIMIT:
                return False
            self._open.append(window)
            return True

    async def _talk(self, window: _Window) -> None:
        """As long as the window is open and its app lives. Afterwards the process is gone."""
        session = Session(self._command, window.socket, window.close, window.cut)
        size_ = _asked(window.request, "width", 80), _asked(window.request, "height", 24)
        try:
            await session.start(*size_)
        except OSError as error:
            with suppress(ConnectionError):
                await window.socket.send_bytes(words(f"The app cannot be started ({error.strerror})."))
            await window.close()
            return
        try:
            with suppress(TimeoutError):
                async for message in window.socket:
                    if message.type is WSMsgType.TEXT:
                        await session.take(_decoded(message.data))
        finally:
            await session.stop()

    async def _close(self, _: web.Application) -> None:
        self._ended = True
        async with self._changed:
            self._changed.notify_all()
        await asyncio.gather(*(window.close(WSCloseCode.GOING_AWAY) for window in list(self._open)))
        async with self._changed:
            await self._changed.wait_for(lambda: not self._open)


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    # Where the name is not ours the answer is a refusal; it needs no place to connect to.
    response.headers.update(headers(request.headers.get("Host", "") if response.status < 400 else "127.0.0.1"))


def _asked(request: web.Request, name: str, default: int) -> int:
    value = request.query.get(name, "")
    return size(int(value) if value.isascii() and value.isdecimal() and len(value) < 6 else default)


def _decoded(text: str) -> object:
    try:
        decoded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return decoded


def _silent() -> logging.Logger:
    """Whoever knocks with nonsense writes nothing into our terminal."""
    logger = logging.getLogger(__name__)
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


async def until_ended(server: Server, listening: sockets.socket, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, or until the terminal or a supervisor ends it. `ready` is called once it answers."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # Under nohup it stays ignored.
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, ended.set)
    async with server.running(listening):
        ready()
        await ended.wait()
