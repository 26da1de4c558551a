"""The two policies in a demonstration: what the simulated host refuses, and what it only writes down."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import agent_ledger
from agent_ledger.engine.paths import Paths
from ledger_tui import cli
from ledger_tui.demo import policies, release
from ledger_tui.demo.hooks import Door, Hooks, Past, PastClock
from ledger_tui.demo.host import Host
from ledger_tui.demo.making import cron, heard_late, shell, write
from ledger_tui.demo.store import SessionStore
from ledger_tui.demo.story import Call, Chat, Compaction, Scenario, Switch, Turn
from ledger_tui.demo.turn_start import MARKER

from .conftest import Row, select

Ask = Callable[..., list[Row]]

OPENED_AT = 1_900_000_000.0
DELETES = "rm -r /srv/archive"
CUSTOMER = "Customer KD-204417 asks for her bill."


# -- the home of the default scenario ---------------------------------------------------------------------------------


def test_it_starts_with_the_shipped_examples_in_dry_run(home: Path) -> None:
    paths, shipped = Paths(home), Path(agent_ledger.__file__).parent
    for place in (paths.policy, paths.prompt_policy):
        assert place.read_text(encoding="utf-8") == (shipped / f"{place.stem}.example.json").read_text(encoding="utf-8")
    assert [p.read_text(encoding="utf-8") for p in (paths.policy_mode, paths.prompt_policy_mode)] == ["dry_run\n"] * 2


def test_calls_that_would_be_refused_are_written_down_and_ran(ledger: Ask) -> None:
    found = ledger(
        "SELECT d.rule, d.mode, d.call_ids, l.status, l.args_json FROM policy_decision d"
        " JOIN ledger l ON l.id = d.ledger_id ORDER BY d.id"
    )
    assert [(row["rule"], row["mode"], row["status"]) for row in found] == [
        ("deletes", "dry_run", "ERROR:blocked"),  # Another plugin had refused it already.
        ("services", "dry_run", "CONFIRMED"),
        ("deletes", "dry_run", "PENDING"),
        ("deletes", "dry_run", "CONFIRMED"),
    ]
    (script,) = ledger("SELECT id FROM ledger WHERE args_json LIKE '%desk/scans/2030%'")
    assert (found[3]["args_json"], json.loads(found[3]["call_ids"])) == (
        '{"command": "sh desk/tidy.sh"}',
        [script["id"]],
    )


def test_one_message_was_withheld_and_one_would_have_been(ledger: Ask) -> None:
    assert ledger("SELECT rule, mode, outcome FROM prompt_decision ORDER BY id") == [
        {"rule": "customer-number", "mode": "enforce", "outcome": "blocked"},
        {"rule": "email-address", "mode": "dry_run", "outcome": "would-block"},
    ]


def test_what_was_withheld_stands_in_the_recap_alone(
    home: Path, state: Ask, ledger: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = state("SELECT id, session_id, content, display_metadata FROM messages WHERE display_metadata IS NOT NULL")
    assert row["content"] == MARKER
    assert "KD-204417" in json.loads(row["display_metadata"])["typed"]
    (after,) = state("SELECT role, content FROM messages WHERE id = ?", row["id"] + 1)
    assert (after["role"], "ticket system" in after["content"]) == ("assistant", True)
    assert state("SELECT id FROM messages WHERE content || coalesce(api_content, '') LIKE '%KD-204417%'") == []
    for arguments in (["calls", "--json", "--limit", "1000"], ["status"], ["doctor"], ["posture"]):
        cli.run(["--hermes-home", str(home), *arguments])
    said = capsys.readouterr()
    assert "KD-204417" not in said.out + said.err
    assert all(b"KD-204417" not in file.read_bytes() for file in Paths(home).data.iterdir() if file.is_file())


def test_the_simulated_host_is_known_as_one_that_honours_a_block(
    home: Path, ledger: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {row["host_version"] for row in ledger("SELECT host_version FROM writer")} == {release.VERSION}
    assert cli.run(["--hermes-home", str(home), "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt_policy"] == {"mode": "dry_run", "enforced": True}


def test_the_plugin_reads_that_version_as_it_reads_any_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    release.announce()
    assert agent_ledger._versions()["host"] == release.VERSION
    assert metadata.version("pytest") == pytest.__version__


# -- one host, played step by step ------------------------------------------------------------------------------------


class Played:
    """A small scenario, played to its end in the past."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.paths = Paths(home)
        policies.put(self.paths)

    def play(self, *turns: Turn, switches: tuple[Switch, ...] = (), hooks: Hooks | None = None) -> None:
        clock = PastClock(OPENED_AT)
        past = hooks or Past(self.home, clock)
        store = SessionStore(self.paths.state, clock.wall)
        chat = Chat("one", "telegram", "One chat", turns)
        host = Host(
            Scenario("test", "", (chat,), frozenset(), switches),
            store, past, home=self.home, seed=1, clock=clock.wall, kill=never,
        )  # fmt: skip
        while (at := host.next_at()) is not None:
            clock.move_to(OPENED_AT + at)
            host.step()
        past.close()
        store.close()

    def messages(self) -> list[tuple[str, str]]:
        rows = select(self.paths.state, "SELECT role, content FROM messages WHERE content <> '' ORDER BY id")
        return [(row["role"], row["content"]) for row in rows]

    def session(self) -> Row:
        (row,) = select(self.paths.state, "SELECT title, api_call_count, message_count FROM sessions")
        return row

    def rows(self) -> list[Row]:
        return select(self.paths.ledger, "SELECT * FROM ledger ORDER BY id")


