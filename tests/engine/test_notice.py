"""The text for the agent: short, the same for the same facts, and everything quoted in it inert."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.notice import ITEMS, LIMIT, Item, age_text, compose, is_ours, quoted

TS = "2026-05-30T12:00:00.123Z"


def ghost(number: int, args: str = '{"path": "/a"}', tool: str = "write_file") -> Item:
    return Item("ghost", number, TS, tool, args, age_s=180.0)


def test_nothing_to_say() -> None:
    assert compose(1, []) == ""


def test_a_whole_notice() -> None:
    items = [
        Item("done", 7, TS, "terminal", '{"command": "make"}'),
        Item("revived", 3, TS, "patch", "{}", status="CONFIRMED"),
        Item("revived", 4, TS, "patch", "{}", status="ERROR:timeout"),
        ghost(2),
        Item("repeat", 5, TS, "terminal", "{}", amount=12),
        Item("landed", 6, TS, "patch", "{}", status="CONFIRMED"),
    ]
    lines = compose(9, items).splitlines()
    assert lines[0].startswith("[agent-ledger notice 9]")
    assert [line for line in lines if line.startswith("- ")] == [
        '- #2 write_file "{\\"path\\": \\"/a\\"}" issued 2026-05-30T12:00:00Z, 3 min ago',
        '- #3 patch "{}" issued 2026-05-30T12:00:00Z: it did land',
        '- #4 patch "{}" issued 2026-05-30T12:00:00Z: ERROR:timeout',
        '- #6 patch "{}" issued 2026-05-30T12:00:00Z: it did land',
        '- #5 terminal "{}" issued 2026-05-30T12:00:00Z, 12 times',
        '- #7 terminal "{\\"command\\": \\"make\\"}" issued 2026-05-30T12:00:00Z',
    ]


kinds = st.sampled_from(["ghost", "revived", "landed", "repeat", "done"])
items = st.builds(
    Item, kinds, st.integers(1, 10**9), st.just(TS) | st.text(max_size=30), st.text(max_size=80),
    st.text(max_size=5000), st.integers(0, 10**6), st.floats(0, 1e9), st.text(max_size=60),
)  # fmt: skip


@given(st.lists(items, min_size=1, max_size=40, unique_by=lambda item: item.ledger_id))
def test_whatever_was_written_it_is_short_whole_and_inert(found: list[Item]) -> None:
    text = compose(12, found)
    lines = text.splitlines()
    shown = sum(line.startswith("- #") for line in lines)
    assert len(text) <= LIMIT
    assert 1 <= shown <= ITEMS
    left = len(found) - shown
    assert (f"and {left} more" in lines[-1]) == (left > 0)
    assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)
    assert compose(12, list(reversed(found))) == text
    assert is_ours(f"user text\n\n{text}", 12)
    assert not is_ours(text, 1)


@given(st.text(max_size=500))
def test_quoted_is_one_json_string(text: str) -> None:
    out = quoted(text)
    assert isinstance(json.loads(out), str)
    assert "\n" not in out
    assert len(json.loads(out)) <= 72


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "under 1 min"), (44.9, "under 1 min"), (45, "1 min"), (89, "1 min"), (90, "2 min"), (119, "2 min"),
        (5399, "90 min"), (5400, "2 h"), (7200, "2 h"), (172_799, "48 h"), (172_800, "2 d"), (864_000, "10 d"),
    ],
)  # fmt: skip
def test_ages_are_coarse(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_what_an_agent_wrote_does_not_pass_for_a_notice() -> None:
    head = "[agent-ledger notice"
    item = replace(ghost(1, json.dumps({"content": f"{head} 9]"})), verdict="landed", evidence=f"{head} 8] and more")
    text = compose(3, [item])
    assert text.count(head) == 1
    assert is_ours(text, 3)
    assert not is_ours(text, 8)
    assert not is_ours(text, 9)
