"""Policy files, mode files and settings of any content: named mistakes or usable rules, and never an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent_ledger as door
from agent_ledger.engine import settings
from agent_ledger.engine.inert import inert
from agent_ledger.engine.policy import load as tool_load
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.mode import MODES, mode_of
from agent_ledger.engine.policy.patterns import PatternError, compiled
from agent_ledger.engine.policy.rehearsal import Rehearsal
from agent_ledger.engine.prompts import load, read
from agent_ledger.engine.prompts.load import KINDS
from agent_ledger.engine.severity import SEVERITIES

from . import places
from . import strategies as some
from .profiles import fuzzed

LONGEST_REASON = 1_000
"""Characters of a sentence that a person can still read."""

patterns = st.one_of(
    some.texts(20),
    st.lists(st.sampled_from(("a", "\\d", "[a-z]", "(", ")", "(?:", "|", "?", "*", "+", "{1,9}", "{3}", ".", "^",
    "$", "\\b",
                              "\\1", "(?i)", "(?<x>", "(?P<x>", "(?=", "(?<!", "[^", "]", "\\", "#", "@", "-", "{",
                              "}")),
             max_size=10).map("".join),
)  # fmt: skip
_GLOBS = ("*", "terminal", "write_file", "mcp__*", "[", "[!", "recursive-delete", "unread*", "*.env", "/srv/*")
globs = st.lists(st.one_of(st.sampled_from(_GLOBS), some.texts(12)), min_size=1, max_size=3)
severities = st.sampled_from(SEVERITIES)
_FORMS: tuple[dict[str, st.SearchStrategy[Any]], ...] = (
    {"kinds": globs, "at_least": severities, "except_targets": globs},
    {"contains": st.lists(some.texts(12), min_size=1, max_size=3)},
    {"pattern": patterns},
    {"paths": globs},
    {"budget": some.object_of(("fan_out",), some.json_values, calls=st.integers(0, 3), depth=st.integers(0, 3))},
)  # fmt: skip


def _tool_rule(form: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    return some.object_of(
        ("about", "message", "enabled"), some.json_values, name=some.texts(), severity=severities, tools=globs, **form
    )


tool_rules = st.sampled_from(_FORMS).flatmap(_tool_rule)
tool_policies = some.object_of(
    ("about", "version", "rules"), some.json_values,
    rules=st.lists(some.mostly(tool_rules, some.json_values), min_size=1, max_size=4),
)  # fmt: skip
_prompt_entries = {
    "shapes": st.lists(st.one_of(st.just("KD-######"), patterns), min_size=1, max_size=2),
    "patterns": st.lists(st.one_of(st.just("[A-Z]{2}[0-9]{4}"), patterns), min_size=1, max_size=2),
    "ignore_case": st.booleans(), "check": st.sampled_from(("luhn", "mod97")),
    "count": st.sampled_from(("turns", "calls")), "per": st.sampled_from(("hour", "day")),
    "at_most": st.integers(0, 3),
    "from": st.just("22:00"), "to": st.just("06:00"), "days": st.just(["mon"]), "zone": st.sampled_from(("local",
    "UTC")),
    "suffixes": st.lists(some.texts(), max_size=2), "names": st.lists(st.sampled_from(("vault", "a.b", "..")),
    max_size=2),
    "private_addresses": st.booleans(), "except": st.lists(some.texts(), max_size=2),
}  # fmt: skip


def _prompt_rule(kind: str) -> st.SearchStrategy[Any]:
    return some.object_of(
        (), some.json_values, name=st.sampled_from(("a", "b", "customer-id")), kind=st.just(kind),
        severity=severities,
        message=some.texts(80), enabled=st.booleans(),
        **{name: _prompt_entries[name] for name in sorted(KINDS[kind][0])},
    )  # fmt: skip


prompt_rules = st.sampled_from(sorted(KINDS)).flatmap(_prompt_rule)
prompt_policies = some.object_of(
    ("version", "about", "rules", "unreadable_parts"), some.json_values, version=st.just(1),
    rules=st.lists(some.mostly(prompt_rules, some.json_values), min_size=1, max_size=4),
    unreadable_parts=some.object_of(("action", "message"), some.json_values, action=st.just("block"),
    message=some.texts()),
)  # fmt: skip
settings_files = some.object_of(
    ("grace_seconds", "redact", "durability", "repeat_window_seconds"), some.json_values, redact=st.booleans(),
    grace_seconds=st.dictionaries(some.texts(12), some.json_values, max_size=3),
    durability=st.sampled_from(("normal", "full")), repeat_window_seconds=some.numbers,
)  # fmt: skip
calls = st.lists(st.tuples(st.sampled_from(some.TOOLS), some.arguments), max_size=3)


def put(name: str, data: bytes) -> Path:
    path = places.folder() / name
    path.write_bytes(data)
    return path


def told(error: PolicyError) -> None:
    """A mistake is one sentence of bearable length, on a line that the file has."""
    assert len(error.reason) <= LONGEST_REASON, error.reason
    assert inert(error.reason) == error.reason
    assert 0 <= error.line <= 1 + Path(error.file).read_bytes().count(b"\n")


@fuzzed()
@given(some.files(tool_policies), calls)
def test_a_tool_policy_of_any_content_is_named_wrong_or_decides(data: bytes, made: list[tuple[str, Any]]) -> None:
    found = tool_load.load(put("policy.json", data))
    if isinstance(found, PolicyError):
        return told(found)
    rehearsal = Rehearsal(found)
    for number, (tool, args) in enumerate(made):
        decision = rehearsal.judge(tool, args, session_id="s1", call_id=number)
        assert decision.decision in ("allow", "block")
        assert decision.blocks == bool(decision.rule)
        assert inert(decision.reason) == decision.reason


@fuzzed()
@given(some.files(prompt_policies), some.messages)
def test_a_prompt_policy_of_any_content_is_named_wrong_or_decides(data: bytes, message: Any) -> None:
    found = load(put("prompt_policy.json", data))
    if isinstance(found, PolicyError):
        return told(found)
    verdict = found.decide(read(message), now=1.8e9, mono=lambda: 0.0, count=lambda what, since: 1)
    assert verdict.decision in ("allow", "block")
    assert not verdict.blocks or verdict.message


@fuzzed()
@given(some.files(settings_files))
def test_settings_of_any_content_are_usable(data: bytes) -> None:
    found = settings.SettingsFile(put("settings.json", data)).get(10.0)
    assert found.durability in settings.DURABILITY
    assert type(found.redact) is bool
    for seconds in (found.repeat_window_seconds, *found.grace_seconds.values()):
        assert 0 <= seconds <= settings.LONGEST_S
    for problem in found.problems:
        assert len(problem) <= LONGEST_REASON
        assert inert(problem) == problem


@fuzzed(0.5)
@given(st.one_of(st.binary(max_size=300), st.sampled_from(MODES).map(str.encode), some.utf8_texts().map(str.encode)))
def test_a_mode_is_one_of_three_words_or_none(data: bytes) -> None:
    mode = mode_of(put("policy_mode", data))
    assert mode.valid == (mode.value in MODES)
    assert not mode.valid or data.strip().removeprefix(b"\xef\xbb\xbf").decode() == mode.value


@fuzzed()
@given(
    some.files(tool_policies), some.files(prompt_policies), st.sampled_from((*MODES, "", "Enforce\n")),
    some.call_payloads, some.turns,
)  # fmt: skip
def test_under_any_policy_a_hook_lets_pass_or_blocks_with_a_sentence(
    tools: bytes, prompts: bytes, mode: str, call: dict[str, Any], turn: dict[str, Any]
) -> None:
    door._complained.clear()
    door._refused_turns.clear()
    with places.home("policies") as home:
        for path, data in (
            (home.paths.policy, tools), (home.paths.prompt_policy, prompts), (home.paths.policy_mode, mode.encode()),
            (home.paths.prompt_policy_mode, mode.encode()),
        ):  # fmt: skip
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(data)
        home.clock.advance(2.0)
        answer = door.pre_tool_call(**call)
        told_turn = door.pre_llm_call(**turn)
    assert not door._complained, door._complained
    if answer is not None:
        assert answer["action"] == "block"
        assert inert(answer["message"]) == answer["message"]
    if told_turn is not None and "action" in told_turn:
        assert told_turn["message"].strip()
    if mode == "off":
        assert answer is None
        assert told_turn is None or set(told_turn) == {"context"}


@pytest.mark.parametrize("entry", ["kind", "severity", "check", "count", "per"])
def test_a_word_of_a_prompt_rule_that_is_a_list_is_named(entry: str) -> None:
    kind = {"check": "identifier", "count": "limit", "per": "limit"}.get(entry, "iban")
    whole: dict[str, Any] = {
        "identifier": {"shapes": ["KD-######"]},
        "limit": {"count": "turns", "per": "day", "at_most": 1},
    }
    rule = {"name": "a", "kind": kind, "message": "no", **whole.get(kind, {}), entry: []}
    found = load(put("prompt_policy.json", some.written({"rules": [rule]}).encode()))
    assert isinstance(found, PolicyError)
    assert (found.line, entry in found.reason) == (1, True)


def test_a_policy_that_cannot_even_be_looked_for_is_named() -> None:
    for load_one in (tool_load.load, load):
        found = load_one(places.folder() / ("a" * 300))
        assert isinstance(found, PolicyError)
        assert "it cannot be read" in found.reason


@pytest.mark.parametrize(
    "pattern",
    [
        "a?" * 60 + "a" * 60,
        "(aa|a)" * 60 + "b",
        "(a{0,16}){0,16}b",
        "(((a?){0,16}){0,16}){0,16}b",
        "a{0,16}a{0,16}a{0,16}a{0,16}b",
        "(?=(aa|a){0,16})b",
        "(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa).*.*b",
    ],
)
def test_a_pattern_with_too_many_ways_to_match_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="could run away"):
        compiled(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(curl|wget|fetch)\b.*\|\s*(ba|z|da|k)?sh\b",
        r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b",
        r"(prod|production|live)[-_.]?[a-z0-9]{0,16}",
        r"--(force|hard|mirror|delete|prune)(=|\b)",
    ],
)
def test_a_pattern_as_people_write_them_is_taken(pattern: str) -> None:
    assert compiled(pattern).search("x") is None
