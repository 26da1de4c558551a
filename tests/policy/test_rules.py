"""Rules and their file: what each entry means, which mistakes are named, which patterns are refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import agent_ledger
from agent_ledger.engine import schema
from agent_ledger.engine.paths import Paths
from agent_ledger.engine.policy.file import PolicyError
from agent_ledger.engine.policy.load import parse
from agent_ledger.engine.policy.patterns import PatternError, compiled
from agent_ledger.engine.policy.rules import ToolPolicy


def policy(*rules: dict[str, Any]) -> ToolPolicy:
    loaded = parse(json.dumps({"rules": rules}))
    assert isinstance(loaded, ToolPolicy), loaded
    return loaded


def blocked(rules: ToolPolicy, tool: str, **args: str) -> str:
    return rules.decide(tool, args).rule


def test_kinds_weigh_from_at_least_on_and_spare_targets() -> None:
    strict = policy({"name": "r", "kinds": ["permissions-*"], "at_least": "MEDIUM"})
    mild = policy({"name": "r", "kinds": ["permissions-*"]})
    assert blocked(strict, "terminal", command="chmod 777 notes") == "r"
    assert blocked(mild, "terminal", command="chmod 777 notes") == ""
    spared = policy({"name": "r", "kinds": ["database-drop"], "except_targets": ["scratch*"]})
    assert blocked(spared, "terminal", command="dropdb scratch_1") == ""
    assert blocked(spared, "terminal", command="dropdb shop") == "r"


def test_a_rule_named_to_command_a_terminal_is_told_inert() -> None:
    rules = policy({"name": "r\u202e\x1b[2J", "contains": ["deploy"]}, {"name": "k\x9b", "kinds": ["database-drop"]})
    assert blocked(rules, "terminal", command="deploy now").isascii()
    assert blocked(rules, "terminal", command="dropdb shop").isascii()


def test_texts_and_patterns_are_tried_on_the_command_that_would_run() -> None:
    rules = policy({"name": "pushes", "tools": ["terminal"], "pattern": "^git push\\b"})
    assert blocked(rules, "terminal", command="sudo sh -c 'git  push'") == "pushes"
    assert blocked(rules, "terminal", command="echo git push") == ""
    assert blocked(rules, "process", command="git push") == ""
    rules = policy({"name": "hosts", "contains": ["prod.example.com"]})
    assert blocked(rules, "terminal", command="curl https://PROD.example.com/") == "hosts"
    assert blocked(rules, "mcp__web__get", url="https://prod.example.com") == "hosts"


def test_paths_of_tools_that_write() -> None:
    rules = policy({"name": "etc", "tools": ["write_file"], "paths": ["/etc/*"]})
    assert blocked(rules, "write_file", path="/srv/../etc/hosts") == "etc"
    assert blocked(rules, "write_file", path="/srv/etc-notes") == ""
    assert blocked(rules, "patch", path="/etc/hosts") == ""


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("{", 1, "JSON"),
        ('{"rules": 3}', 1, "list named rules"),
        ('{"rules": [],\n "extra": 1}', 2, "extra"),
        ('{"rules": [\n {"name": "a", "kinds": ["x"]},\n {"kinds": ["x"]}]}', 3, "no name"),
        ('{"rules": [\n\n {"name": "a"}]}', 3, "of no call"),
        ('{"rules": [{"name": "a", "kinds": "x"}]}', 1, "list of texts"),
        ('{"rules": [{"name": "a", "tools": ["x"], "budget": {"calls": -1}}]}', 1, "calls"),
        ('{"rules": [{"name": "a", "kinds": ["x"], "at_least": "BAD"}]}', 1, "at_least"),
        ('{"rules": [{"name": "a", "pattern": "(a+)+$"}]}', 1, "run away"),
        ('{"rules": [{"name": "a", "kinds": ["x"]},\n{"name": "a", "kinds": ["y"]}]}', 2, "second rule"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, word: str) -> None:
    found = parse(text, "policy.json")
    assert isinstance(found, PolicyError)
    assert (found.file, found.line) == ("policy.json", line)
    assert word in found.reason


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(ab|a)*c", "(.*)*", "a*a*a*a", r"(a)\1", "(", "x" * 401, "(?:a{1,50}b?){20,}"]
)
def test_patterns_that_could_run_away_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compiled(pattern)


@pytest.mark.parametrize("pattern", [r"\bgit\s+push\b.*--force", "a|b", "^rm ", "(?:one|two) three?", "[a-z]{2,8}"])
def test_plain_patterns_are_taken(pattern: str) -> None:
    assert compiled(pattern).flags


def test_the_example_is_in_order_and_says_what_it_cannot_see() -> None:
    text = Path(agent_ledger.__file__).with_name("policy.example.json").read_text(encoding="utf-8")
    example = parse(text)
    assert isinstance(example, ToolPolicy)
    assert "cannot see" in example.about


def test_a_ledger_of_the_first_version_gains_the_tables(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    columns = ", ".join(f"{name} {kind}" for name, kind in schema.COLUMNS.items())
    connection.execute(f"CREATE TABLE ledger({columns})")
    connection.execute(
        "INSERT INTO ledger(ts, tool_name, status) VALUES('2026-01-01T00:00:00.000Z', 'terminal', 'PENDING')"
    )
    connection.execute("PRAGMA user_version=1")
    schema.prepare(connection)
    assert connection.execute("SELECT count(*) FROM policy_decision").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (1,)
    assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    connection.close()


def test_the_door_hands_the_host_its_block_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    paths = Paths(tmp_path)
    paths.data.mkdir(parents=True, mode=0o700)
    rule = {"name": "pushes", "kinds": ["force-push"], "message": "Ask first."}
    paths.policy.write_text(json.dumps({"rules": [rule]}), encoding="utf-8")
    paths.policy_mode.write_text("enforce", encoding="utf-8")
    ids = {"session_id": "s", "turn_id": "t", "tool_call_id": "c"}
    said = agent_ledger.pre_tool_call("terminal", {"command": "git push -f"}, **ids)
    assert said is not None
    assert said["action"] == "block"
    assert "Ask first." in said["message"]
    assert agent_ledger.pre_tool_call("terminal", {"command": "git push"}, **{**ids, "tool_call_id": "d"}) is None
    agent_ledger.recorder().keeper.close()
