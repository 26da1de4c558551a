"""Limits, quiet hours, mistakes in the file, and the order in which rules are asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.prompts import PolicyError, parse, read
from agent_ledger.engine.prompts.rules import STRETCH

from .judging import NOON, blocked, judge, policy

# Gates


def test_a_limit_closes_when_it_is_used_up() -> None:
    made = policy({"kind": "limit", "count": "calls", "per": "hour", "at_most": 3})
    assert [judge(made, "hello", counted=number).blocks for number in (0, 2, 3, 4)] == [False, False, True, True]


def test_a_limit_asks_for_its_period() -> None:
    asked: list[tuple[str, float]] = []
    made = policy({"kind": "limit", "count": "turns", "per": "day", "at_most": 9})

    def count(what: str, since: float) -> int:
        asked.append((what, since))
        return 0

    made.decide(read("hello"), now=NOON, mono=lambda: 0.0, count=count)
    assert asked == [("turns", NOON - 86_400)]


@pytest.mark.parametrize(
    ("rule", "hour", "closed"),
    [
        # UTC, then Berlin, one hour ahead in January; NOON is a Friday.
        ({"from": "11:00", "to": "12:01"}, 0, True),
        ({"from": "11:00", "to": "12:00"}, 0, False),
        ({"from": "12:00", "to": "13:00"}, 0, True),
        ({"from": "23:00", "to": "06:00"}, 11, True),
        ({"from": "23:00", "to": "06:00"}, 10, False),
        ({"from": "23:00", "to": "06:00"}, 17, True),
        ({"from": "23:00", "to": "06:00"}, 18, False),
        ({"from": "23:00", "to": "06:00", "days": ["fri"]}, 17, True),
        ({"from": "23:00", "to": "06:00", "days": ["sat"]}, 17, False),
        ({"from": "11:00", "to": "13:00", "days": ["sat", "sun"]}, 0, False),
        ({"from": "13:00", "to": "14:00", "zone": "Europe/Berlin"}, 0, True),
    ],
)
def test_quiet_hours(rule: dict[str, Any], hour: int, closed: bool) -> None:
    made = policy({"kind": "quiet-hours", "zone": "UTC", **rule})
    assert judge(made, "hello", now=NOON + hour * 3_600).blocks is closed


def test_quiet_hours_follow_daylight_saving() -> None:
    # Berlin went from 02:00 to 03:00 on 29 March 2026 at 01:00 UTC: 1774746000.
    made = policy({"kind": "quiet-hours", "zone": "Europe/Berlin", "from": "02:00", "to": "03:00"})
    assert [judge(made, "x", now=1_774_746_000.0 + shift).blocks for shift in (-1, 0)] == [False, False]


# Files


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('{\n "rules": [\n', 3, "no JSON"),
        ("[]", 1, "no JSON object"),
        ('{"rules": {}}', 1, "no list called rules"),
        ('{"rule": []}', 1, "unknown entry 'rule'"),
        ('{"rules": [],\n"rules": []}', 2, "stands twice"),
        ('{"rules": [\n{"name": "a", "kind": "iban", "message": "m"},\n{"name": "A"}]}', 3, "rule 2: its name"),
        ('{"rules": [\n\n{"name": "a", "kind": "ibam", "message": "m"}]}', 3, "its kind is none of"),
        ('{"rules": [{"name": "a", "kind": "iban"}]}', 1, "no message"),
        ('{"rules": [{"name": "a", "kind": "iban", "message": " "}]}', 1, "no message"),
        ('{"rules": [{"name": "a", "kind": "iban", "message": "m", "shapes": []}]}', 1, "unknown entry 'shapes'"),
        ('{"rules": [{"name": "a", "kind": "identifier", "message": "m"}]}', 1, "neither shapes nor patterns"),
        ('{"rules": [{"name": "a", "kind": "iban", "message": "m", "severity": "high"}]}', 1, "severity is none of"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, why: str) -> None:
    made = parse(text, "p.json")
    assert isinstance(made, PolicyError)
    assert (made.file, made.line) == ("p.json", line)
    assert why in made.reason


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"kind": "limit", "count": "calls", "per": "week", "at_most": 1}, "per is none of"),
        ({"kind": "limit", "count": "words", "per": "day", "at_most": 1}, "count is none of"),
        ({"kind": "limit", "count": "calls", "per": "day", "at_most": -1}, "at_most is no whole number"),
        ({"kind": "quiet-hours", "from": "24:00", "to": "06:00"}, "from is no time"),
        ({"kind": "quiet-hours", "from": "06:00", "to": "06:00"}, "the same time"),
        ({"kind": "quiet-hours", "from": "22:00", "to": "06:00", "zone": "Mars"}, "'Mars' is not known"),
        ({"kind": "quiet-hours", "from": "22:00", "to": "06:00", "days": ["monday"]}, "days are some of"),
        ({"kind": "internal-host"}, "no suffixes"),
        ({"kind": "internal-host", "suffixes": ["*.corp"]}, "no host name"),
        ({"kind": "email", "except": "team.example"}, "list of texts"),
        ({"kind": "identifier", "shapes": ["KD"]}, "needs a #"),
        ({"kind": "identifier", "shapes": ["KD-####"], "check": "mod11"}, "check is none of"),
        ({"kind": "iban", "enabled": "no"}, "neither true nor false"),
    ],
)
def test_entries_that_cannot_be_meant_are_refused(rule: dict[str, Any], why: str) -> None:
    made = parse(json.dumps({"rules": [{"name": "a", "message": "m", **rule}]}))
    assert isinstance(made, PolicyError)
    assert why in made.reason


def test_rules_are_tried_in_order_and_switched_off_ones_are_not() -> None:
    first, second = {"name": "first", "kind": "iban"}, {"name": "second", "kind": "iban"}
    text = "DE89 3704 0044 0532 0130 00"
    assert judge(policy(first, second), text).rule == "first"
    assert judge(policy({**first, "enabled": False}, second), text).rule == "second"


def test_when_time_runs_out_the_message_is_too_long_to_check() -> None:
    ticks = iter([0.0, 0.084, 0.086])
    made = policy({"kind": "iban"})
    verdict = made.decide(read("x" * 3 * STRETCH), now=NOON, mono=lambda: next(ticks), count=lambda *_: 0)
    assert (verdict.decision, verdict.rule) == ("block", "too-long")


@given(st.lists(st.one_of(st.text(), st.none(), st.integers(), st.dictionaries(st.text(), st.text())), max_size=5))
def test_no_message_makes_a_rule_fail(parts: list[object]) -> None:
    made = policy(
        *({"name": kind, "kind": kind} for kind in ("card-number", "iban", "email", "credential", "injection")),
        {"name": "hidden", "kind": "invisible-text"},
        {"name": "own", "kind": "identifier", "shapes": ["KD-######"]},
        {"name": "host", "kind": "internal-host", "suffixes": ["corp.example"], "private_addresses": True},
    )
    texts = [part for part in parts if isinstance(part, str)]
    assert judge(made, parts).blocks == judge(made, "\n".join(texts)).blocks


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_known_number_is_found_in_any_surroundings(before: str, after: str) -> None:
    assert blocked("identifier", f"{before} KD-123456 {after}", shapes=["KD-######"])
