"""The ledger held by another process: hooks go on, nothing is lost, and the order stays."""

from __future__ import annotations

import json
import sqlite3
import threading

import pytest

from agent_ledger.engine import spool

from .homes import Home, LockHolder, read_rows, said, until, worker


def test_hooks_return_while_the_ledger_is_still_held_and_all_is_merged_in_order_afterwards(home: Home) -> None:
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    for n in range(50):
        home.pre(args={"path": f"/{n}"}, call=f"c{n}")
        home.post(args={"path": f"/{n}"}, call=f"c{n}", status="ok" if n % 2 else "error")
    home.post(call="before")
    assert home.turn(at_once=True) == ""
    assert holder.holds()
    waiting = spool.waiting(home.paths, {})
    assert (waiting.records, waiting.reason != "") == (101, True)
    holder.release()
    rows = home.rows()
    assert [row["tool_call_id"] for row in rows] == ["before", *(f"c{n}" for n in range(50))]
    assert [row["status"] for row in rows] == ["CONFIRMED", *["ERROR:error", "CONFIRMED"] * 25]
    assert spool.files(home.paths) == []


def test_a_call_issued_before_and_settled_under_the_lock_is_one_row(home: Home) -> None:
    home.pre(session_id="", turn_id="", call="c1")
    home.merged()
    holder = LockHolder(home.paths)
    home.post(call="c1")
    holder.release()
    row = home.only()
    assert (row["status"], row["session_id"]) == ("CONFIRMED", "s1")


def test_what_a_process_spooled_before_it_died_is_merged_by_the_next_one(home: Home) -> None:
    home.pre(call="first")
    home.merged()
    holder = LockHolder(home.paths)
    other = worker(home.folder, "script")
    assert other.stdin is not None
    other.stdin.write("for n in range(20): pre(f'd{n}')\npost('d3')\nsay('spooled')\nos.kill(os.getpid(), 9)\n")
    other.stdin.close()
    assert said(other) == "spooled"
    other.wait()
    holder.release()
    home.start()
    until(lambda: not spool.files(home.paths), "the dead process's spool is merged")
    rows = home.rows()
    assert [row["tool_call_id"] for row in rows] == ["first", *(f"d{n}" for n in range(20))]
    assert [row["status"] for row in rows if row["tool_call_id"] == "d3"] == ["CONFIRMED"]
    assert rows[1]["writer_id"] != rows[0]["writer_id"]


def test_sixteen_threads_lose_and_double_nothing(home: Home) -> None:
    home.start()

    def work(thread: int) -> None:
        for n in range(60):
            home.pre(args={"path": f"/{thread}/{n}"}, call=f"{thread}-{n}", session_id=f"s{thread % 4}")
            home.post(args={"path": f"/{thread}/{n}"}, call=f"{thread}-{n}", session_id=f"s{thread % 4}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = home.rows()
    assert sorted(row["tool_call_id"] for row in rows) == sorted(f"{t}-{n}" for t in range(16) for n in range(60))
    assert {row["status"] for row in rows} == {"CONFIRMED"}
    for number in range(16):
        mine = [row["tool_call_id"] for row in rows if row["tool_call_id"].startswith(f"{number}-")]
        assert mine == [f"{number}-{n}" for n in range(60)]


def test_four_processes_lose_and_double_nothing(home: Home) -> None:
    workers = [worker(home.folder, "calls", f"p{n}", "500") for n in range(4)]
    assert [said(process) for process in workers] == ["done"] * 4
    for process in workers:
        process.wait()
    home.start()
    until(lambda: not spool.files(home.paths), "nothing is spooled")
    rows = home.rows()
    assert sorted(row["tool_call_id"] for row in rows) == sorted(f"p{p}-{n}" for p in range(4) for n in range(500))
    assert {row["status"] for row in rows} == {"CONFIRMED"}
    counters = [row["changed"] for row in rows]
    assert len(set(counters)) == len(counters)


def test_one_line_in_the_log_however_many_calls_are_spooled(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    for n in range(30):
        home.pre(call=f"c{n}")
    until(lambda: home.recorder.keeper.trouble != "", "the trouble is known")
    holder.release()
    home.merged()
    assert len([r for r in caplog.records if "cannot be written" in r.getMessage()]) == 1


def test_the_spool_names_its_writer_and_what_kept_it(home: Home) -> None:
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    home.pre(call="c1")
    (path,) = spool.files(home.paths)
    writer, issue = [json.loads(line) for line in path.read_text().splitlines()]
    assert (writer["kind"], issue["kind"]) == ("writer", "issue")
    assert "locked" in issue["why"] or "writing" in issue["why"]
    assert issue["event"]["tool_call_id"] == "c1"
    holder.release()


def test_a_reader_in_the_middle_sees_whole_rows_only(home: Home) -> None:
    other = worker(home.folder, "calls", "p", "300")
    seen = 0
    until(lambda: home.paths.ledger.exists() and home.paths.ledger.stat().st_size > 0, "the ledger is there")
    while other.poll() is None:
        try:
            rows = read_rows(home.paths)
        except sqlite3.OperationalError:
            continue  # The tables are just being made.
        assert all(row["tool_call_id"] and row["changed"] for row in rows)
        assert len(rows) >= seen
        seen = len(rows)
    assert said(other) == "done"
    assert len(read_rows(home.paths)) == 300
