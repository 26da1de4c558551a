"""`hermes ledger` as a host calls it, and how both commands are offered to a host."""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

import agent_ledger as door
from agent_ledger import host_command
from agent_ledger.engine import glance, short_words

from .chats import KEY, Store, gateway
from .homes import ROOT, Home

PAGE = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")
Hermes = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hermes(home: Home, capsys: pytest.CaptureFixture[str]) -> Hermes:
    """Runs `hermes ledger WORDS` in the home; the exit code, and what was written to both streams."""

    def run(*words: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser(prog="hermes ledger")
        door.set_up_cli_command(parser)
        parser.set_defaults(func=door.cli_command)
        code = 0
        try:
            asked = parser.parse_args(words)
            asked.func(asked)
        except SystemExit as left:
            code = int(left.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_status_on_the_command_line_is_about_the_whole_home(lived: Home, hermes: Hermes) -> None:
    code, out, _ = hermes()
    assert code == 0
    assert "ledger   4 calls: 3 pending, 1 confirmed" in out.splitlines()
    assert host_command.MORE in out
    shape = json.loads(hermes("status", "--json")[1])
    assert shape["home"] == str(lived.folder)
    states = ("pending", "overdue", "ghost", "confirmed", "error", "revived")
    assert [shape["ledger"][name] for name in ("rows", *states)] == [4, 3, 0, 0, 1, 0, 0]
    assert shape["policy"] == {"mode": "off"}


def test_calls_are_filtered_and_have_the_documented_shape(lived: Home, hermes: Hermes) -> None:
    rows: list[Mapping[str, Any]] = json.loads(hermes("calls", "--json")[1])
    assert [row["id"] for row in rows] == [1, 2, 3, 4]
    assert rows[1]["args"] == {"command": "git -C thesis push origin ch3"}
    assert [row["id"] for row in json.loads(hermes("calls", "--json", "--state", "confirmed")[1])] == [1]
    assert [row["id"] for row in json.loads(hermes("calls", "--json", "--limit", "2")[1])] == [3, 4]
    assert [row["id"] for row in json.loads(hermes("calls", "--json", "--session", "s9")[1])] == [4]
    assert json.loads(hermes("ghosts", "--json")[1]) == []
    assert hermes("ghosts")[1] == "No call is lost: each was settled, or is within its time.\n"


def test_the_score_is_that_of_the_program(lived: Home, hermes: Hermes) -> None:
    lived.pre("terminal", {"command": "rm -rf /"}, call="d")
    lived.merged()
    found = json.loads(hermes("posture", "--json")[1])
    assert (found["score"], len(found["findings"]), found["rows"]) == (75, 1, 5)
    assert "Score   75, from 5 recorded calls and 1 findings" in hermes("posture")[1]


def test_a_changed_record_is_found_by_the_check(lived: Home, hermes: Hermes) -> None:
    code, out, _ = hermes("check")
    assert (code, out.splitlines()[0]) == (0, "Whole: 5 records of 4 calls.")
    with closing(sqlite3.connect(lived.paths.ledger)) as ledger:
        ledger.execute("UPDATE ledger SET args_json='{}' WHERE id=2")
        ledger.commit()
    code, out, _ = hermes("check", "--json")
    shape = json.loads(out)
    assert (code, shape["state"], shape["first"]["ledger_id"], shape["first"]["kind"]) == (1, "broken", 2, "edited")


def test_an_empty_home_is_an_empty_answer(home: Home, hermes: Hermes) -> None:
    assert hermes("status")[0] == 0
    assert json.loads(hermes("calls", "--json")[1]) == []
    assert json.loads(hermes("posture", "--json")[1])["score"] is None
    assert json.loads(hermes("check", "--json")[1])["state"] == "empty"


def test_wrong_usage_and_files_that_are_no_ledger(home: Home, hermes: Hermes) -> None:
    assert hermes("calls", "--limit", "0")[0] == 2
    code, out, err = hermes("posture", "--since", "whenever")
    assert (code, out, err.count("\n")) == (2, "", 1)
    home.paths.data.mkdir(parents=True, exist_ok=True)
    home.paths.ledger.write_bytes(b"this is no database, whatever its name may say" * 30)
    for command in ("status", "ghosts", "calls", "posture", "check"):
        code, out, err = hermes(command)
        assert (code, out) == (3, "")
        assert err.startswith(f"{home.paths.ledger} cannot be read")


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "state.db-wal"])
def test_a_pipe_in_a_files_place_keeps_nobody_waiting(home: Home, store: Store, hermes: Hermes, name: str) -> None:
    store.session("s1", KEY, 10.0)
    home.paths.data.mkdir(parents=True, exist_ok=True)
    if name == "ledger.db-wal":
        sqlite3.connect(home.paths.ledger).close()
    os.mkfifo((home.folder if name.startswith("state") else home.paths.data) / name)
    assert gateway() == short_words.TROUBLE
    assert hermes("calls")[0] == (0 if name.startswith("state") else 3)


