"""`/ledger` as a host calls it: who asks, what is said, and what is never said."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from agent_ledger import chat
from agent_ledger.engine import glance, short_words

from .chats import KEY, OTHER, Store, asked, gateway
from .homes import ROOT, Home, LockHolder


@pytest.fixture(autouse=True)
def no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hermes_cli.plugins", raising=False)


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


def test_records_that_wait_are_counted_and_those_of_other_chats_are_not(lived: Home) -> None:
    holder = LockHolder(lived.paths)
    lived.post("terminal", {"command": "git -C thesis push origin ch3"}, call="b")
    lived.pre("patch", {"path": "nested too"}, call="", session_id="", turn_id="", task_id="s0")
    lived.post("terminal", {"command": "the other chat's own"}, session_id="s9", call="c")
    waiting = "Still waiting to be written, and not in this answer: 2 records of this conversation."
    for words in ("", "ghosts", "posture"):
        assert gateway(words).splitlines()[-1] == waiting
    assert holder.holds()
    holder.release()
    lived.merged()
    assert first_of(gateway()) == "4 calls recorded of this conversation: 2 pending, 2 confirmed."
    assert "waiting" not in gateway()


def test_records_that_wait_for_a_first_ledger_are_not_denied(home: Home, store: Store) -> None:
    store.session("s1", KEY, 10.0)
    home.paths.spool.mkdir(parents=True)
    record = {"kind": "issue", "at": "2026-01-02T03:04:05.000000Z", "why": "", "event": {"session_id": "s1"}}
    (home.paths.spool / "1-a-000001.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert gateway("posture").splitlines() == [
        short_words.NOTHING,
        "Still waiting to be written, and not in this answer: 1 record of this conversation.",
    ]


def test_an_answer_with_what_waits_fits_a_message() -> None:
    row = {"id": 1, "state": "ghost", "tool_name": "t" * 40, "args": "x" * 60, "age_s": 60.0, "verdict": "unverifiable"}
    assert len(short_words.with_waiting(short_words.ghosts([row] * 40), 1_000_000)) <= short_words.LIMIT


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


def test_no_error_gets_out(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    monkeypatch.setattr(chat, "conversation", lambda paths: 1 / 0)
    assert gateway() == "The ledger cannot be asked right now; the host's log says why."


# The page


PAGE = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")


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
