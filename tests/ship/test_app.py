"""The app on a ledger that another machine shipped: what is there is live, and what is not says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC
from pathlib import Path

import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui.app import LedgerApp, opened
from ledger_tui.commands.source import Shipped
from ledger_tui.home_feeds import Home
from ledger_tui.ship import following
from ledger_tui.ship.engine import engine
from ledger_tui.ship.following import Following
from ledger_tui.ship.shipping import Shipper
from screens.calls import CallsScreen
from tests.app.conftest import Run
from tests.app.ledgers import Clock
from tests.chain.ledgers import NOW, Made

from .engines import Engine
from .test_rounds import full, ship

Open = Callable[..., AbstractAsyncContextManager[Run]]


@pytest.fixture
def app(url: str, left: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Runs it on what was shipped; the engine is asked often."""
    monkeypatch.setitem(Following.__init__.__kwdefaults__ or {}, "every_s", 0.02)
    monkeypatch.setattr(following, "LONGEST_S", 0.02)

    @asynccontextmanager
    async def run(size: tuple[int, int] = (80, 24), host: str | None = None) -> AsyncIterator[Run]:
        shipped, clock = Shipped(url, host), Clock(NOW + 60)
        shipped.bring()
        try:
            homes = [Home(Paths(shipped.home), shipped=shipped)]
            made = LedgerApp(homes, clock=clock, mono=clock.mono, zone=UTC, environ={})
            async with opened(made), made.run_test(size=size, notifications=True) as pilot:
                driven = Run(made, pilot)
                await driven.until(lambda: isinstance(made.screen, CallsScreen), "the Calls screen")
                await driven.settle()
                yield driven
        finally:
            shipped.close()

    return run


async def test_calls_and_posture_are_live(url: str, made: Made, path: Path, app: Open) -> None:
    full(made)
    ship(url, path)
    async with app() as run:
        assert run.text.startswith(" Calls ada ")
        assert "last change" not in run.text
        await run.until_shown("✓ 2 confirmed")
        made.calls(5, 7)
        ship(url, path)
        await run.until_shown("✓ 5 confirmed")
        await run.press("2")
        await run.until_shown("Posture ada", "100")
        made.issue("c8", tool_name="terminal", args_json='{"command": "rm -rf /"}')
        ship(url, path)
        await run.until_shown("75 of 100", "recursive-delete")


async def test_it_says_how_old_it_is_though_no_call_came(url: str, made: Made, path: Path, app: Open) -> None:
    made.calls(1, 1)
    ship(url, path)
    async with app() as run:
        await run.until_shown("● shipped 12:00:00")
        with engine(url) as connection:
            Shipper("ada", path, lambda: NOW + 30).round(connection)
        await run.until_shown("● shipped 12:00:30")


async def test_nothing_is_verified_from_afar(url: str, made: Made, path: Path, app: Open) -> None:
    made.issue("c1")
    made.report(1)
    ship(url, path)
    async with app((120, 36)) as run:
        assert "Verify" not in run.text
        await run.press("v", "V", "shift+tab", "enter")
        await run.until_shown("did it land?", "not checked: only its own machine")
        assert "Verify" not in run.text
        await run.press("v")
        assert not run.app._notifications


@pytest.mark.parametrize(
    ("key", "title", "sentence"),
    [("3", "Lineage ada", "Sessions are not shipped"), ("5", "Repair ada", "Nothing is repaired from afar")],
)
async def test_what_was_not_shipped_says_so(
    url: str, made: Made, path: Path, app: Open, key: str, title: str, sentence: str
) -> None:
    made.calls(1, 1)
    done = ship(url, path)
    async with app() as run:
        await run.press(key)
        await run.until_shown(title, sentence, f"ada/{done.ledger}")
        assert run.text.splitlines()[0].endswith("● shipped 12:00:00")
        await run.press("r", "u", "v", "slash", "question_mark")
        await run.until_shown("Keys")


async def test_decisions_of_policies_are_there_without_their_files(url: str, made: Made, path: Path, app: Open) -> None:
    full(made)
    ship(url, path)
    async with app((120, 36)) as run:
        await run.press("4")
        await run.until_shown("Policy ada", "Modes and rules are not shipped", "no-rm", "it removes", "1 decision")
        assert "off" not in run.text
        assert "before" not in run.text
        assert "Try" not in run.text
        await run.press("t")
        assert run.app.screen.query_one("#prompt").display is False


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36)])
async def test_an_engine_that_goes_away_is_told_of_and_comes_back(
    server: Engine, url: str, made: Made, path: Path, app: Open, size: tuple[int, int]
) -> None:
    made.calls(1, 2)
    ship(url, path)
    async with app(size) as run:
        server.kill()
        # Not what it says in the first second, while the connection breaks: that may pass unseen.
        await run.until_shown("stale", "What is shown was brought before", "No such file")
        assert "/notes/c2" in run.text
        await run.press("3")
        await run.until_shown("stale", "What is shown was brought before", "Sessions are not shipped")
        server.start()
        made.calls(3, 3)
        ship(url, path)
        await run.press("1")
        await run.until_shown("● shipped 12:00:00", "/notes/c3")
        assert "brought before" not in run.text


async def test_the_record_is_checked_as_that_of_a_copy(url: str, made: Made, path: Path, app: Open) -> None:
    made.issue("c1", args_json='{"command": "deploy", "api_key": "sk-live-abcdefghijklmnop123456"}')
    made.calls(2, 3)
    ship(url, path)
    async with app((120, 36)) as run:
        await run.app.run_action("check_record")
        await run.until_shown("Whole: 5 records of 3 calls.", "1 call with secrets", "This is a copy at an engine.")