def as_a_program(words: list[str], out: int | str) -> subprocess.CompletedProcess[str]:
    """`hermes ledger WORDS` in a process of its own, which writes to `out`."""
    code = "import sys, agent_ledger, argparse as a; p = a.ArgumentParser(); agent_ledger.set_up_cli_command(p);"
    code += f" agent_ledger.cli_command(p.parse_args({words}))"
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", code]
    with open(out, "w") as stream:
        return subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, cwd=ROOT, text=True, env=environment)


def test_a_reader_that_has_had_enough_is_no_error(lived: Home) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = as_a_program(["calls", "--json"], writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")
def test_a_full_disk_is_one_sentence(lived: Home) -> None:
    done = as_a_program(["calls", "--json"], "/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith("The answer could not be given in full (")


def test_an_error_of_our_own_is_not_called_wrong_usage(
    lived: Home, hermes: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(asked: object) -> int:
        raise ValueError("a mistake in the program")

    monkeypatch.setattr(host_command, "_COMMANDS", {**host_command._COMMANDS, "calls": (broken, "")})
    with pytest.raises(ValueError, match="a mistake"):
        hermes("calls")


@pytest.mark.parametrize("command", ["calls", "ghosts"])
def test_only_what_was_left_out_is_spoken_of(
    lived: Home, hermes: Hermes, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    with closing(sqlite3.connect(lived.paths.ledger)) as ledger:
        ledger.execute("UPDATE ledger SET status='GHOST_REPORTED', reported_ts=ts")
        ledger.commit()
    monkeypatch.setattr(host_command, "_SHOWN", 4)
    _, out, err = hermes(command)
    assert ([line.split()[0] for line in out.splitlines()], err) == (["#1", "#2", "#3", "#4"], "")
    monkeypatch.setattr(host_command, "_SHOWN", 3)
    _, out, err = hermes(command)
    assert [line.split()[0] for line in out.splitlines()] == ["#2", "#3", "#4"]
    assert err == "Only the newest 3 are shown; --limit N shows more, --json everything.\n"
    assert len(hermes(command, "--limit", "4")[1].splitlines()) == 4


def test_the_states_add_up_while_calls_are_recorded(lived: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    read = glance.Glance.calls

    def later(self: glance.Glance, wanted: Any = None, *, limit: int | None = None) -> list[glance.Row]:
        lived.pre("patch", {"path": "between"}, call="between")
        lived.merged()
        return read(self, wanted, limit=limit)

    monkeypatch.setattr(glance.Glance, "calls", later)
    with glance.opened(lived.paths.ledger, now=lived.clock.wall(), mono=lived.clock.mono()) as ledger:
        assert ledger is not None
        counts = ledger.counts()
    assert (counts["rows"], counts["pending"], counts["confirmed"]) == (4, 3, 1)
    assert len(lived.rows()) == 5


def test_the_page_lists_every_command_and_option(home: Home) -> None:
    parser = argparse.ArgumentParser()
    host_command.set_up(parser)
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    rows = re.findall(r"^\| `hermes ledger (\w+)` \|.*\|([^|]*)\|$", PAGE, re.M)
    shown = {name: set(re.findall(r"`(--\w+)", options)) for name, options in rows}
    offered = {
        name: {option for one in sub._actions for option in one.option_strings} - {"-h", "--help"}
        for name, sub in commands.choices.items()
    }
    assert shown == offered


# What the host is told


def test_both_commands_are_offered_where_the_host_takes_them() -> None:
    offered: dict[str, Any] = {}

    def register_command(name: str, handler: Any, description: str = "", args_hint: str = "") -> None:
        offered["/" + name] = (handler, args_hint)

    def register_cli_command(name: str, help: str, setup_fn: Any, handler_fn: Any = None) -> None:
        offered[name] = (setup_fn, handler_fn)

    nothing = SimpleNamespace(register_hook=lambda *_: None, register_middleware=lambda *_: None)
    door.register(nothing)  # An isolated host lacks the second, others may lack both.
    assert offered == {}
    whole = SimpleNamespace(
        register_command=register_command, register_cli_command=register_cli_command, **vars(nothing)
    )
    door.register(whole)
    assert offered == {
        "/ledger": (door.chat_command, "[status|ghosts|posture|help]"),
        "ledger": (door.set_up_cli_command, door.cli_command),
    }
