"""`policy report`, `test`, `replay`, `lint` and the check of `doctor`, run as a person runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.policy.load import load
from agent_ledger.engine.policy.rules import ToolPolicy
from agent_ledger.engine.recorder import Recorder
from ledger_tui.commands.act_kinds import KINDS, never
from ledger_tui.sources.policy_files import EXAMPLE

DELETE = " ".join(("rm", "-rf", "/srv/data"))
ROOT = Path(__file__).parents[2]


def ledger_tui(home: Path, *words: str, stdin: str = "") -> tuple[str, str]:
    """(standard output, standard error) of a command that ends with exit code 0."""
    done = subprocess.run(
        [sys.executable, "-m", "ledger_tui", "--hermes-home", str(home), *words],
        input=stdin, capture_output=True, text=True, check=False,
        cwd=ROOT, env={**os.environ, "HERMES_HOME": str(home)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three recorded calls: a script that deletes, its run, and a plain listing."""
    paths = Paths(tmp_path)
    recorder = Recorder(paths)
    recorder.on_session_start(session_id="chat")
    assert recorder.keeper._opened.wait(5)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "tidy.sh", "content": DELETE}),
        ("terminal", {"command": "bash tidy.sh"}),
        ("terminal", {"command": "ls"}),
    ]
    for number, (tool, args) in enumerate(calls):
        ids = {"session_id": "chat", "turn_id": "t", "tool_call_id": f"c{number}", "task_id": ""}
        recorder.pre_tool_call(tool, args, **ids, request_id="", verdict=None)
    recorder.keeper.close()
    return tmp_path


def test_one_command_and_the_example_that_serves(tmp_path: Path) -> None:
    out, error = ledger_tui(tmp_path, "policy", "test", "--json", DELETE)
    found = json.loads(out)
    assert (found["decision"], found["rule"], found["severity"], found["call_ids"]) == (
        "block",
        "deletes",
        "CRITICAL",
        [],
    )
    assert "policy.example.json" in error
    out, _ = ledger_tui(tmp_path, "policy", "test", "ls -la")
    assert out == "allow  no rule holds\n"


def test_lines_of_one_conversation(tmp_path: Path) -> None:
    lines = [
        {"tool": "write_file", "args": {"path": "run.sh", "content": DELETE}},
        {"tool": "terminal", "args": {"command": "sh run.sh"}},
        {"tool": "terminal", "args": {"command": "sh run.sh"}, "session_id": "other"},
    ]
    out, _ = ledger_tui(tmp_path, "policy", "test", "--stdin", stdin="\n".join(map(json.dumps, lines)) + "\nnot json\n")
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["decision"] for one in found] == ["allow", "block", "allow", "block"]
    assert found[1]["call_ids"] == [1]
    assert found[3]["rule"] == "cannot-decide"


def test_replay_names_what_would_have_been_refused(home: Path) -> None:
    out, _ = ledger_tui(home, "policy", "replay", "--json")
    (row,) = json.loads(out)
    assert (row["ledger_id"], row["rule"], row["mode"], row["call_ids"]) == (2, "deletes", "replay", [1])
    assert (row["session_id"], row["tool_name"], row["args_cut"]) == ("chat", "terminal", False)
    out, _ = ledger_tui(home, "policy", "replay")
    assert out.splitlines()[-1] == "1 of 3 recorded calls would have been refused."


def test_a_kind_that_no_call_has_is_named(home: Path) -> None:
    """A mistyped kind: the policy is in order, and its rule would never hold."""
    rules = [
        {"name": "one", "kinds": ["recursive-deletes", "*-delete", "force-push"]},
        {"name": "two", "kinds": ["qqq-*"]},
    ]
    Paths(home).policy.write_text(json.dumps({"rules": rules}), encoding="utf-8")
    Paths(home).policy_mode.write_text("enforce", encoding="utf-8")
    told = [
        "Rule one: no call is ever of the kind 'recursive-deletes'; did you mean recursive-delete?",
        "Rule two: no call is ever of the kind 'qqq-*'.",
    ]
    found = json.loads(ledger_tui(home, "policy", "lint", "--json")[0])
    assert (found["valid"], found["never"]) == (True, told)
    assert ledger_tui(home, "policy", "lint")[0].splitlines()[1:3] == told
    checks = {one["check"]: one for one in json.loads(ledger_tui(home, "doctor", "--json")[0])}
    assert (checks["policy"]["state"], checks["policy"]["text"]) == ("warn", told[0])


def test_the_kinds_are_those_of_the_page_and_of_what_reads_commands() -> None:
    page = (ROOT / "docs" / "policy.md").read_text("utf-8")
    table = page.split("| kind | what it is |")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)) == list(KINDS)
    made = set()
    for path in (ROOT / "agent_ledger" / "engine" / "commands").glob("*.py"):
        made |= set(re.findall(r'(?:yield|Act\() ?"([a-z-]+)",', path.read_text("utf-8")))
    assert len(made) > 30  # Else the reading above is out of date.
    assert made - {"shell"} <= set(KINDS)  # "shell" hands a text on to be read itself.


def test_the_example_names_kinds_that_there_are() -> None:
    example = load(EXAMPLE)
    assert isinstance(example, ToolPolicy)
    assert list(never(example.rules)) == []


def test_report_lint_and_doctor(home: Path) -> None:
    assert json.loads(ledger_tui(home, "policy", "report", "--json")[0]) == []
    paths = Paths(home)
    paths.policy.write_text('{"rules": [\n{"name": "a", "kind": ["x"]}]}', encoding="utf-8")
    paths.policy_mode.write_text("enforce", encoding="utf-8")
    found = json.loads(ledger_tui(home, "policy", "lint", "--json")[0])
    assert (found["valid"], found["line"], found["mode"]) == (False, 2, "enforce")
    checks = {one["check"]: one for one in json.loads(ledger_tui(home, "doctor", "--json")[0])}
    assert checks["policy"]["state"] == "fail"
    assert "line 2" in checks["policy"]["text"]
    assert "refused" in checks["policy"]["text"]
