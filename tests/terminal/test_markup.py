"""Every screen of the app in a hostile home: what looks like markup is text, does nothing and leads nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.paths import Paths
from ledger_tui.app import make_app, opened
from screens.calls import CallsScreen
from tests.app.conftest import Run

from .judging import hazards

SIZE = (170, 50)

WALK: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("enter",), ("timeline",)),
    (("q", "2"), ("findings", "wren02a")),
    (("enter",), ("timeline",)),
    (("q", "3"), ("orphans", "wren08a")),
    (("j", "j", "enter"), ("session_key",)),
    (("q", "4"), ("dry_run", "wren12a")),
    (("5",), ("Past repairs",)),
    (("r",), ("leases:",)),
    (("n",), ("ambiguous", "wren04a")),
    (("d",), ("the lost session",)),
    (("q", "n"), ("session_key",)),
)
"""Keys, and what must be seen after them."""


@asynccontextmanager
async def running(home: Path) -> AsyncIterator[Run]:
    app = make_app(Paths(home), zone=UTC, environ={})
    async with opened(app), app.run_test(size=SIZE, notifications=True) as pilot:
        run = Run(app, pilot)
        await run.until(lambda: isinstance(app.screen, CallsScreen), "the Calls screen")
        yield run


def effects(run: Run) -> set[Any]:
    """What on the screen would do something, or lead somewhere: links, and actions by click."""
    found: set[Any] = set()
    for strip in run.app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is not None:
                found |= {style.link} if style.link else set()
                found |= {(name, str(value)) for name, value in style.meta.items() if name.startswith("@")}
    return found


async def test_every_screen(home: Callable[[str], Path]) -> None:
    async with running(home("planted")) as run:
        await run.until_shown("Ghosts", "wren62a")
        for keys, words in WALK:
            await run.press(*keys)
            await run.until_shown(*words)
            assert effects(run) == set()
            assert hazards(run.text) == []


@pytest.mark.parametrize("key", ["1", "2", "3", "4", "5"])
async def test_a_home_that_cannot_be_read(home: Callable[[str], Path], key: str) -> None:
    """Whatever the files hold instead, the app says in its own words what is wrong."""
    async with running(home("spoilt")) as run:
        await run.until_shown("no SQLite database")
        await run.press(key)
        await run.until(run.drawn, "the screen")
        assert effects(run) == set()
        assert hazards(run.text) == []
        assert "SQLite format" not in run.text
