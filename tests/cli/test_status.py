"""`status`: the shape, the exit codes, and the line for tmux."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from agent_ledger.engine.paths import Paths
from ledger_tui import tmux_line
from ledger_tui.commands import reading
from ledger_tui.commands.place import Place
from ledger_tui.sources import snapshot
from widgets.look import GLYPHS


def test_all_six_states_are_counted_and_add_up(six_states: Any, program: Any, home: Path) -> None:
    found = program("status", "--json").json
    assert found["home"] == str(home)
    assert found["ledger"] == {
        "path": str(six_states.path),
        "exists": True,
        "rows": 6,
        "pending": 1,
        "overdue": 1,
        "ghost": 1,
        "confirmed": 1,
        "error": 1,
        "revived": 1,
        "spooled": 0,
        "set_aside": 0,
    }


def test_a_home_in_which_nothing_happened(program: Any, home: Path) -> None:
    found = program("status", "--json").json
    assert found["sessions"] == {
        "path": str(home / "state.db"), "exists": False, "total": 0, "orphans": 0, "adoptable": 0, "zombies": 0,
        "dormant": 0, "set_aside": 0,
    }  # fmt: skip
    assert found["posture"] == {"score": None, "findings": 0}
    assert found["policy"] == {"mode": "off"}
    assert found["prompt_policy"] == {"mode": "off", "enforced": None}
    assert found["gateway"]["running"] is False
    text = program("status").out
    assert "no score: nothing was recorded" in text
    [ledger] = [line for line in text.splitlines() if line.startswith("ledger ")]
    assert ledger.endswith("ledger.db is not there); if that lasts, see: ledger-tui doctor")  # Is the plugin here?


@pytest.mark.parametrize(("file", "line"), [("policy_mode", "policy    "), ("prompt_policy_mode", "prompts   ")])
def test_a_mode_is_what_the_plugin_reads_and_a_wrong_word_is_told_the_right_ones(
    program: Any, home: Path, file: str, line: str
) -> None:
    """Editors of Windows begin a file with a mark, which the plugin passes over; `dry-run` is no mode."""
    path = home / "plugin-data" / "agent-ledger" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    for written, shown in (
        (b"\xef\xbb\xbfdry_run\r\n", "dry_run"),
        (b"dry-run\n", "invalid (it must be one of off, dry_run, enforce)"),
    ):
        path.write_bytes(written)
        [found] = [one for one in program("status").out.splitlines() if one.startswith(line)]
        assert found.removeprefix(line).split(";")[0] == shown


def test_sessions_are_counted(program: Any, home: Path) -> None:
    store = sqlite3.connect(home / "state.db")
    store.execute("CREATE TABLE sessions(id TEXT PRIMARY KEY)")
    store.executemany("INSERT INTO sessions VALUES(?)", [("a",), ("b",), ("c",)])
    store.commit()
    store.close()
    assert program("status", "--json").json["sessions"]["total"] == 3


def test_a_damaged_session_store_does_not_hide_the_ledger(six_states: Any, program: Any, home: Path) -> None:
    (home / "state.db").write_bytes(b"not a database, whatever its name says" * 50)
    result = program("status", "--json")
    assert result.code == 3
    assert result.json["ledger"]["ghost"] == 1
    assert result.json["sessions"]["total"] is None
    assert "state.db" in result.err


@pytest.mark.parametrize(("fail_on", "code"), [("ghost", 1), ("finding", 3), ("orphan", 3)])
@pytest.mark.parametrize("tmux", [(), ("--tmux",)])
def test_a_damaged_session_store_is_told_whatever_is_asked_for(
    ledger: Any, program: Any, home: Path, fail_on: str, code: int, tmux: tuple[str, ...]
) -> None:
    ledger.add(status="GHOST_REPORTED")
    (home / "state.db").write_bytes(b"not a database, whatever its name says" * 50)
    result = program("status", "--fail-on", fail_on, *tmux)
    assert (result.code, result.err.count("\n")) == (code, 1)
    assert "state.db is no SQLite database" in result.err
    assert "1 ghost" in result.out


@pytest.mark.parametrize(
    ("word", "mode"),
    [("off", "off"), ("dry_run\n", "dry_run"), ("enforce", "enforce"), ("on", "invalid"), ("", "invalid")],
)
def test_policy_mode_is_the_word_in_the_file(ledger: Any, program: Any, word: str, mode: str) -> None:
    (ledger.path.parent / "policy_mode").write_text(word)
    assert program("status", "--json").json["policy"]["mode"] == mode


@pytest.mark.parametrize(
    ("version", "enforced"), [("0.19.0", False), ("0.22.2.post1", False), ("0.22.6", True), ("odd", None)]
)
def test_prompt_blocks_are_honoured_since_0_22_6(
    ledger: Any, program: Any, version: str, enforced: bool | None
) -> None:
    ledger.writer(1, "1", host=version)
    assert program("status", "--json").json["prompt_policy"]["enforced"] is enforced


def test_fail_on_ghost_counts_overdue_calls(ledger: Any, program: Any) -> None:
    ledger.add(status="CONFIRMED")
    assert program("status", "--fail-on", "ghost").code == 0
    ledger.add(status="PENDING", at=1_000_000_000)
    assert program("status", "--fail-on", "ghost").code == 1
    assert program("status", "--tmux", "--fail-on", "ghost").code == 1


def test_a_call_of_a_dead_process_is_overdue_at_once(ledger: Any, program: Any) -> None:
    gone = ledger.writer(2**22 + 1, "1")  # Above the kernel's highest process number.
    ledger.add(status="PENDING", at=time.time(), grace_s=10_000.0, writer_id=gone)
    assert program("status", "--json").json["ledger"]["overdue"] == 1
    assert program("status", "--tmux").out == "▲1 overdue\n"


def test_tmux_line(six_states: Any, program: Any) -> None:
    assert program("status", "--tmux").out == "○1 pending ▲1 overdue ◆1 ghost\n"
    assert program("status", "--tmux", env={"LANG": "C", "LC_ALL": "C"}).out == "1 pending !1 overdue *1 ghost\n"


def test_tmux_line_with_options_before(six_states: Any, program: Any, tmp_path: Path) -> None:
    named = program("--ledger", str(six_states.path), "status", "--tmux", env={"HERMES_HOME": str(tmp_path)})
    assert named.out == "○1 pending ▲1 overdue ◆1 ghost\n"
    (tmp_path / "home" / "profiles" / "other").mkdir(parents=True)
    assert program("--profile=other", "status", "--tmux").out == "no ledger yet\n"
    assert program("--ledger", "/nowhere/ledger.db", "status", "--tmux").code == 0


def test_tmux_line_of_a_quiet_and_of_a_broken_ledger(ledger: Any, program: Any, tmp_path: Path) -> None:
    assert program("status", "--tmux").out == "✓ ledger ok\n"
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"\0" * 5000)
    result = program("--ledger", str(broken), "status", "--tmux")
    assert (result.code, result.out) == (0, "ledger cannot be read\n")
    assert program("--ledger", str(tmp_path), "status", "--tmux").out == "ledger cannot be read\n"


@pytest.mark.parametrize("amount", [1, 999, 9_999, 10_000, 999_999, 1_000_000, 10**13])
def test_the_line_fits_whatever_the_figures(amount: int) -> None:
    for unicode in (True, False):
        line = tmux_line.text(amount, amount, amount, waiting=True, unicode=unicode)
        assert cell_len(line) <= tmux_line.WIDTH
        assert line.isascii() is not unicode


def test_the_line_and_the_engine_count_alike(six_states: Any, home: Path) -> None:
    alive, gone = six_states.writer(1, "0"), six_states.writer(2**22 + 1, "1")
    now, mono = 1_767_355_200.0, 5_000.0
    cases: list[tuple[float, float | None, int | None, dict[str, Any]]] = [
        (now - 10, 5.0, None, {}),
        (now - 10, 50.0, None, {}),
        (now + 900, 5.0, None, {}),
        (now - 10, 50.0, gone, {}),
        (now - 10, 5.0, alive, {"mono": mono - 2}),
        (now - 10, None, None, {"tool_name": "terminal"}),
        (now - 1000, None, None, {"tool_name": "terminal"}),
        (now - 1000, 5.0, None, {"no_signal": 1}),
        (now - 1000, 5.0, gone, {"no_signal": 1}),
    ]
    for at, grace, writer, extra in cases:
        six_states.add(status="PENDING", at=at, grace_s=grace, writer_id=writer, **extra)
    for ts in ("not a time", "2026-01-02 11:59:59", "2026-01-02T11:59:59+00:00", "", -5, 1_767_355_100):
        six_states.add(status="PENDING", ts=ts)
    place = Place(home, six_states.path, home / "state.db", clock=lambda: now, mono_clock=lambda: mono)
    with snapshot.reading_ledger(six_states.path) as ledger:
        counts = reading.count_states(ledger, place)
    ours, _ = tmux_line.read_counts(str(six_states.path), now=now, mono_now=mono)
    assert ours == (counts["pending"], counts["overdue"], counts["ghost"])
    assert counts["rows"] == 21


def test_a_ledger_by_other_software_is_counted(tmp_path: Path, program: Any) -> None:
    path = tmp_path / "foreign.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts REAL, tool_name TEXT, status TEXT, args_json TEXT)")
    other.execute("INSERT INTO ledger VALUES(1, 1700000000.5, 'terminal', 'PENDING', '{}')")
    other.execute("INSERT INTO ledger VALUES(2, ?, 'terminal', 'PENDING', '{}')", (time.time(),))
    other.commit()
    other.close()
    found = program("--ledger", str(path), "status", "--json").json["ledger"]
    assert (found["rows"], found["pending"], found["overdue"]) == (2, 1, 1)
    assert program("--ledger", str(path), "status", "--tmux").out == "○1 pending ▲1 overdue\n"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_waiting_records_show_in_the_line(
    ledger: Any, program: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    paths = Paths(home)
    folder = paths.spool_elsewhere if elsewhere else paths.spool
    folder.mkdir(mode=0o700)
    record = folder / "7-abc.jsonl"
    record.write_text('{"kind": "issue"}\n')
    record.chmod(0o600)
    env = {"TMPDIR": str(tmp_path)}
    assert program("status", "--tmux", env=env).out == "…spool\n"
    assert program("status", "--json", env=env).json["ledger"]["spooled"] == 1
    size = record.stat().st_size
    ledger.connection.execute("INSERT INTO spool_merged(name, size, merged_ts) VALUES('7-abc.jsonl', ?, '')", (size,))
    assert program("status", "--tmux", env=env).out == "✓ ledger ok\n"


def test_the_line_never_waits_at_a_pipe(program: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert program("--ledger", str(pipe), "status", "--tmux").out == "ledger cannot be read\n"


def test_a_running_gateway_is_seen_by_its_lock(program: Any, home: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (home / "gateway.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert program("status", "--json").json["gateway"]["running"] is True
    assert program("status", "--json").json["gateway"]["running"] is False


def test_a_reused_process_number_is_no_gateway(program: Any, home: Path) -> None:
    (home / "gateway.pid").write_text('{"pid": 1, "start_time": 123456789}')
    assert program("status", "--json").json["gateway"]["running"] is False


def test_a_home_that_the_demo_made_is_called_a_simulation(six_states: Any, program: Any, home: Path) -> None:
    assert program("status", "--json").json["simulation"] is False
    assert "simulation" not in program("status").out
    (home / "SIMULATION.md").write_text("made by the demo")
    assert program("status", "--json").json["simulation"] is True
    assert program("status").out.splitlines()[0].startswith(f"home      {home}  (a simulation")


def test_the_marks_of_the_line_are_those_of_the_app() -> None:
    for state in ("pending", "overdue", "ghost"):
        assert tmux_line.MARKS[state] == GLYPHS[state]


@pytest.mark.parametrize("kind", ["missing", "file"])
@pytest.mark.parametrize(
    "command", [("status",), ("calls",), ("doctor",), ("prune", "--keep", "1"), ("watch",), ("plugin", "status")]
)
def test_a_named_home_must_be_there(
    program: Any, sentence: Any, tmp_path: Path, kind: str, command: tuple[str]
) -> None:
    path = tmp_path / "nope"
    if kind == "file":
        path.touch()
    told = sentence(program("--hermes-home", str(path), *command), 3)
    assert str(path) in told
    assert ("is no folder" if kind == "file" else "does not exist") in told


def test_a_named_profile_must_be_there(program: Any, sentence: Any, home: Path) -> None:
    assert str(home / "profiles" / "nope") in sentence(program("--profile", "nope", "status"), 3)
    assert str(home / "profiles" / "nope") in sentence(program("--profile", "nope", "calls", "--json"), 3)
    line = program("--profile", "nope", "status", "--tmux")
    assert (line.code, line.out) == (3, "no Hermes home there\n")


def test_a_default_home_may_still_be_missing(program: Any, tmp_path: Path) -> None:
    nowhere = {"HERMES_HOME": str(tmp_path / "later")}
    assert program("status", "--json", env=nowhere).json["ledger"]["exists"] is False
    assert program("calls", "--json", env=nowhere).json == []
    assert program("status", "--tmux", env=nowhere).out == "no ledger yet\n"


def test_a_default_home_that_is_a_file_is_an_error(program: Any, sentence: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is no folder" in sentence(program("status", env={"HERMES_HOME": str(tmp_path / "file")}), 3)


@pytest.mark.parametrize(("text", "number", "words"), [("{}\n", 1, "1 record set"), ("{}\n{}\n{", 3, "3 records set")])
def test_records_that_were_set_aside_are_named(
    six_states: Any, program: Any, home: Path, text: str, number: int, words: str
) -> None:
    path = home / "plugin-data" / "agent-ledger" / "spool" / "unreadable.txt"
    path.parent.mkdir(mode=0o700)
    path.write_text(text)
    assert program("status", "--json").json["ledger"]["set_aside"] == number
    assert f"aside     {words} aside as not understood" in program("status").out
    (found,) = [check for check in program("doctor", "--json").json if check["check"] == "set-aside"]
    assert found["state"] == "warn"
    assert str(path) in found["text"]
    assert found["text"].startswith(f"{number} record")
    assert found["remedy"]


def test_nothing_set_aside_is_not_worth_a_line(six_states: Any, program: Any) -> None:
    assert program("status", "--json").json["ledger"]["set_aside"] == 0
    assert "\naside " not in program("status").out
