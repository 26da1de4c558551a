"""`/ledger` and `hermes ledger` as a host calls them: who asks, what is said, and what is never said."""

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
from contextvars import Context, ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import agent_ledger as door
from agent_ledger import chat, host_command
from agent_ledger.engine import asking, glance, short_words

from .homes import ROOT, Home

NAMES = ("HERMES_SESSION_KEY", "HERMES_SESSION_PLATFORM", "HERMES_SESSION_ID", "HERMES_CRON_SESSION")
VARIABLES: dict[str, ContextVar[str]] = {name: ContextVar(name) for name in NAMES}
KEY = "agent:main:telegram:dm:4711"
OTHER = "agent:main:telegram:dm:4712"

SESSIONS = """\
CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, session_key TEXT, parent_session_id TEXT,
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, model_config TEXT, last_activity_at REAL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT);
CREATE TABLE gateway_routing(scope TEXT, session_key TEXT, entry_json TEXT, updated_at REAL);
"""


def asked(words: str = "", **bound: str) -> str:
    """The answer to `/ledger WORDS` where the host bound these variables, by their names without `HERMES_`."""

    def run() -> str:
        for name, value in bound.items():
            VARIABLES[f"HERMES_{name}"].set(value)
        return door.chat_command(words)

    return Context().run(run)


def gateway(words: str = "", key: str = KEY) -> str:
    """The same from a chat of the messaging gateway of Hermes 0.22."""
    return asked(words, SESSION_KEY=key, SESSION_PLATFORM="telegram", SESSION_ID="", CRON_SESSION="")


class Store:
    """A host's `state.db`."""

    def __init__(self, home: Path) -> None:
        self.path = home / "state.db"
        with closing(sqlite3.connect(self.path)) as made:
            made.executescript(SESSIONS)

    def session(self, id_: str, key: str | None, started: float, spoken: bool = True, **cells: Any) -> None:
        row = {"id": id_, "source": "telegram", "session_key": key, "started_at": started, **cells}
        with closing(sqlite3.connect(self.path)) as store:
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            store.execute(f"INSERT INTO sessions({names}) VALUES({marks})", tuple(row.values()))
            if spoken:
                store.execute("INSERT INTO messages(session_id) VALUES(?)", (id_,))
            store.commit()

    def route(self, key: str, session: str, scope: str | None = None) -> None:
        where = str((self.path.parent / "sessions").resolve()) if scope is None else scope
        entry = json.dumps({"session_key": key, "session_id": session})
        with closing(sqlite3.connect(self.path)) as store:
            store.execute("INSERT INTO gateway_routing VALUES(?, ?, ?, 0)", (where, key, entry))
            store.commit()

    def of(self, key: str = KEY) -> tuple[str, ...]:
        return asking.ids_of_chat(self.path, key, "telegram")


@pytest.fixture
def store(home: Home) -> Store:
    return Store(home.folder)


@pytest.fixture(autouse=True)
def no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hermes_cli.plugins", raising=False)


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


# Which session is the chat in?


def test_the_routing_of_the_gateway_comes_first(store: Store) -> None:
    store.session("old", KEY, 10.0, last_activity_at=99.0)
    store.session("new", KEY, 20.0, spoken=False)
    store.route(KEY, "new")
    assert store.of() == ("new",)


def test_without_a_routing_it_is_the_row_that_hermes_would_resume(store: Store) -> None:
    store.session("quiet", KEY, 10.0, last_activity_at=50.0)
    store.session("newer-start", KEY, 20.0, last_activity_at=30.0)
    store.session("never-spoken", KEY, 60.0, spoken=False)
    store.session("another", OTHER, 90.0)
    assert store.of() == ("quiet",)
    assert store.of(OTHER) == ("another",)
    assert store.of("agent:main:telegram:dm:1") == ()


def test_nothing_from_before_a_reset_comes_back(store: Store) -> None:
    store.session("before", KEY, 10.0, last_activity_at=20.0)
    store.session("reset", KEY, 25.0, ended_at=30.0, end_reason="session_reset")
    assert store.of() == ()
    store.session("after", KEY, 40.0, ended_at=50.0, end_reason="agent_close")
    assert store.of() == ("after",)


def test_a_routing_that_names_another_chats_row_is_not_followed(store: Store) -> None:
    store.session("theirs", OTHER, 10.0)
    store.route(KEY, "theirs")
    assert store.of() == ()


