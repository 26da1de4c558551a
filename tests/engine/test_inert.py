"""No hazardous character survives as itself, and JSON stays the same JSON."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.inert import clip, inert, inert_lines

HAZARDS = {
    "escape": "\x1b", "bell": "\x07", "delete": "\x7f", "C1 control": "\x9b", "newline": "\n", "carriage return": "\r",
    "tab": "\t", "null": "\0", "bidi override": "\u202e", "bidi isolate": "\u2066", "right-to-left mark": "\u200f",
    "zero width space": "\u200b", "zero width joiner": "\u200d", "byte order mark": "\ufeff", "soft hyphen": "\u00ad",
    "line separator": "\u2028", "paragraph separator": "\u2029", "tag letter": "\U000e0041", "half surrogate": "\ud800",
    "variation selector": "\ufe01", "selector supplement": "\U000e0100", "hangul filler": "\u3164",
    "halfwidth filler": "\uffa0", "grapheme joiner": "\u034f", "braille blank": "\u2800", "interlinear": "\ufff9",
    "mongolian selector": "\u180b", "invisible times": "\u2062", "arabic letter mark": "\u061c",
    "not assigned, but ignorable": "\u2065",
}  # fmt: skip


@pytest.mark.parametrize("name", HAZARDS)
def test_a_hazard_becomes_a_visible_escape(name: str) -> None:
    out = inert(f"a{HAZARDS[name]}b")
    assert HAZARDS[name] not in out
    assert out.startswith("a\\")
    assert out.isprintable()


@pytest.mark.parametrize(
    "text", ["", "plain", "größer, 日本語 — ✓ 🙂 ❤\ufe0f", "back\\slash \"quote\" 'x' `y` [red]", "\u00a0"]
)
def test_what_is_harmless_stays(text: str) -> None:
    assert inert(text) == text


@given(st.text())
def test_nothing_hazardous_survives_and_doing_it_twice_changes_nothing(text: str) -> None:
    out = inert(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in out)
    assert inert(out) == out


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(json_values, st.booleans())
def test_json_stays_the_same_json(value: object, escaped: bool) -> None:
    assert json.loads(inert(json.dumps(value, ensure_ascii=escaped))) == value


def test_lines() -> None:
    assert inert_lines("a\tb\r\nc\x1b[0m\rd") == ["a    b", "c\\u001b[0m\\rd"]


@pytest.mark.parametrize(("limit", "out"), [(5, "abcde"), (4, "abc…"), (1, "…"), (0, "…")])
def test_clip(limit: int, out: str) -> None:
    assert clip("abcde", limit) == out
