"""What a turn's history tells: compaction, deliveries, results. Shapes as Hermes 0.19 and 0.22 pass them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.history import WITHHELD, compaction_marker, delivered, messages_of, results_in, text_of

NOTICE = "[agent-ledger notice 7] Record of …"


def user(text: str, sent: str | None = None) -> dict[str, Any]:
    return {"role": "user", "content": text, **({"api_content": sent} if sent else {})}


ANSWER = {"role": "assistant", "content": "fine"}
NEW = user("and now")
SUMMARY = user("[CONTEXT COMPACTION — REFERENCE ONLY] earlier turns …")


@pytest.mark.parametrize(
    ("history", "reached"),
    [
        ([user("go", f"go\n\n{NOTICE}"), ANSWER, NEW], True),
        ([user("go", f"go\n\n{NOTICE}"), {"role": "tool", "content": "x"}, ANSWER, NEW], True),
        ([user("go", f"go\n\n{NOTICE}"), NEW], False),
        ([user("go", f"go\n\n{NOTICE}"), user("again"), ANSWER, NEW], False),
        ([user(WITHHELD, f"go\n\n{NOTICE}"), ANSWER, NEW], False),
        ([user("old", "old\n\nsomebody else's context"), ANSWER, user(WITHHELD), ANSWER, NEW], False),
        (
            [
                {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "text", "text": NOTICE}]},
                ANSWER,
                NEW,
            ],
            True,
        ),
        ([user("go"), ANSWER, NEW], None),
        ([SUMMARY, user("later", "later\n\nother context"), ANSWER, NEW], None),
        ([NEW], None),
        ([], None),
    ],
)
def test_did_the_notice_reach_the_model(history: list[Any], reached: bool | None) -> None:
    assert delivered(history, 7) is reached


def test_the_current_message_proves_nothing() -> None:
    assert delivered([user("go", NOTICE)], 7) is None


def test_a_compaction_by_its_key_or_by_its_text() -> None:
    plain = [user("hello"), ANSWER, NEW]
    assert compaction_marker(plain) is None
    keyed = [{"role": "user", "content": "summary one", "_compressed_summary": True}, *plain]
    later = [{"role": "user", "content": "summary two", "_compressed_summary": True}, *plain]
    assert compaction_marker(keyed) is not None
    assert compaction_marker(keyed) != compaction_marker(later)
    assert compaction_marker(keyed) == compaction_marker([*keyed, ANSWER])
    assert compaction_marker([SUMMARY, *plain]) is not None
    assert compaction_marker([user("[PRIOR CONTEXT — for reference only …"), *plain]) is not None
    assert compaction_marker([user("x" * 500 + "[CONTEXT COMPACTION"), *plain]) is None


def test_results() -> None:
    history = [{"role": "tool", "tool_call_id": "c1"}, {"role": "tool"}, {"role": "assistant", "tool_call_id": "c2"}]
    assert results_in(history) == {"c1"}


@pytest.mark.parametrize(
    ("content", "text"),
    [("a", "a"), ([{"text": "a"}, {"type": "image"}, "b", {"text": 5}, {"text": "c"}], "a\nc"), (None, ""), (7, "")],
)
def test_text(content: Any, text: str) -> None:
    assert text_of({"content": content}) == text


anything = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["role", "content", "api_content", "x"]), inner),
)


@given(anything)
def test_no_history_makes_it_raise(history: Any) -> None:
    messages = messages_of(history)
    compaction_marker(messages)
    results_in(messages)
    assert delivered(messages, 7) in (True, False, None)
