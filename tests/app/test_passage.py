"""The lines below a screen's top: as tall as what they say, and never a part that passes for the whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from ledger_tui._compat import screen_lines
from widgets.passage import Notice

WORDS = "one two three four five six seven eight nine ten eleven twelve"


class Alone(App[None]):
    def compose(self) -> ComposeResult:
        yield Notice(id="notice")


@asynccontextmanager
async def shown(width: int, height: int) -> AsyncIterator[tuple[Pilot[None], Notice]]:
    app = Alone()
    async with app.run_test(size=(width, height)) as pilot:
        yield pilot, app.query_one(Notice)


async def lines(pilot: Pilot[None]) -> list[str]:
    await pilot.pause()
    return [line.strip() for line in screen_lines(pilot.app.screen) if line.strip()]


async def test_it_is_as_tall_as_its_text() -> None:
    async with shown(20, 20) as (pilot, notice):
        assert await lines(pilot) == []
        assert notice.region.height == 0
        notice.tell(WORDS)
        assert await lines(pilot) == ["one two three four", "five six seven", "eight nine ten", "eleven twelve"]
        notice.tell("one")
        assert await lines(pilot) == ["one"]
        assert notice.region.height == 1
        notice.tell("")
        assert await lines(pilot) == []
        assert notice.region.height == 0


async def test_what_does_not_fit_says_that_there_is_more() -> None:
    async with shown(20, 10) as (pilot, notice):  # Three lines of ten.
        notice.tell(WORDS)
        assert await lines(pilot) == ["one two three four", "five six seven", "eight nine ten …"]
        notice.tell("one two three four five six seven eight nine nineteen twenty")
        assert await lines(pilot) == ["one two three four", "five six seven", "eight nine …"]
        notice.tell("x" * 100)
        assert await lines(pilot) == ["x" * 18, "x" * 18, "x" * 17 + "…"]
        await pilot.resize_terminal(80, 10)
        notice.tell(WORDS)
        assert await lines(pilot) == [WORDS]


@pytest.mark.parametrize("text", ["[bold]not markup[/bold]", "[link=x]", "[/]", "\\[", "漢字 and 한글", "one\ntwo"])
async def test_its_text_is_not_markup(text: str) -> None:
    async with shown(40, 20) as (pilot, notice):
        notice.tell(text)
        assert await lines(pilot) == text.split("\n")


async def test_a_trouble_looks_like_one_until_it_is_over() -> None:
    async with shown(40, 20) as (_, notice):
        notice.tell("one", wrong=True)
        assert notice.has_class("-wrong")
        notice.tell("one")
        assert not notice.has_class("-wrong")
