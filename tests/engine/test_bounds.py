"""Ids, names and hashes of any size: stored at a bounded length, without secrets, and still pairing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ledger.engine import fingerprint
from agent_ledger.engine.fingerprint import HASHED_NAMES, ID_LIMIT, NAME_LIMIT, bounded
from agent_ledger.engine.history import results_in
from agent_ledger.engine.redact import MARK

from .homes import Home

SECRET = "Tr0ub4dorQz9Lm3Kp5"
KEY = b"k" * 32


def test_a_short_id_is_kept_and_a_long_one_is_cut_to_one_that_still_differs() -> None:
    assert bounded("c" * ID_LIMIT) == "c" * ID_LIMIT
    first, second = bounded("c" * 1000 + "1"), bounded("c" * 1000 + "2")
    assert len(first) == len(second) == ID_LIMIT
    assert first != second
    assert first.startswith("c" * 300)
    assert first == bounded("c" * 1000 + "1")


def test_calls_with_long_ids_are_paired_and_told_apart(home: Home) -> None:
    long = {"session_id": "S" * 100_000, "turn_id": "T" * 100_000, "task_id": "K" * 5000, "api_request_id": "R" * 5000}
    for number in (1, 2):
        home.pre("X" * 5000, call="C" * 5000 + str(number), **long)
    home.post("X" * 5000, call="C" * 5000 + "2", **long)
    rows = home.rows()
    assert [row["status"] for row in rows] == ["PENDING", "CONFIRMED"]
    for row in rows:
        for name in ("session_id", "turn_id", "tool_call_id", "task_id", "request_id", "tool_name"):
            assert len(row[name]) == ID_LIMIT, name


def test_a_result_in_the_conversation_is_known_by_the_id_that_is_kept() -> None:
    history = [{"role": "tool", "tool_call_id": "C" * 5000, "content": "done"}, {"role": "tool", "tool_call_id": "c1"}]
    assert results_in(history) == {bounded("C" * 5000), "c1"}


def test_argument_names_reach_the_disk_as_they_are_shown(home: Home) -> None:
    home.pre(args={f"https://bob:{SECRET}@h.example/x": "a", f"DB_PASSWORD={SECRET}": "b", "plain": "c"})
    row = home.only()
    assert SECRET not in repr(row)
    assert set(json.loads(row["value_hashes"])) == set(json.loads(row["args_json"]))


@pytest.mark.parametrize("args", [{f"key{n}": "x" * 900 for n in range(5000)}, {"n" * 500_000: "x", "a": "y" * 9000}])
def test_the_hashes_of_the_arguments_are_bounded(home: Home, args: dict[str, Any]) -> None:
    home.pre(args=args)
    hashes = json.loads(home.only()["value_hashes"])
    assert 1 <= len(hashes) <= HASHED_NAMES
    assert all(len(name) <= NAME_LIMIT for name in hashes)


def test_two_names_that_look_alike_without_their_secrets_share_no_hash() -> None:
    args = {"https://bob:a1@h/x": 1, "https://bob:b2@h/x": 2}
    hashes = json.loads(fingerprint.value_hashes(KEY, args, lambda name: name.replace("a1", "?").replace("b2", "?")))
    assert hashes == {"https://bob:?@h/x": fingerprint.value_hash(KEY, 1)}


def too_deep(end: object) -> object:
    """Deeper than any Python writes as JSON, whether it stops at some thousand levels or at ten times as many."""
    value = end
    for _ in range(100_000):
        value = [value]
    return value


def test_values_that_cannot_be_shown_are_no_repeats_of_each_other(home: Home) -> None:
    class Closed:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    for number, args in enumerate(({"x": too_deep(1)}, {"x": too_deep(2)}, {"x": Closed()}, {"x": Closed()})):
        home.pre(args=args, call=f"c{number}")
    rows = home.rows()
    assert [row["repeat_of"] for row in rows] == [None] * 4
    assert [row["args_hash"] for row in rows] == [None] * 4
    home.clock.advance(1)
    assert "more than once" not in home.turn()


def test_such_a_value_takes_no_other_argument_with_it() -> None:
    hashes = json.loads(fingerprint.value_hashes(KEY, {"x": too_deep(1), "path": "/a"}, str))
    assert hashes == {"path": fingerprint.value_hash(KEY, "/a")}
    assert fingerprint.call_hash(KEY, "t", fingerprint.canonical({"x": too_deep(1)})) is None


def test_names_of_tools_and_of_errors_hold_no_secret(home: Home) -> None:
    tool = f"mcp__x__password={SECRET}"
    home.pre(tool, call="c1")
    home.post(tool, call="c1", status="error", error_type=f"token={SECRET}", result="failed")
    row = home.only()
    assert SECRET not in repr(row)
    assert row["tool_name"] == f"mcp__x__password={MARK}"
    assert row["status"] == "ERROR:token__redacted_"


def test_with_redaction_off_a_tool_s_name_is_kept_as_it_is(home: Home) -> None:
    home.paths.data.mkdir(parents=True)
    home.paths.settings.write_text('{"redact": false}')
    home.pre(f"mcp__x__password={SECRET}")
    home.post(f"mcp__x__password={SECRET}")
    assert home.only()["tool_name"] == f"mcp__x__password={SECRET}"
    assert home.statuses() == ["CONFIRMED"]
