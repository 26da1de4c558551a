"""The Calls screen by its keys: what each does to what is shown."""

from __future__ import annotations

import csv
import json
import os
import stat
from pathlib import Path

import pytest

from agent_ledger.engine.records import utc_text
from screens.call_details import CallDetailsScreen
from screens.help import HelpScreen
from widgets.call_panes import CallPanes
from widgets.call_table import CallTable
from widgets.prompt_bar import PromptBar
from widgets.session_list import SessionList

from .conftest import Run, Start
from .ledgers import NOW, Clock, Ledger, a_day


def rows_of(run: Run, pane: str) -> list[int]:
    """Ids of a pane's rows, from the top."""
    table = run.calls.query_one(f"#{pane}", CallTable)
    return [key for key in (table.row_key(index) for index in range(table.row_count)) if isinstance(key, int)]


def cursor_of(run: Run, pane: str = "settled") -> object:
    return run.calls.query_one(f"#{pane}", CallTable).cursor_key


def focused(run: Run) -> str | None:
    return run.app.focused.id if run.app.focused is not None else None


async def test_every_call_is_in_its_pane(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        assert rows_of(run, "pending") == [9, 11, 10]
        assert rows_of(run, "ghosts") == [3]
        assert rows_of(run, "settled") == [8, 7, 6, 5, 4, 2, 1]


async def test_a_new_call_is_shown_and_moves_when_it_settles(ledger: Ledger, start: Start) -> None:
    async with start((120, 24)) as run:
        await run.until_shown("nothing is recorded yet")
        call = ledger.issue("terminal", {"command": "make install"})
        await run.until(lambda: rows_of(run, "pending") == [call])
        await run.until_shown("○ pending", "2:00", "make install")
        ledger.settle(call, "ERROR:timeout", duration_ms=1200)
        await run.until(lambda: rows_of(run, "settled") == [call])
        await run.until_shown("✗ error", "timeout: make install", "nothing waits")


async def test_a_ledger_that_is_not_there_yet(home: Path, clock: Clock, start: Start) -> None:
    async with start() as run:
        await run.until_shown("◌ missing", "no ledger yet")
        ledger = Ledger(home, clock)
        ledger.issue("patch", {"path": "a.py"})
        await run.until_shown("● live", "a.py")


async def test_what_becomes_overdue_is_told(ledger: Ledger, clock: Clock, start: Start) -> None:
    ledger.issue("cronjob", {"action": "create"}, ago=100)
    async with start() as run:
        await run.until_shown("0:20")
        clock.now += 30
        await run.until_shown("▲ overdue", "10s late", "cronjob #1 is overdue")


async def test_a_new_ghost_is_told_and_the_old_ones_are_not(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        assert "was lost" not in run.text
        ledger.report(9)
        await run.until_shown("patch #9 was lost")
        assert rows_of(run, "ghosts") == [9, 3]


async def test_names_in_a_toast_are_no_markup(ledger: Ledger, start: Start) -> None:
    call = ledger.issue("[red]x[/] [@click=app.quit]y", {})
    async with start((120, 30)) as run:
        ledger.report(call)
        await run.until_shown("[red]x[/] [@click=app.quit]y #1 was lost")


async def test_tab_goes_round_the_panes_and_the_sessions(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        seen = []
        for _ in range(4):
            seen.append(focused(run))
            await run.press("tab")
        assert seen == ["settled", "sessions", "pending", "ghosts"]
        await run.press("shift+tab")
        assert focused(run) == "ghosts"
        await run.press("right", "left", "l", "h")
        assert focused(run) == "ghosts"


async def test_keys_that_come_faster_than_the_focus_are_all_counted(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        run.calls.action_pane(-1)
        run.calls.action_pane(-1)
        await run.until(lambda: focused(run) == "pending")


async def test_an_untouched_list_stays_at_its_top_while_older_rows_arrive_above(ledger: Ledger, start: Start) -> None:
    newer = ledger.issue("terminal", {"command": "make"})
    async with start() as run:
        assert cursor_of(run, "pending") == newer
        older = ledger.issue("terminal", {"command": "make all"}, ago=60)
        await run.until(lambda: rows_of(run, "pending") == [older, newer])
        assert cursor_of(run, "pending") == older


async def test_j_k_and_arrows_move_the_cursor(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        assert cursor_of(run) == 8
        await run.press("j", "down")
        assert cursor_of(run) == 6
        await run.press("k")
        assert cursor_of(run) == 7
        await run.press("up", "up", "up")
        assert cursor_of(run) == 8
        await run.press("G")
        assert cursor_of(run) == 1
        await run.press("g")
        assert cursor_of(run) == 8
        await run.press("end")
        assert cursor_of(run) == 1
        await run.press("pageup")
        assert cursor_of(run) == 8


async def test_the_cursor_stays_on_its_row_while_others_arrive(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("j")
        new = [ledger.done("terminal", {"command": f"echo {n}"}, ago=1) for n in range(30)]
        await run.until(lambda: rows_of(run, "settled")[0] == new[-1])
        assert cursor_of(run) == 7


async def test_at_the_top_the_list_follows_what_is_new(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        new = ledger.done("terminal", {"command": "true"}, ago=1)
        await run.until(lambda: cursor_of(run) == new)


async def test_choosing_a_session_narrows_every_pane(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("s")
        assert focused(run) == "sessions"
        await run.press("j", "j")
        await run.settle()
        assert run.calls.query_one(SessionList).cursor_key == "20260530_081204_9f3c1a"
        assert rows_of(run, "pending") == []
        assert rows_of(run, "ghosts") == [3]
        assert rows_of(run, "settled") == [4, 2, 1]
        await run.press("enter")
        assert focused(run) == "settled"
        await run.press("x")
        await run.settle()
        assert rows_of(run, "settled") == [8, 7, 6, 5, 4, 2, 1]


async def test_s_hides_the_sessions_and_shows_them_again(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        sessions = run.calls.query_one(SessionList)
        await run.press("s", "s")
        assert not sessions.display
        assert focused(run) == "settled"
        await run.press("s")
        assert sessions.display


async def test_narrow_the_sessions_come_and_go(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((60, 15)) as run:
        sessions, panes = run.calls.query_one(SessionList), run.calls.query_one(CallPanes)
        assert not sessions.display
        await run.press("s")
        assert sessions.display
        assert not panes.display
        assert focused(run) == "sessions"
        await run.press("j", "enter")
        await run.settle()
        assert panes.display
        assert rows_of(run, "settled") == [8, 7, 6, 5]
        await run.until_shown("Session: 20260530_114502_77b0de")


async def test_low_one_pane_at_a_time(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start((60, 15)) as run:
        await run.until_shown("confirmed")
        assert "ghost " not in run.text
        await run.press("tab", "tab")
        await run.until_shown("◆ ghost")
        assert "confirmed " not in run.text


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


async def test_rows_beyond_a_page_are_fetched(ledger: Ledger, start: Start) -> None:
    ledger.db.execute("BEGIN")
    ids = [ledger.done("terminal", {"command": f"echo {n}"}, ago=5000 - n) for n in range(1000)]
    ledger.db.execute("COMMIT")
    async with start() as run:
        assert rows_of(run, "settled") == ids[:-501:-1]
        await run.press("G")
        await run.until(lambda: cursor_of(run) == ids[0], "the oldest row")
        await run.press("pageup")
        await run.settle()
        await run.press("g")
        await run.until(lambda: cursor_of(run) == ids[-1], "the newest row")
        for _ in range(40):
            await run.press("pagedown")
        await run.settle()
        assert cursor_of(run) != ids[-1]
        shown = rows_of(run, "settled")
        assert shown == list(range(shown[0], shown[-1] - 1, -1))


async def test_enter_opens_the_details_and_three_keys_close_them(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        for key in ("q", "backspace", "escape"):
            await run.press("enter")
            assert isinstance(run.front(), CallDetailsScreen)
            await run.until_shown("五月/予算.csv", "confirmed")
            await run.press(key)
            assert run.front() is run.calls


async def test_details_count_down_and_follow_the_row(ledger: Ledger, clock: Clock, start: Start) -> None:
    call = ledger.issue("terminal", {"command": "make"}, ago=20)
    async with start() as run:
        await run.press("tab", "tab", "enter")
        await run.until_shown("Counts as lost in 1:40")
        clock.now += 60
        await run.until_shown("Counts as lost in 0:40")
        ledger.settle(call, exit_code=2, duration_ms=80_000, result_digest="2 tests failed")
        await run.until_shown("settled: CONFIRMED", "2 tests failed", "exit code 2")
        ledger.settle(call, "CONFIRMED", later_status="ERROR:timeout", later_ts=utc_text(clock.now + 5))
        await run.until_shown("contradicted: ERROR:timeout")


async def test_details_lead_to_the_repeats(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    async with start() as run:
        await run.press("tab", "tab", "enter")
        await run.until_shown("#9", "was issued before, as call 6")
        await run.press("enter")
        await run.until_shown("patch  #6")
        await run.press("p")
        await run.until_shown("patch  #9")


async def test_help_lists_every_key_of_the_screen(ledger: Ledger, start: Start) -> None:
    async with start((100, 40)) as run:
        await run.press("question_mark")
        assert isinstance(run.front(), HelpScreen)
        for key in ("/", "tab", "s ", "e ", "j ↓", "k ↑", "?", "q", "^p"):
            assert f" {key}" in run.text
        await run.press("q")
        assert run.front() is run.calls


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


async def test_an_export_never_overwrites(ledger: Ledger, start: Start, tmp_path: Path) -> None:
    taken = tmp_path / "a.json"
    taken.write_text("mine")
    async with start((160, 24)) as run:
        await run.press("e", "ctrl+u")
        await run.type(str(taken))
        await run.press("enter")
        await run.until_shown("exists already")
        assert taken.read_text() == "mine"


async def test_waiting_records_are_shown(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    ledger.paths.spool.mkdir(mode=0o700)
    (ledger.paths.spool / "1.jsonl").write_text("{}\n{}\n")
    async with start() as run:
        await run.until_shown("⚠ degraded 2 spooled")


async def test_records_that_were_set_aside_are_shown(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    ledger.paths.spool.mkdir(mode=0o700)
    (ledger.paths.spool / "unreadable.txt").write_text("{}\n{}\n")
    async with start() as run:
        await run.until_shown("⚠ degraded 2 set aside", "2 records were not understood", "move it away.")


async def test_titles_of_sessions_come_from_the_host(ledger: Ledger, start: Start) -> None:
    import sqlite3

    a_day(ledger)
    state = sqlite3.connect(ledger.paths.state)
    state.execute("CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, title TEXT, started_at REAL)")
    state.execute("INSERT INTO sessions VALUES('20260530_114502_77b0de', 'cli', '[b]Mira[/b]', ?)", (NOW - 3000,))
    state.commit()
    state.close()
    async with start() as run:
        await run.until_shown("[b]Mira[/b]")


async def test_a_ledger_of_five_columns(home: Path, start: Start) -> None:
    """By other software: no sessions, no counter, times as numbers."""
    import sqlite3

    path = home / "plugin-data" / "agent-ledger" / "ledger.db"
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    db.execute("INSERT INTO ledger VALUES(1, ?, 'write_file', 'CONFIRMED', '{\"path\": \"a\"}')", (NOW - 60,))
    db.execute("INSERT INTO ledger VALUES(2, ?, 'terminal', 'PENDING', '{}')", (NOW - 5,))
    db.commit()
    async with start((120, 24)) as run:
        assert rows_of(run, "settled") == [1]
        assert rows_of(run, "pending") == [2]
        await run.until_shown("by other software")
        db.execute("UPDATE ledger SET status = 'CONFIRMED' WHERE id = 2")
        db.commit()
        await run.until(lambda: rows_of(run, "settled") == [2, 1])
        db.close()


async def test_q_leaves_the_app(ledger: Ledger, start: Start) -> None:
    async with start() as run:
        await run.press("q")
        await run.until(lambda: run.app.return_code is not None or not run.app.is_running)
