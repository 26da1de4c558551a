"""The fast encoder says what Python's own says, for every value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.compact_json import encoder

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.booleans() | st.none(), inner),
)


@given(values)
def test_it_says_what_python_says(value: Any) -> None:
    assert encoder(default=repr)(value) == json.dumps(value, ensure_ascii=False, default=repr)


@given(values)
def test_it_says_it_without_spaces(value: Any) -> None:
    said = json.dumps(value, ensure_ascii=False, default=repr, separators=(",", ":"))
    assert encoder(default=repr, separators=(",", ":"))(value) == said


def test_after_an_error_it_goes_on() -> None:
    encode = encoder(default=bytes.hex)
    shared: list[Any] = [1]
    for _ in range(3):
        with pytest.raises(TypeError):
            encode([shared, object()])
    assert encode([shared, b"\x01"]) == '[[1], "01"]'


def test_what_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises((RecursionError, ValueError)):
        encoder(default=repr)(value)


def test_a_python_without_the_fast_one_serves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert encoder(default=repr)({"a": "é"}) == '{"a": "é"}'