def test_a_routing_to_a_row_that_lost_its_key_is_followed(store: Store) -> None:
    store.session("zombie", KEY, 10.0)
    store.session("orphan", None, 20.0)
    store.route(KEY, "orphan")
    assert store.of() == ("orphan",)


def test_two_routings_of_other_places_say_nothing(store: Store) -> None:
    store.route(KEY, "one", scope="/elsewhere")
    store.route(KEY, "two", scope="/somewhere")
    assert store.of() == ()
    store.route(KEY, "ours")
    assert store.of() == ("ours",)


def test_a_rotated_conversation_has_all_its_ids_and_no_branch(store: Store) -> None:
    store.session("first", KEY, 10.0, ended_at=20.0, end_reason="compression")
    store.session("second", None, 20.0, parent_session_id="first", ended_at=30.0, end_reason="compression")
    store.session("third", KEY, 30.0, parent_session_id="second")
    fork = json.dumps({"_branched_from": "second"})
    store.session("branch", KEY, 40.0, parent_session_id="second", model_config=fork)
    store.route(KEY, "first")
    assert store.of() == ("third", "second", "first")


def test_a_store_that_cannot_be_read_is_an_error_and_no_answer(home: Home) -> None:
    home.paths.state.write_bytes(b"no database at all, but long enough to be looked at" * 20)
    with pytest.raises(asking.UnknownChatError):
        asking.ids_of_chat(home.paths.state, KEY, "telegram")
    assert gateway() == short_words.TROUBLE


# Who asks?


def test_a_host_that_does_not_say_who_asks_is_told_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.pre()
    home.merged()
    monkeypatch.setenv("HERMES_SESSION_ID", "s1")
    monkeypatch.setenv("HERMES_SESSION_KEY", KEY)
    for bound in ({}, {"SESSION_KEY": KEY, "SESSION_PLATFORM": "telegram", "SESSION_ID": "s1"}, {"CRON_SESSION": "1"}):
        for words in ("", "ghosts", "posture"):
            assert asked(words, **bound) == short_words.NOT_TOLD


