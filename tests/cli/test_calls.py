"""`calls`: filters, shapes, hostile rows, and every kind of bad input."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from ledger_tui.commands.calls import args_line, as_table, since_seconds
from ledger_tui.commands.errors import CommandError

NOW = 1_767_355_200.0

FIELDS = {
    "id", "ts", "session_id", "turn_id", "tool_call_id", "tool_name", "status", "state", "effect", "age_s", "grace_s",
    "args", "args_truncated", "result_digest", "repeat_of", "verdict",
}  # fmt: skip


def test_shape_and_order(six_states: Any, program: Any) -> None:
    rows = program("calls", "--json").json
    assert [row["state"] for row in rows] == ["confirmed", "error", "ghost", "revived", "overdue", "pending"]
    assert all(row.keys() >= FIELDS for row in rows)
    assert rows[0]["args"] == {"path": "notes.txt"}


@pytest.mark.parametrize(
    ("state", "ids"),
    [("pending", [6]), ("overdue", [5]), ("ghost", [3]), ("confirmed", [1]), ("error", [2]), ("revived", [4]),
     ("ghost,error", [2, 3])],
)  # fmt: skip
def test_filter_by_state(six_states: Any, program: Any, state: str, ids: list[int]) -> None:
    assert [row["id"] for row in program("calls", "--state", state, "--json").json] == ids


def test_other_filters(six_states: Any, program: Any) -> None:
    def ids(*arguments: str) -> list[int]:
        return [row["id"] for row in program("calls", "--json", *arguments).json]

    assert ids("--session", "s2") == [5, 6]
    assert ids("--tool", "cronjob") == [3]
    assert ids("--limit", "2") == [5, 6]
    assert ids("--state", "overdue", "--limit", "1") == [5]
    assert ids("--since", "2026-01-02T11:56:00Z") == [5, 6]
    assert ids("--since", "2026-01-03") == []


def test_a_limit_holds_behind_a_filter_by_clock(ledger: Any, program: Any) -> None:
    for number in range(30):
        ledger.add(status="PENDING", at=1_000_000_000 + number, grace_s=10.0**10 if number % 2 else 1.0)
    rows = program("calls", "--state", "overdue", "--limit", "3", "--json").json
    assert [row["id"] for row in rows] == [25, 27, 29]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90m", NOW - 5_400), ("24h", NOW - 86_400), ("2d", NOW - 172_800), ("1w", NOW - 604_800), ("30s", NOW - 30),
     ("2026-01-02", NOW - 43_200), ("2026-01-02T12:00:00+02:00", NOW - 7_200)],
)  # fmt: skip
def test_since(text: str, seconds: float) -> None:
    assert since_seconds(text, NOW) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "-3h", "3y", "24", "2026-13-01", "9999999999d", "nan", "1e9h"])
def test_since_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        since_seconds(text, NOW)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("calls", "--since", "soon"),
        ("calls", "--state", "lost"),
        ("calls", "--limit", "0"),
        ("calls", "--limit", "many"),
        ("calls", "--nonsense"),
        ("nonsense",),
        ("calls", "extra"),
        ("--profile", "../x", "calls"),
        ("--profile", "", "calls"),
        ("--ledger", "", "calls"),
        ("status", "--fail-on", "rain"),
        ("status", "--json", "--tmux"),
    ],
)
def test_wrong_usage_is_one_sentence_and_2(program: Any, sentence: Any, arguments: tuple[str, ...]) -> None:
    sentence(program(*arguments), 2)


def test_a_missing_default_is_an_empty_answer(program: Any) -> None:
    result = program("calls", "--json")
    assert (result.code, result.out, result.err) == (0, "[]\n", "")
    assert program("calls").code == 0
    assert program("calls", "--json", env={"HERMES_HOME": "/nowhere"}).json == []
    assert program("--hermes-home", "/nowhere", "calls", "--json").code == 3


def bad_inputs(folder: Path) -> dict[str, Path]:
    text = folder / "text.db"
    text.write_text("this is a letter, not a database\n" * 400)
    source = folder / "whole.db"
    whole = sqlite3.connect(source)
    whole.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts TEXT, tool_name TEXT, status TEXT)")
    whole.executemany(
        "INSERT INTO ledger VALUES(?,'2026-01-01T00:00:00Z','patch','CONFIRMED')", [(i,) for i in range(5000)]
    )
    whole.commit()
    whole.close()
    cut = folder / "cut.db"
    cut.write_bytes(source.read_bytes()[:20_000])
    other = folder / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE songs(id)")
    connection.close()
    return {"missing": folder / "missing.db", "folder": folder, "text": text, "cut": cut, "other": other}


@pytest.mark.parametrize("kind", ["missing", "folder", "text", "cut", "other"])
@pytest.mark.parametrize("command", ["calls", "status"])
def test_a_named_file_that_cannot_be_read_is_3(
    program: Any, sentence: Any, tmp_path: Path, kind: str, command: str
) -> None:
    path = bad_inputs(tmp_path)[kind]
    assert str(path) in sentence(program("--ledger", str(path), command, "--json"), 3)


def test_a_locked_ledger_is_3(program: Any, sentence: Any, tmp_path: Path) -> None:
    path = tmp_path / "locked.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("CREATE TABLE ledger(id INTEGER PRIMARY KEY, ts TEXT, tool_name TEXT, status TEXT)")
    holder.execute("BEGIN EXCLUSIVE")
    assert "locked" in sentence(program("--ledger", str(path), "calls"), 3)
    assert program("--ledger", str(path), "status", "--tmux").out == "ledger is busy\n"
    holder.execute("ROLLBACK")


HOSTILE = [
    "\x1b]0;taken over\x07",
    "\x1b[2J\x1b[31m",
    "[@click=app.quit]x[/]",
    "[/nothing]",
    "a\u202eb",
    "tab\tand\nline",
    "\u200b\u2066",
    "宽字符" * 30,
    "\x9b31m",
]


def test_hostile_rows_stay_inert(ledger: Any, program: Any) -> None:
    for text in HOSTILE:
        ledger.add(
            tool_name=text,
            session_id=text,
            status="ERROR:" + text,
            result_digest=text,
            args_json=json.dumps({text: text}),
        )
    ledger.add(args_json="[" * 1900 + "]" * 1900)
    ledger.add(args_json='{"a": NaN, "b": Infinity}')
    ledger.add(args_json=b"\xff\xfe")
    shown = program("calls")
    assert shown.code == 0
    assert len(shown.out.splitlines()) == 1 + len(HOSTILE) + 3
    for result in (shown, program("calls", "--json"), program("calls", env={"LANG": "C", "PYTHONUTF8": "0"})):
        assert result.code == 0
        assert not {
            c for c in result.out if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u200b\u2066")
        }


def test_json_is_ascii_and_keeps_the_value(ledger: Any, program: Any) -> None:
    ledger.add(args_json=json.dumps({"text": "bell \x07 and ü"}))
    result = program("calls", "--json")
    assert result.out.isascii()
    assert result.json[0]["args"] == {"text": "bell \x07 and ü"}


def test_lines_fit_and_align_by_cells(ledger: Any, program: Any) -> None:
    ledger.add(tool_name="宽工具", args_json='{"a": "b"}')
    ledger.add(tool_name="patch", args_json='{"a": "b"}')
    _head, wide, narrow = program("calls").out.splitlines()
    assert wide.index("a=b") + 3 == narrow.index("a=b")


def a_row(**changes: Any) -> dict[str, Any]:
    plain = {"id": 7, "ts": "2026-01-02T11:58:00.000Z", "state": "confirmed", "status": "CONFIRMED", "age_s": 120.0}
    return {**plain, "session_id": "s1", "tool_name": "patch", "args": {"path": "a.py"}, **changes}


MALFORMED = {"state": "error", "status": "ERROR:invalid_tool_arguments", "args": {}}


def test_columns_are_as_wide_as_what_they_hold() -> None:
    rows = [a_row(session_id="team_reminders_2c3263cb"), a_row(id=8, **MALFORMED)]
    assert as_table(rows, width=120) == [
        "ID  TIME (UTC)           STATE                         AGE  SESSION                  TOOL   ARGUMENTS",
        "7   2026-01-02 11:58:00  confirmed                     2m   team_reminders_2c3263cb  patch  path=a.py",
        "8   2026-01-02 11:58:00  error invalid_tool_arguments  2m   s1                       patch  -",
    ]


def test_in_little_room_ids_keep_their_ends_and_what_is_cut_is_marked() -> None:
    rows = [a_row(session_id="team_reminders_2c3263cb", args={"path": "p" * 90}), a_row(id=8, **MALFORMED)]
    assert as_table(rows, width=80) == [
        "ID  TIME (UTC)      STATE             AGE  SESSION       TOOL   ARGUMENTS",
        "7   01-02 11:58:00  confirmed         2m   …rs_2c3263cb  patch  path=pppppppppp…",
        "8   01-02 11:58:00  error invalid_t…  2m   s1            patch  -",
    ]


@pytest.mark.parametrize("width", [200, 160, 120, 100, 80, 60])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = {"session_id": "chat_" + "5" * 60, "tool_name": "mcp__五月の予算__" + "x" * 60, "args": {"n": "五" * 90}}
    rows = [a_row(**names), a_row(id=123_456, **MALFORMED), a_row(ts=None, session_id=None, age_s=None)]
    assert all(cell_len(line) <= width for line in as_table(rows, width=width))


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ('{"path": "site/prices.html", "content": "<tab', "path=site/prices.html content=<tab…"),
        ('{"path": "a.md", "cont', "path=a.md …"),
        ("{'a': 1}", "{'a': 1}"),
        ({}, "-"),
        (None, "-"),
        ({"command": "a\x1b[2J"}, "command=a\\u001b[2J"),
    ],
)
def test_arguments_on_a_line(args: Any, line: str) -> None:
    assert args_line(args) == line
