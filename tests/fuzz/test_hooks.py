"""Payloads of any shape through every hook: nothing gets out, no call is missing, no secret stays."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import agent_ledger as door
from agent_ledger.engine.inert import inert
from agent_ledger.engine.records import ARGS_LIMIT, DIGEST_LIMIT, storable
from agent_ledger.engine.redact import redact_text
from agent_ledger.engine.secret_values import MOST_NAMES
from agent_ledger.engine.tools import changes_state
from tests.engine.homes import Home, Row, read_rows, until

from . import places
from . import strategies as some
from .profiles import fuzzed

_numbers = iter(range(1, 10**9))


def fresh() -> str:
    """A call id that no example had before."""
    return f"fuzz-{next(_numbers)}"


def quiet() -> None:
    """No hook had to swallow an error."""
    assert not door._complained, door._complained


@fuzzed(2)
@given(some.call_payloads, some.outcomes, some.turns, st.booleans())
def test_whatever_the_host_passes_no_hook_fails_or_changes_it(
    call: dict[str, Any], outcome: dict[str, Any], turn: dict[str, Any], raises: bool
) -> None:
    door._complained.clear()
    with places.home():
        shown = repr((call, outcome, turn))
        door.on_session_start(**turn)
        assert door.pre_tool_call(**call) is None
        assert returned(call, outcome.get("result"), raises)
        door.post_tool_call(**call, **outcome)
        answer = door.pre_llm_call(**turn)
        assert answer is None or set(answer) == {"context"}
        assert repr((call, outcome, turn)) == shown
        quiet()


def returned(call: dict[str, Any], result: Any, raises: bool) -> bool:
    """Does the middleware give back what the tool gave, error or result?"""
    trouble = KeyError("x")

    def tool(args: Any) -> Any:
        if raises:
            raise trouble
        return result

    try:
        return door.tool_execution(next_call=tool, **call) is result and not raises
    except KeyError as error:
        return error is trouble


def recorded(home: Home, tool: Any, args: Any, outcome: dict[str, Any], **ids: Any) -> Row:
    """The row of a call that was announced and reported."""
    call = fresh()
    payload = {"tool_name": tool, "args": args, "tool_call_id": call, "session_id": "s1", "turn_id": "t1", **ids}
    door.pre_tool_call(**payload)
    door.post_tool_call(**payload, **outcome)
    home.merged()
    (row,) = read_rows(home.paths, f"tool_call_id = '{call}'")
    return row


@fuzzed(2)
@given(st.sampled_from(some.TOOLS), some.arguments, some.outcomes)
def test_every_call_that_changes_something_has_its_row(
    tool: str, args: dict[Any, Any], outcome: dict[str, Any]
) -> None:
    if not changes_state(tool, args):
        return
    door._complained.clear()
    with places.home() as home:
        row = recorded(home, tool, copy.deepcopy(args), outcome)
    quiet()
    assert row["status"] == "CONFIRMED" or row["status"].startswith("ERROR:")
    assert row["effect"] in ("done", "none", "unknown")
    assert len(row["args_json"]) <= ARGS_LIMIT
    assert len(row["result_digest"] or "") <= DIGEST_LIMIT
    if not row["args_cut"] and not row["args_redacted"]:
        assert same(json.loads(row["args_json"]), args)


def same(stored: Any, given: Any) -> bool:
    """Is it the same JSON value? A number may be NaN, and names are texts in JSON."""
    if isinstance(given, dict):
        named = {
            key if isinstance(key, str) else json.loads(json.dumps({key: 0})).popitem()[0]: given[key] for key in given
        }
        return (
            isinstance(stored, dict) and stored.keys() == named.keys() and all(same(stored[k], named[k]) for k in named)
        )
    if isinstance(given, (list, tuple)):
        return isinstance(stored, list) and len(stored) == len(given) and all(map(same, stored, given))
    if isinstance(given, float) and math.isnan(given):
        return isinstance(stored, float) and math.isnan(stored)
    return bool(stored == given)


# -- secrets -------------------------------------------------------------------------------------------------------

TOKENS = tuple("".join(parts) for parts in (
    ("gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"), ("s", "k-", "proj-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2"),
    ("AK", "IA", "Q3EXAMPLEKEY7ZZZ"), ("xo", "xb-", "1234567890-abcdefghijkl"), ("gl", "pat-", "q8W7e6R5t4Y3u2I1o0P9"),
    ("h", "f_", "QwErTyUiOpAsDfGhJkLzXcVbNm"), ("np", "m_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6"),
    ("123456789", ":AA", "Hq1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6"),
))  # fmt: skip
"""Made up, and put together here so that nobody's search for secrets stops at this file."""

