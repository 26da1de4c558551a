"""What the columns of the tables say about a call, and that it fits them."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from agent_ledger.engine.records import Inert, utc_text
from screens.calls_model import CallsModel
from screens.calls_words import Facts
from widgets.call_table import PENDING_COLUMNS, SETTLED_COLUMNS, CallTable, Column

from .conftest import Start
from .ledgers import NOW, Clock, Ledger, a_call, a_change


def said(columns: tuple[Column, ...], title: str, width: int, **changes: Any) -> str:
    """The text of the column `title` in a table of that width."""
    call, clock = a_call(**changes), Clock()
    model = CallsModel(clock, clock.mono)
    model.apply(a_change([call], reset=True))
    (column,) = [one for one in columns if one.title == title and one.from_width <= width < one.below_width]
    text = column.text(call, Facts(model, UTC))[0]
    assert not column.width or len(text) <= column.width
    return text


@pytest.mark.parametrize("width", [50, 120])
@pytest.mark.parametrize(
    ("ago", "text"), [(180.0, "1m late"), (36_240.0, "10h late"), (45 * 86_400, "44d late"), (10.0, "1:50")]
)
def test_how_late_a_call_is_fits_its_column(width: int, ago: float, text: str) -> None:
    assert said(PENDING_COLUMNS, "LOST IN", width, at=NOW - ago, ts=Inert(utc_text(NOW - ago))) == text


@pytest.mark.parametrize("grace", [86_400.0 * 30, 86_400.0 * 900])
def test_a_very_long_grace_fits_too(grace: float) -> None:
    assert said(PENDING_COLUMNS, "LOST IN", 50, grace_s=grace).endswith(("d", "h"))


@pytest.mark.parametrize(
    ("args", "digest", "text"),
    [
        ('{"path": "a.py"}', None, "invalid_tool_arguments: a.py"),
        ("{}", None, "invalid_tool_arguments"),
        ("{}", "arguments are no object", "invalid_tool_arguments · arguments are no object"),
        (None, None, "invalid_tool_arguments"),
    ],
)
def test_an_error_without_arguments_has_no_colon(args: str | None, digest: str | None, text: str) -> None:
    changes = {"args_json": args and Inert(args), "result_digest": digest and Inert(digest)}
    assert said(SETTLED_COLUMNS, "WHAT", 80, status=Inert("ERROR:invalid_tool_arguments"), **changes) == text


def test_a_call_that_only_the_middleware_saw_end_took_as_long_as_it_took() -> None:
    changes = {"status": Inert("CONFIRMED"), "closed_by": "middleware", "settled_ts": Inert(utc_text(NOW - 7.75))}
    assert said(SETTLED_COLUMNS, "TOOK", 80, **changes) == "2.2s"


async def test_cut_arguments_read_like_whole_ones(ledger: Ledger, start: Start) -> None:
    whole = '{"path": "site/roses.html", "content": "<h1>Roses</h1>"}'
    ledger.done("write_file", whole, ago=20)
    ledger.done("write_file", whole[:44], ago=10, args_cut=1)
    async with start((190, 24)) as run:
        await run.until_shown("site/roses.html  content=<h1>Roses</h1>", "site/roses.html  content=<h1>…")


def test_names_have_more_room_in_a_wide_table() -> None:
    assert said(SETTLED_COLUMNS, "TOOL", 160, tool_name=Inert("mcp__mail__send_letter")) == "mcp__mail__send_letter"
    assert said(SETTLED_COLUMNS, "SESSION", 160, session_id=Inert("20260530_114502_77b0de")) == "20260530_114502_77b0de"
    assert said(SETTLED_COLUMNS, "SESSION", 120, session_id=Inert("20260530_114502_77b0de")) == "…0_114502_77b0de"


async def test_without_colours_the_cursor_is_one_band_and_what_matters_is_not_dim(
    ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    ledger.issue("cronjob", {"name": "x"}, ago=900, status="GHOST_REPORTED", reported_ts=utc_text(NOW))
    ledger.done("patch", {"path": "a.py"}, ago=9)
    ledger.done("patch", {"path": "b.py"}, ago=8)
    async with start((100, 24)) as run:
        settled, ghosts = (run.calls.query_one(f"#{name}", CallTable) for name in ("settled", "ghosts"))
        band = {segment.style for segment in list(settled.render_line(1))[:-1] if segment.style}
        assert len(band) == 1
        assert all(style.reverse for style in band)
        plain = ghosts.rich_style.color
        assert {s.style.color for s in ghosts.render_line(1) if s.style and "ghost" in s.text} == {plain}
