"""Which row a confirmation settles: by call id, and by tool and arguments where the host gives none."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import agent_ledger as door

from .homes import Home


def by_call(home: Home) -> dict[str, str]:
    return {row["tool_call_id"]: row["status"] for row in home.rows()}


def test_issued_and_confirmed(home: Home) -> None:
    home.pre()
    before = home.only()
    assert (before["status"], before["effect"], before["settled_ts"]) == ("PENDING", None, None)
    home.post()
    row = home.only()
    assert (row["status"], row["effect"], row["closed_by"], row["duration_ms"]) == ("CONFIRMED", "done", "post", 5)
    assert row["result_digest"] == '{"bytes_written": 3}'
    assert row["args_json"] == '{"path": "/a", "content": "abc"}'
    assert row["changed"] > before["changed"]


@pytest.mark.parametrize("order", list(itertools.permutations(["c1", "c2", "c3"])))
def test_by_call_id_in_every_order(home: Home, order: tuple[str, ...]) -> None:
    for call in ("c1", "c2", "c3"):
        home.pre(call=call)
    for place, call in enumerate(order):
        home.post(call=call, status="error", error_type=f"place{place}")
    assert by_call(home) == {call: f"ERROR:place{place}" for place, call in enumerate(order)}


def test_equal_ids_in_other_turns_and_sessions_are_other_calls(home: Home) -> None:
    home.pre(call="call_0", session_id="s1", turn_id="s1:s1:a")
    home.pre(call="call_0", session_id="s1", turn_id="s1:s1:b")
    home.pre(call="call_0", session_id="s2", turn_id="s2:s2:a")
    home.post(call="call_0", session_id="s1", turn_id="s1:s1:b")
    home.post(call="call_0", session_id="s2", turn_id="s2:s2:a", status="error")
    assert home.statuses() == ["PENDING", "CONFIRMED", "ERROR:error"]


def test_an_id_used_again_for_another_tool_is_another_call(home: Home) -> None:
    home.pre("write_file", call="call_0")
    home.pre("patch", call="call_0")
    home.post("patch", call="call_0")
    home.post("write_file", call="call_0", status="error")
    assert home.statuses() == ["ERROR:error", "CONFIRMED"]


NO_IDS = {"session_id": "", "turn_id": "", "api_request_id": ""}


def test_the_session_is_filled_in_by_the_confirmation(home: Home) -> None:
    home.pre(call="c1", **NO_IDS)
    home.post(call="c1", session_id="s1")
    row = home.only()
    assert (row["session_id"], row["turn_id"], row["status"]) == ("s1", "s1:s1:00000001", "CONFIRMED")


def test_a_call_without_a_session_is_told_to_the_chat_of_its_task_and_to_no_other(home: Home) -> None:
    home.pre(call="c1", **NO_IDS, task_id="s1")
    home.clock.advance(200)
    assert home.turn(session="s2", task_id="s2") == ""
    assert "#1 write_file" in home.turn(session="s1", task_id="s1")
    home.post(call="c1", session_id="s1")
    assert "it did land" in home.turn(3, session="s1")


def test_without_call_ids_the_same_arguments_pair_first(home: Home) -> None:
    for path in ("/a", "/b", "/a"):
        home.pre(args={"path": path}, call="")
    home.post(args={"path": "/b"}, call="", status="error", error_type="b")
    home.post(args={"path": "/a"}, call="", status="error", error_type="a1")
    assert home.statuses() == ["ERROR:a1", "ERROR:b", "PENDING"]


def test_without_call_ids_and_with_other_arguments_the_oldest_of_the_tool_is_settled(home: Home) -> None:
    home.pre("patch", {"path": "/z"}, call="")
    home.pre(args={"path": "/a"}, call="")
    home.pre(args={"path": "/b"}, call="")
    home.post(args={"path": "/changed by a middleware"}, call="")
    assert home.statuses() == ["PENDING", "CONFIRMED", "PENDING"]


def test_empty_arguments_pair_by_being_equal_too(home: Home) -> None:
    home.pre("browser_back", {"times": 2}, call="")
    home.pre("browser_back", {}, call="")
    home.post("browser_back", {}, call="")
    assert home.statuses() == ["PENDING", "CONFIRMED"]


def test_pairing_by_tool_stays_within_the_session_or_the_task(home: Home) -> None:
    home.pre(call="", session_id="s1")
    home.pre(call="", session_id="s2")
    home.post(call="", session_id="s2")
    assert [row["status"] for row in home.rows()] == ["PENDING", "CONFIRMED"]
    home.pre("patch", call="", **NO_IDS, task_id="t1")
    home.pre("patch", call="", **NO_IDS, task_id="t2")
    home.post("patch", call="", **NO_IDS, task_id="t2")
    assert [row["status"] for row in home.rows("tool_name='patch'")] == ["PENDING", "CONFIRMED"]


def test_announced_twice_in_a_moment_is_one_row(home: Home) -> None:
    home.pre()
    home.pre()
    home.post()
    home.post()
    row = home.only()
    assert (row["seen"], row["status"], row["later_status"]) == (2, "CONFIRMED", None)


def test_an_id_that_comes_again_after_its_call_ended_is_a_new_call(home: Home) -> None:
    home.pre()
    home.post()
    home.clock.advance(60)
    home.pre()
    assert home.statuses() == ["CONFIRMED", "PENDING"]


@pytest.mark.parametrize(
    ("first", "second", "status", "later", "effect"),
    [
        ({"status": "timeout"}, {"status": "ok"}, "ERROR:timeout", "CONFIRMED", "done"),
        ({"status": "ok"}, {"status": "timeout"}, "CONFIRMED", "ERROR:timeout", "done"),
        ({"status": "error"}, {"status": "cancelled"}, "ERROR:error", "ERROR:cancelled", "unknown"),
        ({"status": "ok"}, {"status": "ok"}, "CONFIRMED", None, "done"),
    ],
)
def test_the_first_settlement_stands_and_a_contradiction_is_kept_beside_it(
    home: Home, first: dict[str, str], second: dict[str, str], status: str, later: str | None, effect: str
) -> None:
    home.pre()
    home.post(**first, result="one")
    home.post(**second, result="two")
    row = home.only()
    assert (row["status"], row["later_status"], row["effect"]) == (status, later, effect)
    assert row["result_digest"] == "one"
    assert row["later_digest"] == ("two" if later else None)


def test_a_post_that_nobody_announced_has_a_row_of_its_own(home: Home) -> None:
    home.post(call="c9", args={}, status="cancelled", error_type="user_interrupt", result=None)
    row = home.only()
    assert (row["status"], row["effect"], row["closed_by"]) == ("ERROR:cancelled", "none", "no-pre")


def test_only_what_changes_something_is_recorded(home: Home) -> None:
    home.start()
    for tool, args in (
        ("read_file", {"path": "/a"}),
        ("cronjob", {"action": "list"}),
        ("process_manage", {"action": "poll"}),
    ):
        home.pre(tool, args, call=tool)
        home.post(tool, args, call=tool)
    home.pre("mcp__github__list_issues", {}, call="m")
    home.pre("never_heard_of", {}, call="n")
    assert [row["tool_name"] for row in home.rows()] == ["mcp__github__list_issues", "never_heard_of"]


def test_a_read_only_tool_touches_nothing(home: Home) -> None:
    for _ in range(3):
        home.pre("read_file", {"path": "/a"})
        home.post("read_file", {"path": "/a"})
        home.returned("text", "read_file")
    assert list(home.folder.iterdir()) == []
    assert home.recorder.keeper._thread is None


# -- calls made inside a script --------------------------------------------------------------------------------------

NESTED = {"session_id": "", "turn_id": "", "call": "", "api_request_id": "", "task_id": "s1"}
SCRIPT = {"code": "…"}


def script(home: Home, inner: Callable[[], None]) -> None:
    home.pre("execute_code", SCRIPT, call="x1")
    inner()
    home.returned('{"status": "success"}', "execute_code", SCRIPT, call="x1")
    home.post("execute_code", SCRIPT, call="x1", result='{"status": "success"}')


def test_inside_a_script_on_a_host_without_posts_the_return_settles(home: Home) -> None:
    def inner() -> None:
        home.pre(**NESTED)
        home.returned('{"bytes_written": 1}', **NESTED)

    script(home, inner)
    outer, nested = home.rows()
    assert (nested["status"], nested["closed_by"], nested["nested_in"]) == ("CONFIRMED", "middleware", outer["id"])
    assert (nested["session_id"], nested["turn_id"]) == ("s1", "s1:s1:00000001")


def test_inside_a_script_on_a_host_with_posts_nothing_is_doubled(home: Home) -> None:
    def inner() -> None:
        for path in ("/a", "/a", "/b"):
            home.pre(args={"path": path}, **NESTED)
            home.returned('{"bytes_written": 1}', args={"path": path}, **NESTED)
            home.post(args={"path": path}, **NESTED)

    script(home, inner)
    assert home.statuses() == ["CONFIRMED"] * 4


def test_a_failure_inside_a_script_is_one_row_however_each_signal_words_it(home: Home) -> None:
    def inner() -> None:
        home.pre(**NESTED)
        with pytest.raises(ValueError, match="no"):
            home.returned(ValueError("no"), **NESTED)
        home.post(status="error", error_type="tool_error", result='{"error": "no"}', **NESTED)

    script(home, inner)
    assert home.statuses() == ["CONFIRMED", "ERROR:ValueError"]


def test_the_script_s_own_end_proves_nothing_about_a_call_lost_inside(home: Home) -> None:
    script(home, lambda: home.pre(**NESTED))
    home.clock.advance(200)
    assert "#2 write_file" in home.turn()
    assert home.statuses() == ["CONFIRMED", "GHOST_REPORTED"]


def test_a_return_alone_does_not_settle_an_ordinary_call_before_its_post(home: Home) -> None:
    home.pre()
    home.returned("{}")
    assert home.statuses() == ["PENDING"]
    home.post(status="error", error_type="tool_error")
    row = home.only()
    assert (row["status"], row["closed_by"], row["later_status"]) == ("ERROR:tool_error", "post", None)


def test_a_return_without_a_post_settles_at_the_next_turn(home: Home) -> None:
    home.pre()
    home.returned("{}")
    home.clock.advance(300)
    assert home.turn() == ""
    row = home.only()
    assert (row["status"], row["closed_by"]) == ("CONFIRMED", "middleware")


def test_after_a_time_out_the_late_return_is_the_later_truth(home: Home) -> None:
    home.pre()
    home.post(status="timeout", error_type="tool_timeout")
    home.returned('{"bytes_written": 1}')
    row = home.only()
    assert (row["status"], row["later_status"], row["effect"]) == ("ERROR:timeout", "CONFIRMED", "done")
    assert "it did land" in home.turn()
    assert home.turn(3) == ""


def test_the_middleware_passes_results_and_errors_through_untouched(home: Home) -> None:
    result = {"any": object()}
    assert home.returned(result) is result
    with pytest.raises(KeyboardInterrupt):
        home.returned(KeyboardInterrupt())


def test_what_goes_wrong_inside_never_reaches_the_host(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(door, "recorder", broken)
    home.pre()
    home.post()
    home.start()
    assert home.turn() == ""
    assert home.returned("fine") == "fine"