SEPARATORS = (
    " ",
    "\n",
    "\t",
    '"',
    "'",
    ",",
    ";",
    "(",
    ")",
    "[",
    "<",
    ">",
    "|",
    "&",
    "`",
    "\r\n",
    "\u2028",
    "\x1b[0m ",
    "\x00",
)
PADS = (0, 1, 250, 290, 300, 3_900, 3_990, 4_000, 7_980, 8_000, 8_010)


@st.composite
def holding(draw: st.DrawFn, token: str) -> Any:
    """A JSON value somewhere in which the token stands as a word of its own."""
    around = (draw(st.sampled_from(SEPARATORS)), draw(st.sampled_from(SEPARATORS)))
    free = st.one_of(some.texts(20), st.sampled_from(PADS).map(lambda size: "x" * size))
    value: Any = draw(free) + around[0] + token + around[1] + draw(some.texts(20))
    for step in draw(st.lists(st.sampled_from(("list", "object", "name", "json", "pair")), max_size=4)):
        if step == "list":
            value = [draw(some.scalars), value]
        elif step == "object":
            value = {draw(some.argument_names): draw(some.scalars), draw(some.argument_names) + "_": value}
        elif step == "name" and isinstance(value, str):
            value = {value: draw(some.scalars)}
        elif step == "json":
            value = json.dumps(value)
        elif step == "pair":
            value = {"name": draw(some.texts(8)), "value": value}
    return value


def texts_of(row: Row) -> Iterator[str]:
    for name, value in row.items():
        if isinstance(value, str) and name != "value_hashes":
            yield value


@fuzzed(4)
@given(st.sampled_from(TOKENS), st.data())
def test_a_token_stays_in_no_column(token: str, data: st.DataObject) -> None:
    held = data.draw(holding(token))
    place = data.draw(st.sampled_from(("args", "command", "result", "error_type", "tool_name")))
    tool = f"x {token}" if place == "tool_name" else data.draw(st.sampled_from(("terminal", "write_file", "mcp__a__b")))
    args = {"args": {"content": held}, "command": {"command": held if isinstance(held, str) else json.dumps(held)}}
    outcome: dict[str, Any] = (
        {"status": "error", "error_type": f"no {token}"} if place == "error_type" else {"status": "ok"}
    )
    with places.home() as home:
        row = recorded(
            home, tool, args.get(place, {"path": "a"}), {**outcome, "result": held if place == "result" else "x"}
        )
    for text in texts_of(row):
        assert token[:14] not in text, (place, text)


PLAIN_NAMES = (
    "password",
    "api_key",
    "DB_PASSWORD",
    "client_secret",
    "auth-token",
    "passphrase",
    "x-api-key",
    "githubToken",
)


@fuzzed(2)
@given(st.sampled_from(PLAIN_NAMES), st.integers(0, 3), st.data())
def test_what_is_given_under_the_name_of_a_secret_stays_in_no_column(
    name: str, levels: int, data: st.DataObject
) -> None:
    value = "Zq7!" + data.draw(
        st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=6, max_size=20)
    )
    args = some.deep({name: value}, levels, key=data.draw(st.sampled_from(("env", "headers", "config"))))
    form = data.draw(
        st.sampled_from((lambda one: one, lambda one: {"content": json.dumps(one)}, lambda one: {"items": [one]}))
    )
    with places.home() as home:
        row = recorded(home, "mcp__a__b", form(args), {"status": "ok", "result": "x"})
    assert row["args_redacted"] >= 1
    escaped = json.dumps(value)[1:-1]
    for text in texts_of(row):
        assert value not in text
        assert escaped not in text


