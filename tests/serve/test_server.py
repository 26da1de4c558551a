"""The server over HTTP, with small programs in place of the app."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ledger_tui.serve import session
from ledger_tui.serve.guard import Guard, headers
from ledger_tui.serve.server import FILES, LIMIT, Server, listen
from tests.engine.homes import until

from .windows import Window

_APP = """
import json, os, sys
def send(kind, data):
    os.write(1, kind + len(data).to_bytes(4, 'big') + data)
def packets():
    while head := sys.stdin.buffer.read(5):
        yield head[:1], sys.stdin.buffer.read(int.from_bytes(head[1:], 'big'))
print('what is printed before is passed over', flush=True)
os.write(1, b'__GANGLION__\\n')
send(b'D', b'Here is %s x %s in %s.' % tuple(os.environ[name].encode() for name in ('COLUMNS', 'ROWS', 'TERM')))
for kind, data in packets():
    send(b'D', b'\\r\\n' + kind + b' ' + data)
"""

QUITS = _APP + "    if b'quit' in data: sys.exit(0)\n"
STUBBORN = _APP + "while True: sys.stdin.read() or __import__('time').sleep(60)\n"


@asynccontextmanager
async def running(text: str, command: Sequence[str] = ()) -> AsyncIterator[Guard]:
    """A server whose app is that program, or that command."""
    listening = listen(0)
    guard = Guard(listening.getsockname()[1])
    async with Server(command or [sys.executable, "-c", text], guard).running(listening):
        yield guard


async def asked(url: str, method: str = "GET", **given: Any) -> tuple[int, str, dict[str, str]]:
    async with aiohttp.ClientSession() as client, client.request(method, url, **given) as answer:
        return answer.status, await answer.text(errors="replace"), dict(answer.headers)


async def test_the_page_loads_nothing_but_the_files_that_are_here() -> None:
    async with running(QUITS) as guard:
        status, page, _ = await asked(guard.url)
        assert status == 200
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
        assert set(loaded) - {"data:,"} <= set(FILES)
        assert re.findall(r"\w+://[^\s\"]+", page) == [guard.url.replace("http:", "ws:") + "ws"]
        style = (await asked(f"{guard.url}page.css"))[1]
        assert set(re.findall(r'url\("([^"]+)"\)', style)) <= set(FILES)
        for name, path in FILES.items():
            async with aiohttp.ClientSession() as client, client.get(guard.url + name) as answer:
                assert (answer.status, await answer.read()) == (200, path.read_bytes())


async def test_under_localhost_the_page_connects_to_localhost() -> None:
    async with running(QUITS) as guard:
        url = guard.url.replace("127.0.0.1", "localhost")
        _, page, told = await asked(guard.url, headers={"Host": f"localhost:{guard.port}"})
        assert f"{url.replace('http:', 'ws:')}ws" in page
        assert f"connect-src ws://localhost:{guard.port};" in told["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404),
        ("/ws", 404),
        ("/static/js/textual.js", 404),
        ("/download/0123", 404),
        ("/wrong/", 404),
        ("/{secret}/page/../../secret", 404),
        ("/{secret}/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404),
        ("/{secret}/page.html", 404),
        ("/{secret}/download/0123", 404),
        ("/{secret}/", 200),
    ],
)
async def test_every_answer_forbids_the_browser_the_same(path: str, status: int) -> None:
    async with running(QUITS) as guard:
        url = f"http://127.0.0.1:{guard.port}{path.format(secret=guard.secret)}"
        found, text, told = await asked(url)
        assert found == status
        assert headers(f"127.0.0.1:{guard.port}" if status == 200 else "127.0.0.1").items() <= told.items()
        assert told["Referrer-Policy"] == "no-referrer"
        if status != 200:
            assert guard.secret not in text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:1"])
async def test_a_name_that_was_made_to_point_here_gets_nowhere(host: str) -> None:
    async with running(QUITS) as guard:
        for name in ("", "ws", "textual.js"):
            assert (await asked(guard.url + name, headers={"Host": host}))[0] == 403
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await _connected(guard.url, {"Host": host, "Origin": f"http://{host}"})


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", None])
async def test_a_socket_of_another_page_starts_no_app(origin: str | None) -> None:
    async with running(QUITS) as guard:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await _connected(guard.url, {"Origin": origin} if origin else {})


async def test_a_socket_without_the_secret_starts_no_app() -> None:
    async with running(QUITS) as guard:
        url = f"http://127.0.0.1:{guard.port}/wrong/"
        with pytest.raises(aiohttp.WSServerHandshakeError, match="404"):
            await _connected(url, {"Origin": f"http://127.0.0.1:{guard.port}"})


async def _connected(url: str, given: dict[str, str]) -> None:
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{url}ws", headers=given):
        pass


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_the_page_is_only_read(method: str) -> None:
    async with running(QUITS) as guard:
        assert (await asked(guard.url, method))[0] == 405


async def test_a_window_gives_the_app_its_size_and_keys_and_nothing_else() -> None:
    async with running(QUITS) as guard, Window.opened(guard.url, 90, 20) as window:
        await window.until("Here is 90 x 20 in xterm-256color.")
        for odd in ("{", "[]", "7", '["stdin", 7]', '["resize", {"width": "x"}]', '["blur"]', '["shell", "ls"]'):
            await window.say(odd)
        await window.say('["resize", {"width": 100000, "height": -4}]')
        await window.press("kéys")
        seen = await window.until("kéys")
        told = [line for line in seen.splitlines() if line.startswith(("M ", "D "))]
        assert told == ['M {"type": "resize", "width": 500, "height": 1}', "D kéys"]


async def test_a_window_too_many_is_told_so_and_the_others_stay() -> None:
    async with running(QUITS) as guard, Window.opened(guard.url) as first, Window.opened(guard.url) as second:
        async with Window.opened(guard.url), Window.opened(guard.url):
            assert LIMIT == 4
            async with Window.opened(guard.url) as fifth:
                assert "4 windows are open already." in await fifth.ended()
        await first.press("still here")
        await first.until("D still here")
        await second.until("Here is")


async def test_the_app_of_a_window_that_is_closed_is_asked_to_end(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    async with running(QUITS.replace("sys.exit(0)", f"open({str(ended)!r}, 'w').close(); sys.exit(0)")) as guard:
        async with Window.opened(guard.url) as window:
            await window.until("Here is")
        await asyncio.to_thread(until, ended.exists, "the app was asked to end")


async def test_an_app_that_does_not_listen_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch, apps: list[asyncio.subprocess.Process]
) -> None:
    monkeypatch.setattr(session, "_GRACE_S", 0.1)
    async with running(STUBBORN) as guard, Window.opened(guard.url) as window:
        await window.until("Here is")
    assert [process.returncode for process in apps] == [-9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; sys.exit('The ledger x\\x1b[31m is not there.')", "The ledger x\\u001b[31m is not there."),
        ("import sys; sys.exit(3)", "The app ended by an error."),
        (QUITS + "    raise OSError('Broken.')\n", "OSError: Broken."),
    ],
)
async def test_an_app_that_fails_says_why_in_its_window(text: str, said: str) -> None:
    async with running(text) as guard, Window.opened(guard.url) as window:
        await window.press("x")
        assert said in await window.ended()


async def test_apps_that_cannot_be_started_take_no_place_away(tmp_path: Path) -> None:
    async with running("", [str(tmp_path / "nowhere")]) as guard:
        for _ in range(LIMIT + 1):
            async with Window.opened(guard.url) as window:
                assert "The app cannot be started (No such file or directory)." in await window.ended()


async def test_the_end_of_the_server_is_the_end_of_every_window() -> None:
    async with AsyncExitStack() as stack:
        async with running(QUITS) as guard:
            window = await stack.enter_async_context(Window.opened(guard.url))
            await window.until("Here is")
        assert "Here is" in await window.ended()
