"""The server: the page, the few files it needs, and the sockets of its windows. It listens on 127.0.0.1 only."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket as sockets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from string import Template
from typing import Any

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web

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

_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")


def listen(port: int) -> sockets.socket:
    """A socket on 127.0.0.1; port 0 takes a free one. Raises OSError."""
    return sockets.create_server(("127.0.0.1", port))


class Server:
    """Serves the app that `command` starts, to windows that know the secret."""

    def __init__(self, command: Sequence[str], guard: Guard) -> None:
        self._command = tuple(command)
        self._guard = guard
        self._open: dict[web.WebSocketResponse, Session] = {}
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
        runner = web.AppRunner(app, access_log=None, logger=_silent())
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            yield
        finally:
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
            timeout=_CLOSING_S, heartbeat=15.0, compress=False, max_msg_size=_BIGGEST_MESSAGE
        )
        if len(self._open) >= LIMIT:
            await socket.prepare(request)
            await socket.send_bytes(words(_FULL))
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER)
            return socket
        session = self._open[socket] = Session(self._command, socket)
        try:
            await socket.prepare(request)
            await self._talk(request, socket, session)
        finally:
            try:
                await session.stop()
            finally:
                del self._open[socket]
        return socket

    async def _talk(self, request: web.Request, socket: web.WebSocketResponse, session: Session) -> None:
        """As long as the window is open and its app lives."""
        try:
            await session.start(_asked(request, "width", 80), _asked(request, "height", 24))
        except OSError as error:
            await socket.send_bytes(words(f"The app cannot be started ({error.strerror})."))
            await socket.close()
            return
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await session.take(_decoded(message.data))

    async def _close(self, _: web.Application) -> None:
        await asyncio.gather(*(_close(socket, session) for socket, session in list(self._open.items())))


async def _close(socket: web.WebSocketResponse, session: Session) -> None:
    with suppress(TimeoutError, ConnectionError, RuntimeError):  # The last: it has not even begun.
        await asyncio.wait_for(socket.close(code=WSCloseCode.GOING_AWAY), 2 * _CLOSING_S)
    await session.stop()


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
