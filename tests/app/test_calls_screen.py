"""The Calls screen by its keys: what each does to what is shown."""

from __future__ import annotations

from pathlib import Path

from widgets.call_panes import CallPanes
from widgets.call_table import CallTable
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


async def test_waiting_records_are_shown(ledger: Ledger, start: Start) -> None:
    a_day(ledger)
    ledger.paths.spool.mkdir(mode=0o700)
    (ledger.paths.spool / "1.jsonl").write_text('{"kind": "issue"}\n{"kind": "settle"}\n')
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
