"""How many connections there may be at once: a stranger on this machine must not be able to take them all."""

from __future__ import annotations

from collections.abc import Callable, Collection

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

MOST = 64
"""Connections besides those of windows. A page needs a few, and for a moment only."""

BACKLOG = 32
"""Connections that are accepted at one go, before any of them is looked at."""


class Crowd:
    """Makes room for each new connection. The oldest has to go, but never one of those that `staying` names.

    Whoever keeps connections open and says nothing would otherwise use up the files that a process may have open, and
    then nobody gets in any more.
    """

    def __init__(self, server: web.Server, staying: Callable[[], Collection[object]], most: int = MOST) -> None:
        self._server = server
        self._staying = staying
        self._most = most

    def __call__(self) -> RequestHandler:
        staying = self._staying()
        others = [one for one in self._server.connections if one not in staying]
        for oldest in others[: max(0, len(others) - self._most + 1)]:
            if oldest.transport is not None:
                oldest.transport.abort()
        return self._server()
