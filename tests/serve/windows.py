"""A window as a browser has it, without the browser: the socket of the page, and an emulator of what is drawn."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import aiohttp
import pyte

PATIENCE_S = 60.0

# Sequences that the emulator would print: questions to a terminal, and the shape of the mouse.
_UNKNOWN = re.compile(rb"\x1b\[\?[0-9;]*\$p|\x1b\]22;[^\x07]*\x07|\x1b\[[<>=][0-9;]*[a-zA-Z]")


class Window:
    """One window, open as long as the `async with` lasts."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, width: int, height: int) -> None:
        self._socket = socket
        self._emulator = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._emulator)

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str, width: int = 100, height: int = 30) -> AsyncIterator[Self]:
        """On a page's address, with the headers that a browser would send."""
        origin = url.partition("/")[0] + "//" + url.split("/")[2]
        address = f"{url.replace('http:', 'ws:')}ws?width={width}&height={height}"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, headers={"Origin": origin}, autoping=True) as socket,
        ):
            yield cls(socket, width, height)

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._emulator.display)

    async def until(self, *parts: str) -> str:
        """What is seen once all of it is seen."""
        async with asyncio.timeout(PATIENCE_S):
            while not all(part in self.screen for part in parts):
                assert await self._heard(), f"closed without {parts}:\n{self.screen}"
        return self.screen

    async def ended(self) -> str:
        """What is seen at the end. It comes by itself."""
        async with asyncio.timeout(PATIENCE_S):
            while await self._heard():
                pass
        return self.screen

    async def press(self, keys: str) -> None:
        await self._socket.send_json(["stdin", keys])

    async def say(self, text: str) -> None:
        """Whatever a page could send."""
        await self._socket.send_str(text)

    async def _heard(self) -> bool:
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            self._stream.feed(_UNKNOWN.sub(b"", message.data))
        return message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT)


class Deaf:
    """A browser that never reads, and answers no ping. Open as long as the `async with` lasts."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str) -> AsyncIterator[Self]:
        host = url.split("/")[2]
        name, _, port = host.partition(":")
        # The reader takes so little that everything else stays in the socket, and then at the server.
        _, writer = await asyncio.open_connection(name, int(port), limit=1)
        try:
            writer.write(
                f"GET {url.partition(host)[2]}ws HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            yield cls(writer)
        finally:
            writer.transport.abort()

    async def press(self, keys: str) -> None:
        """At most 65,535 bytes as a message."""
        said = json.dumps(["stdin", keys]).encode()
        self._writer.write(b"\x81\xfe" + len(said).to_bytes(2, "big") + bytes(4) + said)
        await self._writer.drain()

    async def leave(self) -> None:
        """Say so, as a browser does, but stay connected."""
        self._writer.write(b"\x88\x80" + bytes(4))
        await self._writer.drain()