def never(*_: Any) -> None:
    raise AssertionError("nobody is to be killed here")


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


ENFORCE = Switch(-1.0, "enforce")
ENFORCE_PROMPTS = Switch(-1.0, "enforce", prompts=True)


def test_a_refused_turn_asks_no_model_makes_no_title_and_compacts_nothing(played: Played) -> None:
    before = Turn(0.0, CUSTOMER, (write("bill.md", "x"),), "never said", Compaction("never made"))
    played.play(before, switches=(ENFORCE_PROMPTS,))
    assert played.session() == {"title": None, "api_call_count": 0, "message_count": 2}
    (user, assistant) = played.messages()
    assert user == ("user", MARKER)
    assert assistant[1].startswith("This looks like a customer number.")
    assert played.rows() == []


def test_the_next_turn_goes_on_and_reads_the_marker(played: Played) -> None:
    played.play(Turn(0.0, CUSTOMER), Turn(60.0, "Good morning.", (), "Good morning!"), switches=(ENFORCE_PROMPTS,))
    # One request for the title, one for the answer.
    assert played.session() == {"title": "One chat", "api_call_count": 2, "message_count": 4}
    assert [content for _, content in played.messages()][2:] == ["Good morning.", "Good morning!"]


def test_a_refused_call_does_not_run_and_the_person_hears_why(played: Played) -> None:
    late = heard_late(shell(DELETES), after=400.0)
    turn = Turn(0.0, "Go.", (shell(DELETES), late, cron("keys", "0 8 * * *", "Bring keys.")), "All done.")
    played.play(turn, switches=(ENFORCE,))
    assert [(row["status"], row["effect"], row["later_status"]) for row in played.rows()] == [
        ("ERROR:blocked", "none", None),
        ("ERROR:blocked", "none", None),
        ("CONFIRMED", "done", None),
    ]
    said = played.messages()
    assert [role for role, _ in said] == ["user", "tool", "tool", "tool", "assistant"]
    refusal = json.loads(said[1][1])["error"]
    assert refusal.startswith("Refused by the tool policy, rule deletes: ")
    assert said[-1][1].startswith("I was not allowed to do all of that. Refused by the tool policy, rule deletes: ")


def test_a_refused_script_runs_none_of_its_calls_and_a_refused_call_inside_one_does_not_return(played: Played) -> None:
    bad = Call("execute_code", {"code": f"import os; os.system({DELETES!r})"}, inside=(write("a", "b"),))
    good = Call("execute_code", {"code": "tidy()"}, {"output": ""}, 9.0, inside=(shell(DELETES), write("a", "b")))
    played.play(Turn(0.0, "Go.", (bad, good), "Done."), switches=(ENFORCE,))
    assert [(row["tool_name"], row["status"]) for row in played.rows()] == [
        ("execute_code", "ERROR:blocked"),
        ("execute_code", "CONFIRMED"),
        ("terminal", "ERROR:blocked"),
        ("write_file", "CONFIRMED"),
    ]


def test_in_dry_run_the_same_calls_run(played: Played) -> None:
    played.play(Turn(0.0, "Go.", (shell(DELETES),), "All done."), Turn(60.0, CUSTOMER, (), "Yes."))
    assert [row["status"] for row in played.rows()] == ["CONFIRMED"]
    assert [content for role, content in played.messages() if role == "assistant"] == ["All done.", "Yes."]
    decided = select(played.paths.ledger, "SELECT rule, mode FROM policy_decision")
    assert decided == [{"rule": "deletes", "mode": "dry_run"}]


def test_the_plugins_own_door_ends_the_turn_and_stops_the_call(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(played.home))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    release.announce()
    Past(played.home, PastClock(OPENED_AT)).close()  # The ledger is there, so nothing goes by way of the spool.
    turns = Turn(0.0, CUSTOMER), Turn(60.0, "Go.", (shell(DELETES),), "All done.")
    played.play(*turns, switches=(ENFORCE, ENFORCE_PROMPTS), hooks=Door())
    assert [role for role, _ in played.messages()] == ["user", "assistant", "user", "tool", "assistant"]
    assert played.messages()[0] == ("user", MARKER)
    assert [(row["status"], row["effect"]) for row in played.rows()] == [("ERROR:blocked", "none")]
    (decided,) = select(played.paths.ledger, "SELECT rule, outcome FROM prompt_decision")
    assert decided == {"rule": "customer-number", "outcome": "blocked"}
