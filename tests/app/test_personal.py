"""A person's settings in the app: theme, keys and pace as asked for, or a sentence and the usual."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ledger_tui.app import LedgerApp, make_app, opened
from ledger_tui.personal import default_keys, settle
from screens.calls import CallsScreen
from screens.help import HelpScreen, help_text
from widgets.prompt_bar import PromptBar
from widgets.themes import DEFAULT_THEME

from .conftest import Run
from .ledgers import Ledger

Started = Callable[[str], AbstractAsyncContextManager[Run]]


@pytest.fixture
def started(home: Path, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Started:
    """Runs the app with this text in the file of settings."""
    from agent_ledger.engine.paths import Paths

    @asynccontextmanager
    async def run(text: str) -> AsyncIterator[Run]:
        folder = tmp_path / "settings" / "ledger-tui"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
        app: LedgerApp = make_app(Paths(home), environ={})
        settle(app)
        pilot: Pilot[None]
        async with opened(app), app.run_test(size=(100, 30), notifications=True) as pilot:
            driven = Run(app, pilot)
            await driven.until(lambda: isinstance(app.screen, CallsScreen), "the Calls screen")
            await driven.settle()
            yield driven

    return run


async def test_theme_and_keys(started: Started) -> None:
    async with started('theme = "nord"\nkeys.calls.filter = "f"\nkeys.app.help = "f1,?"\n') as run:
        assert run.app.theme == "nord"
        await run.pilot.press("slash")
        bar = run.app.screen.query_one(PromptBar)
        assert not bar.display
        await run.pilot.press("f")
        await run.until(lambda: bar.display, "the filter line")
        await run.pilot.press("escape", "f1")
        await run.until(lambda: isinstance(run.app.screen, HelpScreen), "help")
        assert " f  " in run.text


async def test_more_keys_than_fit_their_column_keep_a_blank_before_what_they_do(started: Started) -> None:
    async with started('keys.calls.filter = "f,slash,f6,f7,f8,f9,insert,delete"\n') as run:
        shown = help_text(run.app.screen).plain
        [line] = [line for line in shown.splitlines() if line.endswith(" Narrow by tool, state, text…")]
        assert len(line) > len(" Narrow by tool, state, text…") + 24
        assert line.startswith(" f / f6 f7 f8 f9 ")
        assert "\n e                        Write what is in view" in shown


async def test_an_action_that_shares_its_key_keeps_it(started: Started) -> None:
    """`V` verifies all, and stops that: with another key for the one, the other still has its own."""
    async with started('keys.verify.all = "A"\n') as run:
        assert run.app.screen.active_bindings["A"].binding.id == "verify.all"
        assert run.app._keymap == {"verify.all": "A", "verify.stop": "V"}


async def test_pace(started: Started) -> None:
    async with started("[refresh]\nledger_s = 3\n") as run:
        assert run.app.home.ledger_source._floor_s == 3
        assert run.app.home.state_source._floor_s == 0.5


@pytest.mark.parametrize("text", ['theme = "nird"', 'theme = "nord"\nkeys.calls.filter = "x"', "theme ="])
async def test_what_is_wrong_is_told_and_the_usual_counts(started: Started, text: str) -> None:
    async with started(text) as run:
        (told,) = run.app._notifications
        assert "config.toml is not used: " in told.message
        assert run.app.theme == DEFAULT_THEME
        await run.pilot.press("slash")
        await run.until(lambda: run.app.screen.query_one(PromptBar).display, "the filter line")


def test_every_action_has_its_usual_keys() -> None:
    keys = default_keys()
    assert keys["calls.filter"] == "slash"
    assert keys["list.down"] == "j,down"
    assert keys["app.quit"] == "q"