_PIECES = (
    "password", "password=", '"password": ', "token: ", "secret_", "api_key ", "name: password value: ", "curl -u a:",
    "mysql -p", "docker login ", "login x password ", "password '", "identified by '", "https://a:", "a://",
    "authorization: ",
    "bearer ", "basic ", "cookie: ", "-----BEGIN PRIVATE KEY-----", "sk-a", "eyJaaaaaaaa.", "123456789:A", "<<",
    "<password>", "'",
    '"', "\\", '\\"', "\\n", "\n", "\t", " ", "a", "1", "a.", "a-", "a_", "=", ":", "=>", "(", "[", "{", ")",
    "]", "|", ";", ",",
    "\n- ", "|\n ", "!Ref ", "new a(", "get(", "r'", "\'\'\'", "$", "--password ", "set -x ", "config set ",
    "\u00a0", "\r\n",
)  # fmt: skip
"""What the patterns for secrets look for, and what they step over."""


@fuzzed(2)
@given(st.sampled_from(_PIECES), st.lists(st.sampled_from(_PIECES), min_size=1, max_size=3))
@example("authorization: ", [" "])
@example("authorization: ", ["\n"])
@example("", ["new a(", "pw="])
def test_no_text_keeps_a_hook_at_work_over_its_secrets(head: str, pieces: list[str]) -> None:
    text = (head + "".join(pieces) * 20_000)[:20_000]
    with places.at_work_for_at_most(30.0):
        redact_text(text, lines=True)


def test_behind_more_names_than_are_read_nothing_is_kept() -> None:
    shown, _ = redact_text("token=a1b2c3d4; " * (MOST_NAMES + 50) + "Zq7x7!w")
    assert "Zq7x7!w" not in shown


# -- what the agent is told ------------------------------------------------------------------------------------------


def told(home: Home, session: str, history: list[Any]) -> str:
    """The notice. A turn in which the ledger is busy for a moment has none; the next one does."""
    found: list[str] = []

    def asked() -> bool:
        answer = door.pre_llm_call(session_id=session, turn_id=fresh(), conversation_history=history)
        found.extend([answer["context"]] if answer else [])
        return bool(found)

    until(asked, "the notice is given")
    return found[0]


@fuzzed()
@given(
    st.lists(st.tuples(st.sampled_from(some.TOOLS), some.arguments), min_size=1, max_size=3),
    some.texts(),
    st.lists(some.messages),
)
def test_a_notice_is_plain_text_whatever_was_lost(
    made: list[tuple[str, Any]], session: str, history: list[Any]
) -> None:
    door._complained.clear()
    with places.home() as home:
        for tool, args in made:
            door.pre_tool_call(tool_name=tool, args=args, tool_call_id=fresh(), session_id=session, turn_id="t1")
        home.merged()
        home.clock.advance(7_200)
        answer = told(home, session, history) if any(changes_state(tool, args) for tool, args in made) else None
        home.clock.advance(-7_200)
    quiet()
    for line in (answer or "").split("\n"):
        assert inert(line) == line
        assert storable(line) == line


@pytest.mark.parametrize("levels", [150, 500, 900])
def test_arguments_nested_without_end_cost_nobody_a_notice(levels: int) -> None:
    """A repeated call whose arguments cannot be read everywhere stands among those that a notice looks at."""
    door._complained.clear()
    session = fresh()
    with places.home() as home:
        for args in ({"command": some.deep("x", levels)}, {"command": some.deep("x", levels)}, {"command": "touch a"}):
            door.pre_tool_call(tool_name="terminal", args=args, tool_call_id=fresh(), session_id=session, turn_id="t1")
        home.merged()
        assert ", 2 times" in places.deep_down(200, lambda: told(home, session, []))
    quiet()


@pytest.mark.parametrize("escape", ["\\n", "\\u2028", "\\u001B", "\\x1b", "\\\\t"])
@pytest.mark.parametrize("token", TOKENS)
def test_a_token_right_behind_an_escaped_character_goes(token: str, escape: str) -> None:
    text, redacted = redact_text(f"x{escape}{token} y")
    assert (token[:14] in text, redacted) == (False, 1)
