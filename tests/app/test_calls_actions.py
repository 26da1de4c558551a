"""Filter, help, palette and export of the Calls screen."""

from __future__ import annotations

import csv
import json
import os
import stat
from pathlib import Path

import pytest

from screens.help import HelpScreen, help_text
from widgets.prompt_bar import PromptBar

from .conftest import Start
from .ledgers import Ledger, a_day
from .test_calls_screen import focused, rows_of


async def test_a_filter_is_typed_and_cleared(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("slash")
        await run.type("tool:terminal make")
        await run.press("enter")
        await run.settle()
        assert (rows_of(run, "pending"), rows_of(run, "ghosts"), rows_of(run, "settled")) == ([11], [], [7])
        assert "Filter: tool:terminal make" in run.text
        await run.press("x")
        await run.settle()
        assert rows_of(run, "settled") == [8, 7, 6, 5, 4, 2, 1]


async def test_a_filter_that_makes_no_sense_is_answered(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("slash")
        await run.type("state:gone")
        await run.press("enter")
        assert "'gone' is no state" in run.text
        assert run.calls.query_one(PromptBar).is_open
        await run.press("escape")
        assert not run.calls.query_one(PromptBar).is_open
        assert rows_of(run, "settled") == [8, 7, 6, 5, 4, 2, 1]


async def test_tab_completes_a_filter(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("slash")
        await run.type("tool:cron")
        await run.until(lambda: "cronjob" in run.text.splitlines()[-3], "a suggestion")
        await run.press("tab", "enter")
        await run.settle()
        assert (rows_of(run, "ghosts"), rows_of(run, "settled")) == ([3], [])


async def test_help_lists_every_key_of_the_screen(ledger: Ledger, start: Start) -> None:
    async with start((100, 40)) as run:
        await run.press("question_mark")
        assert isinstance(run.front(), HelpScreen)
        for key in ("/", "tab", "s ", "e ", "j ↓", "k ↑", "?", "q", "^p"):
            assert f" {key}" in run.text
        await run.press("q")
        assert run.front() is run.calls


async def test_a_blank_stands_between_keys_and_what_they_do(ledger: Ledger, start: Start) -> None:
    """Three names of keys are longer than the column was: `q backspace escBack`."""
    a_day(ledger)
    async with start() as run:
        await run.press("enter")
        await run.until(lambda: "did it land" in run.text or "timeline" in run.text, "details")
        shown = help_text(run.front()).plain
        assert shown.startswith(" q backspace esc Back to the list\n v               Verify: ")


async def test_the_palette_filters_and_changes_the_theme(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("ctrl+p")
        await run.type("only: ghost")
        await run.until_shown("Show only: ghost")
        await run.press("down", "enter")
        await run.until(lambda: "Filter: state:ghost" in run.text)
        assert rows_of(run, "settled") == []
        await run.press("ctrl+p")
        await run.type("theme: nord")
        await run.until_shown("Theme: nord")
        await run.press("down", "enter")
        await run.until(lambda: run.app.theme == "nord")


async def test_the_palette_jumps_to_a_session(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("ctrl+p")
        await run.type("081204")
        await run.until_shown("Session: 20260530_081204")
        await run.press("down", "enter")
        await run.until(lambda: rows_of(run, "settled") == [4, 2, 1])


async def test_a_session_named_like_markup_is_text_in_the_palette(ledger: Ledger, start: Start) -> None:
    """Also where Textual takes plain text for markup: it would break, or have a click do something."""
    for number, name in enumerate(("[link=https://a.example]x", "[@click=app.quit]y[/]", "[/] \x1b[2J")):
        ledger.done("patch", {"path": "one.py"}, ago=20 - number, session=name)
    async with start((120, 40)) as run:
        await run.press("ctrl+p")
        await run.type("Session")
        await run.until_shown(
            "Show the calls of [link=https://a.example]x",
            "Show the calls of [@click=app.quit]y[/]",
            "Show the calls of [/] \\u001b[2J",
        )


@pytest.mark.parametrize("kind", ["csv", "json"])
async def test_what_is_in_view_is_exported(
    ledger: Ledger, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    a_day(ledger)
    ledger.done("terminal", "=cmd|' /C calc'!A0", ago=10, args_cut=1)
    monkeypatch.chdir(tmp_path)
    async with start() as run:
        run.calls.filter_by("tool:terminal")
        await run.settle()
        await run.press("e")
        assert "calls-20260530-120000.csv" in run.text
        await run.press("ctrl+u")
        await run.type(f"mine.{kind}")
        await run.press("enter")
        await run.until_shown("were written")
    path = tmp_path / f"mine.{kind}"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    text = path.read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines())) if kind == "csv" else json.loads(text)
    assert [int(row["id"]) for row in rows] == [12, 11, 7, 4, 2]
    assert rows[1]["state"] == "pending"
    assert rows[0]["args"] == ("'=cmd|' /C calc'!A0" if kind == "csv" else "=cmd|' /C calc'!A0")


async def test_an_emptied_export_line_closes_it(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        await run.press("e", "ctrl+u", "enter")
        assert not run.calls.query_one(PromptBar).is_open
        assert focused(run) == "settled"


async def test_an_export_into_the_home_of_nobody_is_told(ledger: Ledger, start: Start) -> None:
    async with start((160, 24)) as run:
        await run.press("e", "ctrl+u")
        await run.type("~nobody-here/a.csv")
        await run.press("enter")
        await run.until_shown("write the path out in full")


async def test_an_export_never_overwrites(ledger: Ledger, start: Start, tmp_path: Path) -> None:
    taken = tmp_path / "a.json"
    taken.write_text("mine")
    async with start((160, 24)) as run:
        await run.press("e", "ctrl+u")
        await run.type(str(taken))
        await run.press("enter")
        await run.until_shown("exists already")
        assert taken.read_text() == "mine"
