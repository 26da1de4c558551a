"""The shell-hook form: the very file that a person names in `config.yaml`, run as a host would run it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.demo.reference_host import ReferenceHost, Turn
from ledger_tui.demo.turn_start import EXIT_REASON, ShellHook

from .conftest import RULE

ROOT = Path(__file__).resolve().parents[2]


class Installed:
    """A home in which the plugin's folder lies, and its shell hook."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "plugins" / "a ledger"
        shutil.copytree(ROOT / "agent_ledger", self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.data = home / "plugin-data" / "agent-ledger"
        self.data.mkdir(parents=True, mode=0o700)
        self.policy("enforce")

    def policy(self, mode: str, text: str | None = None) -> None:
        self.data.joinpath("prompt_policy.json").write_text(text or json.dumps({"rules": [RULE]}), encoding="utf-8")
        self.data.joinpath("prompt_policy_mode").write_text(mode, encoding="utf-8")

    @property
    def command(self) -> str:
        return f"{sys.executable} '{self.folder / 'prompt_hook.py'}'"

    def ask(self, event: object, *arguments: str, **environment: str) -> dict[str, Any]:
        """The one line that it answers with."""
        done = subprocess.run(
            [sys.executable, str(self.folder / "prompt_hook.py"), *arguments],
            input=event if isinstance(event, bytes) else json.dumps(event).encode(),
            capture_output=True,
            timeout=60,
            env={"PATH": os.defpath, "HOME": str(self.home.parent), **environment},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        (line,) = done.stdout.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found


def event(message: object, name: str = "pre_llm_call") -> dict[str, Any]:
    extra = {"user_message": message, "conversation_history": [], "turn_id": "s1:s1:1"}
    return {"hook_event_name": name, "tool_name": None, "tool_input": None, "session_id": "s1", "extra": extra}


BLOCK = {"action": "block", "message": RULE["message"]}


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "home")


def test_one_line_of_json_whatever_the_verdict(installed: Installed) -> None:
    assert installed.ask(event("about KD-123456")) == BLOCK
    assert installed.ask(event("hello")) == {}
    assert installed.ask(event([{"type": "text", "text": "KD-123456"}, {"type": "image_url"}])) == BLOCK
    assert installed.ask(event("KD-123456", name="post_llm_call")) == {}


def test_rule_time_and_session_are_kept(installed: Installed) -> None:
    installed.ask(event("about KD-123456"))
    connection = sqlite3.connect(f"file:{installed.data / 'ledger.db'}?mode=ro", uri=True)
    found = connection.execute("SELECT session_id, turn_id, rule, mode, outcome FROM prompt_decision").fetchall()
    connection.close()
    assert found == [("s1", "s1:s1:1", "customer-number", "enforce", "advisory")]
    assert all(b"KD-123456" not in file.read_bytes() for file in installed.data.rglob("*") if file.is_file())


@pytest.mark.parametrize("mode", ["off", "dry_run", "unheard-of"])
def test_without_enforce_every_turn_passes(installed: Installed, mode: str) -> None:
    installed.policy(mode)
    assert installed.ask(event("about KD-123456")) == {}
    assert installed.ask(b"no JSON") == {}


@pytest.mark.parametrize(
    "asked", [b"", b"no JSON", b"[]", b"{}", b'{"extra": {}}', b'{"extra": {"user_message": null}}', b"\xff\xfe"]
)
def test_what_it_cannot_decide_is_a_block(installed: Installed, asked: bytes) -> None:
    found = installed.ask(asked)
    assert found["action"] == "block"
    assert str(installed.data / "prompt_policy_mode") in found["message"]


def test_a_broken_policy_and_a_broken_engine_are_blocks(installed: Installed) -> None:
    installed.policy("enforce", "{")
    assert "line 1" in installed.ask(event("hello"))["message"]
    installed.folder.joinpath("engine", "prompts", "rules.py").write_text("raise RuntimeError\n", encoding="utf-8")
    assert installed.ask(event("hello"))["action"] == "block"
    installed.policy("off")
    assert installed.ask(event("hello")) == {}


def test_the_home_is_named_by_option_else_variable_else_place(installed: Installed, tmp_path: Path) -> None:
    other = str(tmp_path / "empty")
    assert installed.ask(event("KD-123456"), HERMES_HOME=other) == {}
    assert installed.ask(event("KD-123456"), "--hermes-home", str(installed.home), HERMES_HOME=other) == BLOCK
    assert installed.ask(event("KD-123456"), f"--hermes-home={other}") == {}
    assert not Path(other).exists()


def test_the_reference_host_ends_the_turn(installed: Installed) -> None:
    chat = ReferenceHost(shell_hooks=[ShellHook(installed.command)])
    assert chat.turn("about KD-123456") == Turn(RULE["message"], 0, EXIT_REASON)
    assert chat.turn("hello") == Turn("done", 1)
    assert chat.warnings == []


# What the reference host makes of shell hooks


def script(tmp_path: Path, text: str) -> str:
    file = tmp_path / "hook.py"
    file.write_text(text, encoding="utf-8")
    return f"{sys.executable} {file}"


def test_both_forms_of_a_block_and_any_exit_code(tmp_path: Path) -> None:
    said = script(tmp_path, 'print(\'{"decision": "block", "reason": "no"}\'); raise SystemExit(3)')
    chat = ReferenceHost(shell_hooks=[ShellHook(said)])
    assert chat.turn("hello") == Turn("no", 0, EXIT_REASON)
    assert chat.warnings == ["shell hook ended with 3"]


def test_exit_code_2_blocks_nothing_here(tmp_path: Path) -> None:
    chat = ReferenceHost(shell_hooks=[ShellHook(script(tmp_path, "raise SystemExit(2)"))])
    assert chat.turn("hello") == Turn("done", 1)


def test_a_hook_that_takes_too_long_or_is_missing_lets_the_turn_pass(tmp_path: Path) -> None:
    slow = ShellHook(script(tmp_path, "import time; time.sleep(60)"), timeout=0.2, fail_closed=True)
    chat = ReferenceHost(shell_hooks=[slow, ShellHook(str(tmp_path / "missing"))])
    assert chat.turn("hello") == Turn("done", 1)
    assert chat.warnings == [
        "fail_closed is honoured for pre_tool_call only; ignored for pre_llm_call",
        "shell hook failed: TimeoutExpired",
        "shell hook failed: FileNotFoundError",
    ]
