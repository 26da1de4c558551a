"""The Posture screen by its keys: what each does to what is shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agent_ledger.engine.posture import LIMITS, official_title
from agent_ledger.engine.posture.rows import RawRow
from ledger_tui.sources.guard import SourceError
from screens.call_details import CallDetailsScreen
from screens.calls import CallsScreen
from screens.help import HelpScreen
from screens.posture import PostureScreen
from widgets.asi_list import AsiList
from widgets.finding_table import FindingTable
from widgets.prompt_bar import PromptBar

from .conftest import Run, Start
from .ledgers import Clock, Ledger
from .risky import DELETE, SESSION, a_risky_day


async def shown(run: Run) -> PostureScreen:
    """The Posture screen in front, with everything scored."""
    await run.press("2")
    await run.until(lambda: isinstance(run.front(), PostureScreen), "the Posture screen")
    screen = run.front()
    assert isinstance(screen, PostureScreen)
    await run.until(lambda: screen.model.scanned, "a score")
    await run.pilot.pause()
    await run.until(run.drawn, "every list drawn")
    return screen


def calls_of(screen: PostureScreen) -> list[int]:
    """Ids of the calls whose findings are in view, from the top."""
    return [screen.model.at(index).finding.ledger_id for index in range(len(screen.model))]


async def test_the_score_and_its_arithmetic(ledger: Ledger, start: Start) -> None:
    """100 − 25 − 15 − 25 − 3 = 32"""
    a_risky_day(ledger)
    async with start() as run:
        screen = await shown(run)
        assert calls_of(screen) == [1, 2, 3, 5]
        for line in ("−25      → 75", "−15      → 60", "−25      → 35", "−3      → 32", "100 − 68 =      32"):
            assert line in run.text
        for line in (
            "CRITICAL      2 × 25 =      50",
            "HIGH          1 × 15 =      15",
            "LOW           1 ×  3 =       3",
        ):
            assert line in run.text


async def test_every_digit_of_the_arithmetic_is_shown(ledger: Ledger, start: Start) -> None:
    """600 × 25 = 15,000"""
    ledger.db.execute("BEGIN")
    for number in range(600):
        ledger.done("terminal", {"command": DELETE}, ago=90_000 - 100 * number, session=f"s{number}")
    ledger.db.execute("COMMIT")
    async with start((60, 15)) as run:
        await shown(run)
        await run.press("G")
        await run.until_shown("−25  → −14875", "−25  → −14900", "Score −14,900 = 100 − 15,000")


async def test_an_empty_ledger_has_no_score(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        await shown(run)
        await run.until_shown("no score yet", "so there is no score")
        assert "of 100" not in run.text


async def test_a_ledger_that_is_not_there_yet(home: Path, clock: Clock, start: Start) -> None:
    async with start() as run:
        await shown(run)
        await run.until_shown("◌ missing", "no score yet")
        Ledger(home, clock).done("terminal", {"command": DELETE}, ago=5)
        await run.until_shown("● live", "75 of 100")


async def test_new_calls_are_scored_as_they_come(ledger: Ledger, start: Start) -> None:
    ledger.done("terminal", {"command": "make"}, ago=60)
    async with start() as run:
        await shown(run)
        await run.until_shown("100 of 100", "nothing looked suspicious")
        ledger.done("terminal", {"command": DELETE}, ago=5)
        await run.until_shown("75 of 100", "recursive-delete")


async def test_calls_that_come_while_another_screen_is_in_front_count_too(ledger: Ledger, start: Start) -> None:
    ledger.done("terminal", {"command": "make"}, ago=60)
    async with start() as run:
        await shown(run)
        await run.press("1")
        await run.until(lambda: isinstance(run.front(), CallsScreen))
        ledger.done("terminal", {"command": DELETE}, ago=5)
        await run.until_shown("rm -rf")
        await run.press("2")
        await run.until_shown("75 of 100")


@pytest.mark.parametrize("noted", ["before", "after"])
async def test_a_conversation_that_goes_on_under_another_id_counts_as_one(
    ledger: Ledger, start: Start, noted: str
) -> None:
    def note() -> None:
        ledger.db.execute("INSERT INTO rotation VALUES('s2', 's1')")

    ledger.done("write_file", {"path": "run.sh", "content": "ls"}, ago=60, session="s1")
    async with start() as run:
        screen = await shown(run)
        assert screen.model.score == 100
        if noted == "before":
            note()
        ledger.done("terminal", {"command": "sh run.sh"}, ago=30, session="s2")
        await run.until(lambda: screen.model.posture.rows == 2, "the call under the new id")
        if noted == "after":
            note()
            ledger.done("terminal", {"command": "ls"}, ago=20, session="s3")
        await run.until(lambda: screen.model.scanned and screen.model.score == 97, "the finding that spans both")


async def test_a_ledger_that_is_cut_is_scored_anew(ledger: Ledger, start: Start) -> None:
    a_risky_day(ledger)
    async with start() as run:
        await shown(run)
        ledger.db.execute("DELETE FROM ledger WHERE id < 4")
        await run.until_shown("97 of 100")


async def test_enter_opens_the_call_behind_a_finding(ledger: Ledger, start: Start) -> None:
    a_risky_day(ledger)
    async with start() as run:
        await shown(run)
        await run.press("j", "j", "enter")
        await run.until(lambda: isinstance(run.front(), CallDetailsScreen))
        await run.until_shown("#3", "example.org")
        await run.press("q")
        await run.until(lambda: isinstance(run.front(), PostureScreen))
        assert run.front().query_one(FindingTable).cursor == 2


async def test_the_line_below_follows_the_cursor(ledger: Ledger, start: Start) -> None:
    a_risky_day(ledger)
    async with start() as run:
        await shown(run)
        await run.until_shown("ASI02 Tool Misuse and Exploitation · CRITICAL · call #1")
        await run.press("G")
        await run.until_shown("ASI05 Unexpected Code Execution (RCE) · LOW · 2 calls: #4, #5", "runs step.sh")


async def test_moving_over_the_ids_narrows_to_one(ledger: Ledger, start: Start) -> None:
    a_risky_day(ledger)
    async with start() as run:
        screen = await shown(run)
        await run.press("tab", "j", "j")
        assert calls_of(screen) == [1]
        await run.until_shown("shown: 1 of 4 findings (−25)", "→ 75")
        await run.press("j", "j", "j")
        assert calls_of(screen) == [3, 5]
        await run.until_shown("→ 35", "→ 32")
        await run.press("x")
        assert calls_of(screen) == [1, 2, 3, 5]
        await run.press("tab")
        assert run.app.focused is screen.query_one(FindingTable)


async def test_what_cannot_be_observed_says_so(ledger: Ledger, start: Start) -> None:
    a_risky_day(ledger)
    async with start() as run:
        await shown(run)
        await run.until_shown("ASI07 not observable", "ASI09 not observable", "ASI11 (extension)")
        await run.press("tab", *["j"] * 7)
        await run.until_shown("ASI07 Insecure Inter-Agent Communication", "cannot prove who sent")


@pytest.mark.parametrize(
    ("line", "calls"),
    [("asi:05", [3, 5]), ("rule:pipe", [3]), ("session:20260530_10", [1, 2, 3, 5]), ("severity:critical", [1, 3])],
)
async def test_filter(ledger: Ledger, start: Start, line: str, calls: list[int]) -> None:
    a_risky_day(ledger)
    async with start() as run:
        screen = await shown(run)
        await run.press("slash")
        await run.type(line)
        await run.press("enter")
        assert calls_of(screen) == calls
        await run.until_shown(f"Filter: {line}")
        await run.press("x")
        assert calls_of(screen) == [1, 2, 3, 5]


async def test_a_filter_that_cannot_be_read_stays_open(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        screen = await shown(run)
        await run.press("slash")
        await run.type("asi:77")
        await run.press("enter")
        await run.until_shown("'77' is no id of the list")
        assert screen.query_one(PromptBar).is_open


async def test_s_goes_to_the_ids_and_hides_them(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        ids = (await shown(run)).query_one(AsiList)
        await run.press("s")
        assert ids.has_focus
        await run.press("s")
        assert not ids.display
        await run.press("s")
        assert ids.display
        assert ids.has_focus


async def test_narrow_screens_show_the_ids_on_demand(ledger: Ledger, start: Start) -> None:
    a_risky_day(ledger)
    async with start((60, 15)) as run:
        screen = await shown(run)
        ids = screen.query_one(AsiList)
        assert not ids.display
        await run.press("s")
        await run.until(lambda: ids.display and not screen.query_one(FindingTable).display)
        await run.press("j", "j", "enter")
        await run.until(lambda: not ids.display)
        assert calls_of(screen) == [1]


async def test_export(ledger: Ledger, start: Start, tmp_path: Path) -> None:
    a_risky_day(ledger)
    async with start() as run:
        await shown(run)
        await run.press("e")
        await run.press("ctrl+u")
        await run.type("found.json")
        await run.press("enter")
        await run.until_shown("4 findings were written to found.json")
    findings = json.loads((tmp_path / "found.json").read_text())
    assert [(one["ledger_id"], one["weight"], one["left"]) for one in findings] == [
        (1, 25, 75), (2, 15, 60), (3, 25, 35), (5, 3, 32),
    ]  # fmt: skip
    assert {one["session_id"] for one in findings} == {SESSION}


async def test_help_has_the_limits_whole(ledger: Ledger, start: Start) -> None:
    async with start((120, 60)) as run:
        await shown(run)
        await run.press("question_mark")
        assert isinstance(run.front(), HelpScreen)
        limits = (sentence[:40] for sentence in LIMITS)
        for part in (*limits, f"ASI11 {official_title('ASI11')}"[:40], "Calls, Posture, Lineage"):
            assert part in run.text


async def test_a_long_reading_shows_how_far_it_has_come_and_can_be_left(
    ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.db.execute("BEGIN")
    for number in range(1500):
        ledger.issue("terminal", {"command": f"make target{number}"}, ago=200_000 - 100 * number, status="CONFIRMED")
    ledger.done("terminal", {"command": DELETE}, ago=1)
    ledger.db.execute("COMMIT")
    go_on = asyncio.Event()
    async with start() as run:
        page = run.app.home.row_source.page

        async def halting(after_id: int) -> list[RawRow]:
            if after_id:
                await go_on.wait()
            return await page(after_id)

        monkeypatch.setattr(run.app.home.row_source, "page", halting)
        await run.press("2")
        await run.until_shown("Scoring: 1,000 of 1,501 calls, the score is not final")
        await run.press("tab")
        assert run.front().query_one(AsiList).has_focus
        await run.press("1")
        await run.until(lambda: isinstance(run.front(), CallsScreen))
        go_on.set()
        await run.press("2")
        await run.until_shown("75 of 100", "in 1,501 calls")
        assert "Scoring:" not in run.text


async def test_a_reading_that_fails_claims_no_score_and_starts_over(
    ledger: Ledger, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_risky_day(ledger)
    async with start() as run:
        page = run.app.home.row_source.page

        async def failing(after_id: int) -> list[RawRow]:
            raise SourceError(ledger.paths.ledger, "is locked by another process", "try again in a moment")

        monkeypatch.setattr(run.app.home.row_source, "page", failing)
        await run.press("2")
        await run.until_shown("is locked by another process", "scoring…")
        assert "of 100" not in run.text
        monkeypatch.setattr(run.app.home.row_source, "page", page)
        ledger.done("terminal", {"command": "make"}, ago=1)
        await run.until_shown("32 of 100", "in 6 calls")
        assert "is locked" not in run.text
