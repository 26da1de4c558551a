"""docs/rows.md speaks of the statuses, states, remarks and tests that there are, and of all of them."""

from __future__ import annotations

import re
from typing import Any

from agent_ledger.engine import queries, tools
from agent_ledger.engine.outcome import judge
from agent_ledger.engine.queries import call_from_row, remarks
from agent_ledger.engine.records import STATES, Call
from widgets.look import GLYPHS

from .pages import ROOT, code, page, quotes, sections, table

ROWS = page("rows.md")
PARTS = sections(ROWS)


def a_call(**columns: Any) -> Call:
    plain = {"id": 1, "ts": "2026-01-02T03:04:05.678Z", "tool_name": "write_file", "args_json": "{}", "seen": 1}
    values = {**plain, "status": "CONFIRMED", "effect": "done", "changed": 1, **columns}
    return call_from_row([values.get(name) for name in queries._CALL_COLUMNS])


def all_remarks() -> set[str]:
    """Every remark there is, from calls that each have a reason for some."""
    pending = {"status": "PENDING", "effect": None}
    said = [
        *remarks(a_call(**pending), writer_dead=True),
        *remarks(a_call(**pending, no_signal=1)),
        *remarks(a_call(status="success")),
        *remarks(a_call(tool_name="delegate_task")),
        *remarks(a_call(closed_by="no-pre")),
        *remarks(a_call(closed_by="middleware", nested_in=7)),
        *remarks(a_call(later_status="ERROR:timeout")),
        *remarks(a_call(status="ERROR:tool_error", effect="unknown", exit_code=2)),
        *remarks(a_call(double_id=4)),
        *remarks(a_call(**pending, double_id=8)),
        *remarks(a_call(reported_ts="2026-01-02T03:04:05.678Z", seen=5, repeat_of=9, args_redacted=4, args_cut=1)),
    ]
    return {any_number(remark) for remark in said}


def any_number(remark: str) -> str:
    return re.sub(r"CONFIRMED|ERROR:\w+|\d+", "…", remark)


def test_the_page_has_every_remark_and_no_other() -> None:
    listed = [any_number(row[0].strip("“”")) for row in table(PARTS["Remarks"])]
    assert sorted(listed) == sorted(all_remarks())
    assert len(listed) == 17


def test_every_sentence_that_the_page_quotes_is_a_remark() -> None:
    assert {any_number(sentence) for sentence in quotes(ROWS)} <= all_remarks()


def test_the_states_are_those_of_the_engine_in_their_order_with_their_marks() -> None:
    rows = table(PARTS["State: what it means now"])
    assert [(name, mark) for name, mark, *_ in rows] == [(name, GLYPHS[name]) for name in STATES]


def test_the_statuses_are_the_four() -> None:
    listed = [code(row[0])[0] for row in table(PARTS["Status: what is in the file"])]
    assert listed == ["PENDING", "CONFIRMED", "ERROR:<type>", "GHOST_REPORTED"]


def test_every_status_that_the_page_names_can_come_about() -> None:
    reports = [
        ("error", "tool_error"), ("blocked", "plugin_block"), ("timeout", "tool_timeout"),
        ("cancelled", "user_interrupt"), ("error", "invalid_tool_arguments"), ("error", "edit_approval_denied"),
    ]  # fmt: skip
    outcomes = [
        judge(tool_name="patch", result="{}", status=status, error_type=kind, duration_ms=1, redact=True).status
        for status, kind in reports
    ]
    known = {"PENDING", "CONFIRMED", "GHOST_REPORTED", "ERROR:<type>", *outcomes}
    named = {word for word in code(ROWS) if re.fullmatch(r"[A-Z_]{6,}|ERROR:.+", word)}
    assert named == known


def test_the_effects_are_those_of_the_engine() -> None:
    assert [code(row[0])[0] for row in table(PARTS["Effect: did it happen?"])] == ["done", "none", "unknown"]


def test_the_grace_periods_are_those_of_the_engine() -> None:
    assert (tools.DEFAULT_GRACE_S, tools.GRACE_S) == (120, {"terminal": 900, "delegate_task": 1800})
    assert "2 minutes; `terminal` for 15, `delegate_task` for 30" in PARTS["Grace and age"]


def test_the_situations_are_counted_and_their_tests_exist() -> None:
    part = PARTS["Every way in which a call can go"]
    situations, proofs = part.split("Proved by these tests")
    numbers = [int(row[0]) for row in table(situations)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(len(row) == 6 for row in table(situations))
    proved = [int(number) for row in table(proofs) for number in row[0].split(",")]
    assert set(proved) <= set(numbers)
    host_tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "host").glob("test_*.py"))
    for row in table(proofs):
        for name in code(row[1]):
            assert f"def {name}(" in host_tests, name


def test_what_the_page_calls_reading_is_not_recorded() -> None:
    assert not any(tools.changes_state(name, {"path": "a"}) for name in ("read_file", "search_files", "web_search"))
    assert not tools.changes_state("cronjob", {"action": "list"})
    assert not any(tools.changes_state("process", {"action": a}) for a in ("list", "poll", "log", "wait"))
    for name in ("write_file", "execute_code", "memory", "mcp__files__read", "never_heard_of"):
        assert tools.changes_state(name, {"a": 1}), name