def test_the_command_line_is_one_persons_own(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.pre()
    home.pre(session_id="s2", call="c2")
    home.merged()
    cli = SimpleNamespace(session_id="s1")
    manager = SimpleNamespace(_cli_ref=cli)
    plugins = SimpleNamespace(get_plugin_manager=lambda: manager)
    monkeypatch.setitem(sys.modules, "hermes_cli.plugins", plugins)
    assert asked().startswith("1 call recorded of this conversation: 1 pending.")
    manager._cli_ref = None  # A gateway has no such thing.
    assert asked() == short_words.NOT_TOLD


def test_the_tui_names_the_session_itself(home: Home) -> None:
    home.pre()
    home.merged()
    bound = {"SESSION_KEY": "s1", "SESSION_PLATFORM": "", "CRON_SESSION": ""}
    assert asked(SESSION_ID="s1", **bound).startswith("1 call recorded")
    assert asked(SESSION_ID="s2", **bound) == short_words.NOTHING


# What is said


def first_of(text: str) -> str:
    return text.splitlines()[0]


@pytest.fixture
def lived(home: Home, store: Store) -> Home:
    """Two chats; the first has been rotated by a compaction and has lost a call, in a script another one."""
    store.session("s0", KEY, 10.0, ended_at=20.0, end_reason="compression")
    store.session("s1", KEY, 20.0, parent_session_id="s0")
    store.session("s9", OTHER, 15.0)
    store.route(KEY, "s1")
    store.route(OTHER, "s9")
    home.pre(session_id="s0", call="a")
    home.post(session_id="s0", call="a")
    home.pre("terminal", {"command": "git -C thesis push origin ch3"}, call="b")
    home.pre("patch", {"path": "nested"}, call="", session_id="", turn_id="", task_id="s1")
    home.pre("terminal", {"command": "the other chat's own"}, session_id="s9", call="c")
    home.merged()
    return home


def test_status_counts_this_conversation_with_all_its_ids(lived: Home) -> None:
    assert gateway().splitlines() == [
        "3 calls recorded of this conversation: 2 pending, 1 confirmed.",
        "Posture 100 with 0 findings, of what was recorded, and no proof: /ledger posture",
    ]
    assert gateway("status", OTHER).startswith("1 call recorded of this conversation: 1 pending.")


def test_ghosts_are_those_of_this_conversation(lived: Home) -> None:
    none = "No call of this conversation is lost: each was settled, or is within its time."
    assert gateway("ghosts") == none
    with closing(sqlite3.connect(lived.paths.ledger)) as ledger:
        ledger.execute("UPDATE ledger SET status='GHOST_REPORTED', reported_ts=ts WHERE session_id IN ('s1', 's9')")
        ledger.commit()
    head, line = gateway("ghosts").splitlines()
    assert head == "1 call of this conversation never confirmed. Look at the real state first:"
    assert line == "#2 ghost `terminal` `command: git -C thesis push origin ch3` under 1 min ago"
    assert "Overdue and ghost calls were never confirmed: /ledger ghosts" in gateway().splitlines()


def test_the_score_can_be_worked_out_from_the_answer(lived: Home) -> None:
    lived.pre("terminal", {"command": "rm -rf /"}, call="d")
    lived.merged()
    lines = gateway("posture").splitlines()
    assert lines[0] == "Posture of this conversation: 75, from 4 calls."
    assert lines[1] == "100 - (1 CRITICAL x 25) = 75"
    assert lines[3].startswith("-25 ASI")
    assert lines[3].endswith(" `terminal`")
    assert len(lines) == 4
    other = gateway("posture", OTHER).splitlines()
    assert other[:2] == ["Posture of this conversation: 100, from 1 call.", "Nothing in it looked suspicious."]


def test_an_answer_fits_a_message_whatever_there_is(lived: Home) -> None:
    for number in range(40):
        lived.pre("t" * 300, {"command": "rm -rf / # " + "ü" * 500}, call=f"n{number}")
    lived.merged()
    with closing(sqlite3.connect(lived.paths.ledger)) as ledger:
        ledger.execute("UPDATE ledger SET status='GHOST_REPORTED', reported_ts=ts WHERE tool_name LIKE 'ttt%'")
        ledger.commit()
    for words in ("", "ghosts", "posture", "help"):
        assert len(gateway(words)) <= 1200
    lost = gateway("ghosts").splitlines()
    assert lost[0].startswith("40 calls of this conversation never confirmed.")
    assert lost[1].startswith("#44 ghost ")
    assert lost[-1] == f"and {42 - len(lost)} more: `ledger-tui calls --state ghost,overdue` on the machine"


def test_of_a_very_long_conversation_the_newest_calls_are_counted(lived: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "SCORED_AT_ONCE", 2)
    monkeypatch.setattr(short_words, "SCORED_AT_ONCE", 2)
    assert first_of(gateway()) == "The newest 2 calls of this conversation: 2 pending."
    assert first_of(gateway("posture")) == "Posture of this conversation: 100, from the newest 2 calls."
    with closing(sqlite3.connect(lived.paths.ledger)) as ledger:
        ledger.execute("UPDATE ledger SET status='GHOST_REPORTED', reported_ts=ts WHERE id=2")
        ledger.commit()
    for call in ("x", "y", "z"):
        lived.pre(call=call)
        lived.post(call=call)
    lived.merged()
    assert first_of(gateway()) == "The newest 2 calls of this conversation: 2 confirmed."
    assert gateway("ghosts").splitlines()[1].startswith("#2 ghost `terminal`")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("`` ` MEDIA:/home/kim/a.png", "`'' ' MEDIA :/home/kim/a.png`"),
        ("![x](https://a.example/x.png)", "`! [x](https://a.example/x.png)`"),
        ("<img src=https://a.example/x.png>", "`< img src=https://a.example/x.png>`"),
        ("[[audio_as_voice]] @everyone <@1> <!channel>", "`[ [audio_as_voice]] @ everyone < @ 1> < !channel>`"),
        ("a\nb\x1b[31m\u202e", "`a\\nb\\u001b[31m\\u202e`"),
        ("login --token ghp_0123456789abcdefghijABCDEFGHIJ456789", "`login --token [redacted]`"),
        ("x" * 99, "`" + "x" * 59 + "…`"),
        ("", "``"),
    ],
)
def test_what_an_agent_wrote_is_one_code_span_that_nobody_acts_upon(written: str, shown: str) -> None:
    assert short_words.excerpt(written) == shown


