"""Under NO_COLOR the app is grey, and what its colours say is still told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.color import Color

from widgets.look import GLYPHS, HEALTH_GLYPHS, VERDICT_GLYPHS

from .conftest import Run, Start
from .ledgers import Ledger, a_day


def colours(run: Run) -> Iterator[tuple[int, int, int]]:
    """Every colour on the screen as it is sent to the terminal."""
    for line in run.app.screen._compositor.render_strips():
        for segment in line.apply_filter(run.app._filters[-1], run.app.screen.background_colors[1]):
            for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                if isinstance(colour, Color):
                    yield colour.get_truecolor()


async def test_the_app_is_grey(ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    a_day(ledger)
    async with start((120, 36)) as run:
        assert run.app.no_color
        shown = set(colours(run))
        assert len(shown) > 3
        assert {colour for colour in shown if max(colour) - min(colour) > 1} == set()


async def test_without_it_there_are_colours(ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    async with start((120, 36)) as run:
        assert not run.app.no_color


def test_every_state_has_a_sign_of_its_own() -> None:
    """Those that mean the same trouble may share one: a source that cannot be read, whoever is to blame."""
    assert len(set(GLYPHS.values())) == len(GLYPHS)
    assert len(set(VERDICT_GLYPHS.values())) == len(VERDICT_GLYPHS)
    apart = {state: glyph for state, glyph in HEALTH_GLYPHS.items() if state != "foreign-owner"}
    assert len(set(apart.values())) == len(apart)
