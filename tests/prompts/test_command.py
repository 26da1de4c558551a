"""`ledger-tui prompt-policy`, what `status` and `doctor` say, and the example file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine.paths import Paths
from agent_ledger.engine.prompts import PromptPolicy, enforced, load
from agent_ledger.engine.recorder import Recorder
from ledger_tui.cli import run
from ledger_tui.commands.policy_file import PROMPTS

from .conftest import RULE


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "plugin-data" / "agent-ledger"
    folder.mkdir(parents=True, mode=0o700)
    folder.joinpath("prompt_policy.json").write_text(json.dumps({"rules": [RULE]}), encoding="utf-8")
    return folder


class Program:
    """The program on one home."""

    def __init__(self, home: Path, output: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._home, self._output, self._patch = home, output, patch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        stream = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        self._patch.setattr("sys.stdin", stream)
        code = run(["--hermes-home", str(self._home), *arguments])
        out, err = self._output.readouterr()
        return code, out, err


@pytest.fixture
def program(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(data.parents[1], capsys, monkeypatch)


ALLOWED: dict[str, Any] = {
    "decision": "allow",
    "rule": None,
    "severity": None,
    "reason": None,
    "call_ids": [],
    "unread": [],
}


def test_a_message_is_judged_whatever_the_mode(program: Program) -> None:
    code, out, err = program("prompt-policy", "test", "--json", "about KD-123456")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        **ALLOWED, "decision": "block", "rule": "customer-number", "severity": "HIGH", "reason": RULE["message"],
    }  # fmt: skip
    assert json.loads(program("prompt-policy", "test", "--json", "hello")[1]) == ALLOWED
    assert program("prompt-policy", "test", "hello")[1] == "allow  no rule holds\n"
    assert RULE["message"] in program("prompt-policy", "test", "KD-123456")[1]


def test_lines_are_judged_one_by_one(program: Program) -> None:
    lines: list[Any] = [
        {"user_message": "KD-123456"},
        {"user_message": [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {}}]},
        {"message": "no such field"},
        {"user_message": "hello"},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n\nno JSON\n"
    code, out, err = program("prompt-policy", "test", "--stdin", stdin=text.encode())
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [one["rule"] for one in found] == ["customer-number", None, "cannot-decide", None, "cannot-decide"]
    assert found[1]["unread"] == ["image_url"]
    assert err.count("is no JSON object with a user_message") == 2


def test_without_a_policy_the_example_serves_and_that_is_said(program: Program, data: Path) -> None:
    data.joinpath("prompt_policy.json").unlink()
    code, out, err = program("prompt-policy", "test", "--json", "DE89 3704 0044 0532 0130 00")
    assert (code, json.loads(out)["rule"]) == (0, "iban")
    assert "the example that comes with the program serves" in err


def test_usage_and_files_that_are_not_there(program: Program) -> None:
    assert program("prompt-policy", "test")[0] == 2
    assert program("prompt-policy", "test", "--stdin", "hello")[0] == 2
    assert program("prompt-policy", "test", "--policy", "/nowhere.json", "hello")[0] == 3
    assert program("prompt-policy", "lint", "--policy", "/nowhere.json")[0] == 3


def test_a_policy_that_cannot_be_used_blocks_and_lint_names_the_line(program: Program, data: Path) -> None:
    file = data / "prompt_policy.json"
    file.write_text('{"rules": [\n{"name": "a", "kind": "ibam", "message": "m"}]}', encoding="utf-8")
    data.joinpath("prompt_policy_mode").write_text("enforce", encoding="utf-8")
    assert json.loads(program("prompt-policy", "test", "--json", "hello")[1])["rule"] == "policy-file"
    code, out, _ = program("prompt-policy", "lint", "--json")
    found = json.loads(out)
    assert (code, found["valid"], found["line"], found["mode"]) == (0, False, 2, "enforce")
    assert found["reason"].startswith("rule 1: a: its kind is none of")
    text = program("prompt-policy", "lint")[1]
    assert f"{file}, line 2" in text
    assert "every message is refused" in text


def test_lint_of_a_good_file_names_its_rules(program: Program) -> None:
    found = json.loads(program("prompt-policy", "lint", "--json")[1])
    assert (found["valid"], found["rules"], found["mode"], found["mode_valid"]) == (
        True, ["customer-number"], "off", True,
    )  # fmt: skip
    assert "1 rule: customer-number" in program("prompt-policy", "lint")[1]


@pytest.mark.parametrize(
    ("version", "honours"),
    [("0.19.0", False), ("0.22.2.post1", False), ("0.22.5", False), ("0.22.6", True), ("1.0", True), (None, None)],
)
def test_a_host_honours_a_block_from_its_version_on(version: str | None, honours: bool | None) -> None:
    assert enforced(version) is honours


def checks(program: Program) -> dict[str, dict[str, str]]:
    return {one["check"]: one for one in json.loads(program("doctor", "--json")[1])}


def test_doctor_names_a_broken_policy_and_what_it_means(program: Program, data: Path) -> None:
    assert checks(program)["prompt-policy"]["state"] == "ok"
    data.joinpath("prompt_policy.json").write_text("{", encoding="utf-8")
    assert checks(program)["prompt-policy"]["state"] == "warn"
    data.joinpath("prompt_policy_mode").write_text("enforce", encoding="utf-8")
    found = checks(program)
    assert found["prompt-policy"]["state"] == "fail"
    assert "line 1" in found["prompt-policy"]["text"]
    assert found["prompt-block"]["state"] == "unknown"
    data.joinpath("prompt_policy.json").unlink()
    assert checks(program)["prompt-policy"]["state"] == "fail"


@pytest.mark.parametrize(
    ("version", "state", "word"),
    [("0.22.2.post1", "warn", "advisory on this host"), ("0.22.6", "ok", "ends a turn")],
)
def test_doctor_and_status_say_what_this_host_does(
    program: Program, data: Path, version: str, state: str, word: str
) -> None:
    data.joinpath("prompt_policy_mode").write_text("enforce", encoding="utf-8")
    recorder = Recorder(Paths(data.parents[1]), about=lambda: {"host": version})
    recorder.on_session_start(session_id="s")
    assert recorder.keeper._opened.wait(10)
    recorder.keeper.close()
    found = checks(program)["prompt-block"]
    assert (found["state"], word in found["text"]) == (state, True)
    assert json.loads(program("status", "--json")[1])["prompt_policy"] == {"mode": "enforce", "enforced": state == "ok"}
    assert ("advisory on this host" in program("status")[1]) is (state == "warn")


def test_the_example_is_in_order_and_every_rule_has_a_message() -> None:
    made = load(PROMPTS.example)
    assert isinstance(made, PromptPolicy), made
    assert [rule.kind for rule in made.rules] == [
        "identifier", "card-number", "iban", "credential", "email", "internal-host", "injection", "invisible-text",
    ]  # fmt: skip