def test_other_words_are_answered_with_help(lived: Home) -> None:
    for words in ("help", "--help", "delete", "status now", "ghosts; rm"):
        assert gateway(words) == short_words.HELP
    assert gateway("  GHOSTS ").startswith("No call of this conversation is lost")


def test_a_chat_without_a_conversation_or_a_ledger(home: Home, store: Store) -> None:
    assert gateway() == short_words.NO_CONVERSATION
    store.session("s1", KEY, 10.0)
    assert not home.paths.ledger.exists()
    assert gateway("ghosts") == short_words.NOTHING
    assert not home.paths.ledger.exists()


def test_asking_changes_no_file(lived: Home) -> None:
    lived.restart()
    before = {path: path.read_bytes() for path in (lived.paths.ledger, lived.paths.state)}
    for words in ("", "ghosts", "posture"):
        gateway(words)
    assert {path: path.read_bytes() for path in before} == before


def test_a_ledger_that_cannot_be_read_is_one_sentence_without_a_path(home: Home, store: Store) -> None:
    store.session("s1", KEY, 10.0)
    home.paths.data.mkdir(parents=True, exist_ok=True)
    home.paths.ledger.write_bytes(b"this is no database, whatever its name may say" * 30)
    assert gateway() == short_words.TROUBLE


def test_a_context_that_was_cleared_leaves_the_command_line_its_own(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.pre()
    home.merged()
    cleared = dict.fromkeys(("SESSION_KEY", "SESSION_PLATFORM", "SESSION_ID", "CRON_SESSION"), "")
    assert asked(**cleared) == short_words.NOT_TOLD
    manager = SimpleNamespace(_cli_ref=SimpleNamespace(session_id="s1"))
    monkeypatch.setitem(sys.modules, "hermes_cli.plugins", SimpleNamespace(get_plugin_manager=lambda: manager))
    assert asked(**cleared).startswith("1 call recorded")


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "state.db-wal"])
def test_a_pipe_in_a_files_place_keeps_nobody_waiting(home: Home, store: Store, hermes: Hermes, name: str) -> None:
    store.session("s1", KEY, 10.0)
    home.paths.data.mkdir(parents=True, exist_ok=True)
    if name == "ledger.db-wal":
        sqlite3.connect(home.paths.ledger).close()
    os.mkfifo((home.folder if name.startswith("state") else home.paths.data) / name)
    assert gateway() == short_words.TROUBLE
    assert hermes("calls")[0] == (0 if name.startswith("state") else 3)


def test_a_reader_that_has_had_enough_is_no_error(lived: Home) -> None:
    code = "import sys, agent_ledger, argparse as a; p = a.ArgumentParser(); agent_ledger.set_up_cli_command(p);"
    code += " agent_ledger.cli_command(p.parse_args(['calls', '--json']))"
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        command = [sys.executable, "-c", code]
        environment = {**os.environ, "PYTHONUNBUFFERED": ""}
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, cwd=ROOT, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_error_gets_out(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    monkeypatch.setattr(chat, "conversation", lambda paths: 1 / 0)
    assert gateway() == "The ledger cannot be asked right now; the host's log says why."


# `hermes ledger`


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
    assert (code, out.splitlines()[0]) == (0, "whole: 4 calls, 5 records checked, 0 findings")
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


# The page


PAGE = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")


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


def test_the_page_quotes_what_is_said(lived: Home) -> None:
    with closing(sqlite3.connect(lived.paths.ledger)) as ledger:
        ledger.execute("UPDATE ledger SET status='GHOST_REPORTED', reported_ts=ts WHERE id=2")
        ledger.commit()
    head, line = gateway("ghosts").splitlines()
    quoted = line.replace("#2 ", "#9 ").replace("under 1 min", "46 min")
    assert f"/ledger ghosts\n{head}\n{quoted}\n" in PAGE
    assert f"more than {glance.SCORED_AT_ONCE:,} calls the newest {glance.SCORED_AT_ONCE:,}" in PAGE
    assert f"{short_words.LIMIT:,} characters at most" in PAGE
    words = [line.split(":")[0] for line in short_words.HELP.splitlines() if line.startswith("/ledger")]
    assert [word for word in words if f"`{word}`" not in PAGE] == []
