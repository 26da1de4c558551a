"""What stands in a demonstration's home before anybody looks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_ledger.engine import process
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.queries import WRITERS_QUERY, writer_from_row
from ledger_tui import cli

from .conftest import Row, make, select

Ask = Callable[..., list[Row]]


def test_every_state_is_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--hermes-home", str(home), "calls", "--json", "--limit", "1000"]) == 0
    states = Counter(row["state"] for row in json.loads(capsys.readouterr().out))
    assert set(states) == {"pending", "overdue", "ghost", "confirmed", "error", "revived"}
    assert states["error"] == 6
    assert states["revived"] == 1


def test_every_kind_of_error_is_there(ledger: Ask) -> None:
    found = {row["status"]: row["effect"] for row in ledger("SELECT * FROM ledger WHERE status LIKE 'ERROR:%'")}
    assert found == {
        "ERROR:timeout": "done",  # As a later report tells.
        "ERROR:blocked": "none",
        "ERROR:cancelled": "unknown",
        "ERROR:tool_error": "unknown",
        "ERROR:PermissionError": "unknown",
        "ERROR:invalid_tool_arguments": "none",
    }


def test_a_timeout_is_contradicted(ledger: Ask) -> None:
    (row,) = ledger("SELECT * FROM ledger WHERE later_status IS NOT NULL")
    assert (row["tool_name"], row["status"], row["later_status"]) == (
        "mcp__lodgings__pay_deposit",
        "ERROR:timeout",
        "CONFIRMED",
    )


def test_a_ghost_came_back(ledger: Ask) -> None:
    (row,) = ledger("SELECT * FROM ledger WHERE reported_ts IS NOT NULL AND status = 'CONFIRMED'")
    assert row["tool_name"] == "mcp__mail__send"
    assert row["ts"] < row["reported_ts"] < row["settled_ts"]


def test_calls_inside_a_script_are_settled_and_belong_to_it(ledger: Ask) -> None:
    (script,) = ledger("SELECT * FROM ledger WHERE tool_name = 'execute_code'")
    inside = ledger("SELECT * FROM ledger WHERE nested_in = ?", script["id"])
    assert [(row["tool_name"], row["status"], row["closed_by"]) for row in inside] == [
        ("terminal", "CONFIRMED", "middleware"),
        ("write_file", "CONFIRMED", "middleware"),
        ("write_file", "CONFIRMED", "middleware"),
    ]
    assert {row["session_id"] for row in inside} == {script["session_id"]}


def test_repeats_and_doubled_announcements_are_marked(ledger: Ask) -> None:
    first, *others = ledger("SELECT * FROM ledger WHERE args_json LIKE '%before-maintenance%'")
    assert [row["repeat_of"] for row in others] == [first["id"]] * 3
    assert [row["seen"] for row in ledger("SELECT * FROM ledger WHERE seen > 1")] == [2]


def test_a_process_was_really_killed_in_the_middle_of_a_call(ledger: Ask) -> None:
    writers = {w.id: process.is_dead(w) for w in map(writer_from_row, map(_values, ledger(WRITERS_QUERY[0])))}
    (row,) = ledger("SELECT * FROM ledger WHERE args_json LIKE '%sort_card%'")
    assert row["status"] == "PENDING"
    assert writers.pop(row["writer_id"]) is True
    # The rest was written by a host of which nobody can tell from here: its calls age, and are not given up at once.
    assert list(writers.values()) == [None]


def _values(row: Row) -> tuple[object, ...]:
    return tuple(row.values())


def test_secrets_are_taken_out_and_long_arguments_cut(ledger: Ask) -> None:
    text = "".join(str(row["args_json"]) for row in ledger("SELECT args_json FROM ledger"))
    assert "not-a-real" not in text
    assert "demo-key" not in text
    assert ledger("SELECT sum(args_redacted) AS secrets FROM ledger") == [{"secrets": 4}]
    (cut,) = ledger("SELECT * FROM ledger WHERE args_cut = 1")
    assert len(cut["args_json"]) == 4000


def test_hazardous_text_is_kept_as_it_was_and_shown_harmlessly(
    home: Path, ledger: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = ledger("SELECT args_json FROM ledger WHERE args_json LIKE '%parcels/03%'")
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" in json.loads(row["args_json"])["content"]
    assert cli.run(["--hermes-home", str(home), "calls", "--limit", "1000"]) == 0
    shown = capsys.readouterr().out
    assert "収取人" in shown
    assert not {"\N{ESCAPE}", "\N{BEL}", "\N{RIGHT-TO-LEFT OVERRIDE}", "\N{ZERO WIDTH JOINER}"} & set(shown)


def test_what_only_reads_is_not_there(ledger: Ask) -> None:
    assert ledger("SELECT * FROM ledger WHERE tool_name = 'read_file' OR args_json LIKE '%\"list\"%'") == []


# -- the host's own store ---------------------------------------------------------------------------------------------


def test_sessions_are_of_every_kind(state: Ask) -> None:
    rows = {row["title"] or row["source"]: row for row in state("SELECT * FROM sessions")}
    assert {row["source"] for row in rows.values()} == {"telegram", "discord", "whatsapp", "cli", "cron", "subagent"}
    child, parent = rows["subagent"], rows["Flower shop site"]
    assert child["parent_session_id"] == parent["id"]
    assert json.loads(child["model_config"]) == {"_delegate_from": parent["id"]}
    before, after = rows["Thesis, chapter 3"], rows["Thesis, chapter 3 #2"]
    assert (before["end_reason"], after["parent_session_id"]) == ("compression", before["id"])
    assert rows["Cottage bookings"]["session_key"] == "agent:main:telegram:dm:70010001"
    assert rows["Flower shop site"]["session_key"] is None


def test_counts_agree_with_the_messages(state: Ask) -> None:
    counted = "(SELECT count(*) FROM messages m WHERE m.session_id = s.id)"
    assert state(f"SELECT s.id FROM sessions s WHERE message_count <> {counted}") == []


def test_a_ghost_reaches_the_conversation_under_its_new_id(state: Ask, ledger: Ask) -> None:
    (row,) = ledger("SELECT * FROM ledger WHERE args_json LIKE '%push origin ch3%'")
    (told,) = state("SELECT * FROM messages WHERE api_content LIKE '%push origin ch3%'")
    assert row["status"] == "GHOST_REPORTED"
    assert told["session_id"] != row["session_id"]
    assert told["session_id"].startswith("sim_thesis_")


# -- the lost cron job ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", ["everyday", "lost-cron"])
def test_a_cron_job_is_lost_as_in_the_report(scenario: str, tmp_path: Path) -> None:
    home = make(tmp_path / "home", scenario=scenario)
    paths = Paths(home)
    (row,) = select(paths.ledger, "SELECT * FROM ledger WHERE args_json LIKE '%evening-pills%'")
    assert (row["tool_name"], row["status"], row["effect"]) == ("cronjob", "GHOST_REPORTED", "unknown")
    jobs = json.loads((home / "cron" / "jobs.json").read_text(encoding="utf-8"))["jobs"]
    assert [job["name"] for job in jobs] == ["keys"]
    said = select(paths.state, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", row["session_id"])
    assert [m["role"] for m in said][:4] == ["user", "assistant", "user", "assistant"]
    assert [m["active"] for m in said][:2] == [0, 0]
    assert said[2]["content"].startswith("[CONTEXT COMPACTION")
    assert said[3]["content"] == "Done, the reminder is set."
    (told,) = [m for m in said if m["api_content"]]
    assert told["api_content"].startswith(told["content"] + "\n\n[agent-ledger notice")
    assert "evening-pills" in told["api_content"]
    others = select(
        paths.state,
        "SELECT * FROM messages WHERE session_id <> ? AND api_content LIKE '%evening-pills%'",
        row["session_id"],
    )
    assert others == []
