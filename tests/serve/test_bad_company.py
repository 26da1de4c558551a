"""Clients that play no part of what a browser does, and what they may not take from those that do."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiohttp.web_protocol import RequestHandler

from ledger_tui.serve import server, session
from ledger_tui.serve.crowd import MOST
from tests.engine.homes import until

from .test_server import QUITS, asked, running
from .windows import PATIENCE_S, Deaf, Window

ROOT = Path(__file__).resolve().parents[2]

# It draws more than fits between here and there, and only then it can listen.
DRAWS = QUITS.replace("for kind", "for _ in range(256): send(b'D', b'x' * 65536)\nfor kind", 1)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once the server cannot send any more to somebody."""
    found = asyncio.Event()
    usual = RequestHandler.pause_writing

    def noted(handler: RequestHandler) -> None:
        usual(handler)
        found.set()

    monkeypatch.setattr(RequestHandler, "pause_writing", noted)
    return found


async def gone(apps: list[asyncio.subprocess.Process]) -> int | None:
    """How the only one ended."""
    await started(apps)
    return await asyncio.wait_for(apps[0].wait(), PATIENCE_S)


async def started(apps: list[asyncio.subprocess.Process]) -> None:
    await asyncio.to_thread(until, lambda: bool(apps), "an app was started")


async def test_who_leaves_without_reading_keeps_no_app_from_its_own_end(
    apps: list[asyncio.subprocess.Process], full: asyncio.Event
) -> None:
    async with running(DRAWS) as guard, Deaf.opened(guard.url) as deaf:
        await full.wait()
        await deaf.leave()
        assert await gone(apps) == 0


async def test_who_does_not_even_answer_pings_has_left(
    apps: list[asyncio.subprocess.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_HEARTBEAT_S", 0.2)
    async with running(DRAWS) as guard, Deaf.opened(guard.url):
        assert await gone(apps) == 0


async def test_who_does_not_read_keeps_no_server_from_its_end(
    apps: list[asyncio.subprocess.Process], full: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_CLOSING_S", 0.1)
    async with AsyncExitStack() as stack:
        async with running(DRAWS) as guard:
            await stack.enter_async_context(Deaf.opened(guard.url))
            await full.wait()
        assert [one.returncode for one in apps] == [0]


async def test_an_app_that_takes_no_keys_gives_its_place_back(
    apps: list[asyncio.subprocess.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_GRACE_S", 0.1)
    async with running("__import__('time').sleep(60)") as guard, Deaf.opened(guard.url) as deaf:
        for _ in range(8):
            await deaf.press("x" * 60_000)
        assert await gone(apps) == -9


async def test_a_page_may_be_loaded_again_while_all_places_are_taken(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    patient = QUITS.replace(
        "sys.exit(0)",
        f"[__import__('time').sleep(0.01) for _ in iter(lambda: os.path.exists({str(gate)!r}), True)]; break",
    )
    async with running(patient) as guard, AsyncExitStack() as stack:
        for _ in range(server.LIMIT - 1):
            await stack.enter_async_context(Window.opened(guard.url))
        async with Window.opened(guard.url) as window:
            await window.until("Here is")
        again = asyncio.create_task(stack.enter_async_context(Window.opened(guard.url)))
        assert (await asked(guard.url))[0] == 200  # By now the window has been heard; its place is not free yet.
        gate.touch()
        await (await again).until("Here is")


async def test_connections_that_say_nothing_take_nobody_else_s() -> None:
    async with running(QUITS) as guard, Window.opened(guard.url) as window, AsyncExitStack() as stack:
        silent = []
        for _ in range(MOST + 9):
            reader, writer = await asyncio.open_connection("127.0.0.1", guard.port)
            stack.callback(writer.transport.abort)
            writer.write(b"GET /")
            silent.append((reader, writer))
        assert (await asked(guard.url))[0] == 200
        for reader, _ in silent[:9]:
            with suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        assert not silent[-1][0].at_eof()
        await window.press("still here")
        await window.until("D still here")


async def test_an_app_looks_for_its_parts_in_folders_that_are_named_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":/ours::lib:.")
    async with running(QUITS.replace("'TERM'", "'PYTHONPATH'")) as guard, Window.opened(guard.url, 400) as window:
        assert f" in {ROOT}:/ours." in await window.until("Here is")


@pytest.mark.parametrize(
    ("environment", "user", "flags"), [(0, 0, []), (1, 0, ["-E"]), (0, 1, ["-s"]), (1, 1, ["-E", "-s"])]
)
def test_an_app_is_as_alone_with_its_python_as_the_server(
    monkeypatch: pytest.MonkeyPatch, environment: int, user: int, flags: list[str]
) -> None:
    monkeypatch.setattr(sys, "flags", SimpleNamespace(ignore_environment=environment, no_user_site=user))
    assert session.app_command(["--plain"]) == [sys.executable, *flags, "-P", "-m", "ledger_tui", "--plain"]
