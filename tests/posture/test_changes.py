"""Rows that change are fed again, and the findings are those of the rows as they now stand."""

from __future__ import annotations

from agent_ledger.engine import queries
from agent_ledger.engine.posture import Posture
from agent_ledger.engine.posture.memory import RUN_ROWS
from agent_ledger.engine.posture.score import OPEN_ROWS, SESSIONS
from agent_ledger.engine.posture.seen import Seen

from .ledgers import WIPE, command, row, scored


def test_a_lost_call_that_landed_takes_its_finding_back() -> None:
    posture = scored([row(n, status="GHOST_REPORTED") for n in (1, 2, 3)])
    assert posture.score == 85
    assert posture.feed_rows([row(2)]) == []
    assert (posture.score, posture.findings) == (100, ())


def test_it_rests_on_other_calls_when_one_of_four_lands() -> None:
    posture = scored([row(n, status="GHOST_REPORTED") for n in (1, 2, 3, 4)])
    (found,) = posture.feed_rows([row(2)])
    assert (found.rows, found.ledger_id) == ((1, 3, 4), 4)
    assert posture.score == 85


def test_pending_then_lost_then_settled() -> None:
    posture = scored([row(n, status="PENDING") for n in (1, 2, 3)])
    assert posture.score == 100
    assert [one.rule for one in posture.feed_rows([row(n, status="GHOST_REPORTED") for n in (1, 2, 3)])] == [
        "lost-calls"
    ]
    posture.feed_rows([row(n, status="ERROR:tool_error", at=1.0 * n) for n in (1, 2, 3)])
    assert posture.score == 100


def test_errors_count_when_they_are_known() -> None:
    posture = scored([row(n, f"t{n % 2}", at=1.0 * n, status="PENDING") for n in range(1, 6)])
    for n in (5, 3, 1, 2):
        assert posture.feed_rows([row(n, f"t{n % 2}", at=1.0 * n, status="ERROR:tool_error")]) == []
    (found,) = posture.feed_rows([row(4, "t0", at=4.0, status="ERROR:tool_error")])
    assert (found.rule, found.rows, found.ledger_id) == ("error-burst", (1, 2, 3, 4, 5), 4)


def test_a_retry_that_succeeds_in_the_end() -> None:
    posture = scored([command(n, "make docs", status="ERROR:tool_error") for n in (1, 2, 3)])
    assert posture.score == 92
    assert posture.feed_rows([command(4, "make docs", status="PENDING")]) == []
    assert posture.score == 92
    posture.feed_rows([command(4, "make docs")])
    assert posture.score == 100


def test_repeats_that_turn_out_to_have_failed() -> None:
    posture = scored([command(n, "snapshot take", status="PENDING") for n in (1, 2, 3)])
    assert [one.rule for one in posture.findings] == ["blind-repeats"]
    posture.feed_rows([command(n, "snapshot take", status="ERROR:tool_error", at=300.0 * n) for n in (1, 2, 3)])
    assert [one.rule for one in posture.findings] == ["failing-retries"]


def test_an_announcement_that_is_doubled_later() -> None:
    posture = scored([row(1, status="PENDING"), row(2)])
    assert [one.rule for one in posture.feed_rows([row(1, seen=2)])] == ["doubled-calls"]
    assert posture.feed_rows([row(1, seen=3), row(2, seen=2)]) == []


def test_the_act_of_a_call_counts_once() -> None:
    posture = Posture()
    for status in ("PENDING", "GHOST_REPORTED", "CONFIRMED", "CONFIRMED"):
        posture.feed_rows([command(7, WIPE, status=status)])
    assert (posture.rows, posture.score) == (1, 75)


def test_calls_and_rows_give_the_same() -> None:
    rows = [
        command(1, WIPE + "\n# done \u202e"),
        row(2, "memory", {"content": "Kim likes tea\u200b"}),
        row(3, "write_file", '{\n  "path": "run.sh",\n  "content": "ls"\n}'),
        command(4, "sh run.sh", status="GHOST_REPORTED"),
    ]
    names = (
        "id",
        "ts",
        "session_id",
        "task_id",
        "tool_name",
        "args_json",
        "args_cut",
        "args_redacted",
        "status",
        "seen",
        "turn_id",
    )
    calls = []
    for raw in rows:
        values = dict(zip(names, raw, strict=True))
        calls.append(queries.call_from_row([values.get(name) for name in queries._CALL_COLUMNS]))
    posture = Posture()
    posture.feed(calls)
    assert posture.findings == scored(rows).findings
    assert len(posture.findings) == 3


# What is remembered stays small.


def test_sessions_and_open_rows_are_bounded() -> None:
    posture = scored(row(n, session=f"s{n}", status="PENDING") for n in range(1, OPEN_ROWS + SESSIONS))
    assert len(posture._sessions) <= SESSIONS
    assert len(posture._open) <= OPEN_ROWS
    assert posture.rows == OPEN_ROWS + SESSIONS - 1


def test_a_long_row_of_identical_calls_is_bounded() -> None:
    posture = scored(command(n, "snapshot take", at=60.0 * n, status="PENDING") for n in range(1, 500))
    assert [one.rule for one in posture.findings] == ["blind-repeats"]
    session = posture._sessions["s1"]
    assert session.run is not None
    assert len(session.run.rows) == RUN_ROWS


def test_ids_met_before_are_known_in_any_order() -> None:
    seen = Seen()
    met: set[int] = set()
    for row_id in (5, 6, 7, 3, 900, 901, 7, 6, 4, 900, 1_000_000, 255, 256, 2, 901, 902, 1_000_001, 999_999):
        assert seen.add(row_id) is (row_id not in met), row_id
        met.add(row_id)
