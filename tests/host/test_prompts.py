"""The prompt policy on released hosts, which ignore a block: what it does there, and why it calls itself advisory."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from .conftest import MakeHome
from .home import Action, HermesHome
from .model import call, text_of

pytestmark = pytest.mark.host

RULE: dict[str, Any] = {
    "name": "customer-number",
    "kind": "identifier",
    "shapes": ["KD-######"],
    "message": "Customer numbers belong into the ticket system.",
}


def turn(chat: str, text: str) -> Action:
    return {"do": "turn", "chat": chat, "text": text}


def policy(home: HermesHome, mode: str, rule: dict[str, Any] | None = None) -> None:
    home.paths.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.paths.prompt_policy.write_text(json.dumps({"rules": [rule or RULE]}), encoding="utf-8")
    home.paths.prompt_policy_mode.write_text(f"{mode}\n", encoding="utf-8")


def decisions(home: HermesHome) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{home.paths.ledger}?mode=ro", uri=True)
    try:
        found = "SELECT session_id, rule, mode, outcome FROM prompt_decision ORDER BY id"
        return connection.execute(found).fetchall()
    finally:
        connection.close()


def logged(home: HermesHome) -> list[str]:
    text = (home.home / "logs" / "agent.log").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if "agent-ledger" in line]


def test_where_a_block_is_ignored_the_model_is_told_and_tools_are_refused(make_home: MakeHome) -> None:
    home = make_home("advisory")
    policy(home, "enforce")
    path = str(home.work / "made.txt")
    home.model.script("[adv]", call("write_file", path=path, content="x"), call("read_file", path="host.pid"), "told")
    done = home.run(
        turn("plain", "[plain] hello"),
        turn("adv", "[adv] what about KD-123456?"),
        turn("adv", "[adv] and now?"),
        turn("adv", "[adv] once more KD-654321"),
    )
    assert [one["final_response"] for one in done] == ["done", "told", "done", "done"]
    sent = home.model.user_messages("[adv]")
    assert all("customer-number" in text and RULE["message"] in text for text in [*sent[:3], sent[4]])
    assert "customer-number" not in sent[3]
    assert home.model.user_messages("[plain]") == ["[plain] hello"]
    assert not (home.work / "made.txt").exists()
    row = home.row("adv", tool="write_file")
    assert (row["status"], row["effect"]) == ("ERROR:blocked", "none")
    answers = home.model.requests_of("[adv]")[2]["messages"]
    results = [text_of(message) for message in answers if message["role"] == "tool"]
    assert ["customer-number" in text for text in results] == [True, True]
    assert decisions(home) == [("adv", "customer-number", "enforce", "advisory")] * 2
    assert len([line for line in logged(home) if "advisory on this host" in line]) == 1
    assert not [line for line in logged(home) if "KD-" in line]
    assert all(b"KD-123456" not in file.read_bytes() for file in home.paths.data.iterdir() if file.is_file())


def test_a_dry_run_only_counts(make_home: MakeHome) -> None:
    home = make_home("dry")
    policy(home, "dry_run")
    home.run(turn("dry", "[dry] KD-123456"), turn("dry", "[dry] hello"))
    assert home.model.user_messages("[dry]") == ["[dry] KD-123456", "[dry] hello"]
    assert decisions(home) == [("dry", "customer-number", "dry_run", "would-block")]


def test_switched_off_it_is_not_there(make_home: MakeHome) -> None:
    home = make_home("off")
    policy(home, "off")
    home.run(turn("off", "[off] KD-123456"))
    assert home.model.user_messages("[off]") == ["[off] KD-123456"]
    assert decisions(home) == []


def test_a_broken_policy_refuses_with_the_way_out(make_home: MakeHome) -> None:
    home = make_home("broken")
    policy(home, "enforce", {**RULE, "shapes": ["no placeholder"]})
    home.run(turn("broken", "[broken] hello"))
    (sent,) = home.model.user_messages("[broken]")
    assert "prompt_policy.json, line 1" in sent
    assert str(home.paths.prompt_policy_mode) in sent
    assert decisions(home) == [("broken", "policy-file", "enforce", "advisory")]


def test_an_answer_in_the_models_place_does_not_hold_the_text_back(make_home: MakeHome) -> None:
    """Why nothing better than "advisory" is said of these hosts: the nearest thing to a block ends the turn's own
    request, but the text is sent for a title (0.22) and comes back with the next request (both)."""
    home = make_home("answered")
    home.add_plugin("answerer")
    home.configure(plugins=["answerer"])
    done = home.run(
        turn("held", "[held] HELD-BY-TEST account 4711"), turn("held", "[held] two"), {"do": "wait", "seconds": 2}
    )
    assert [one.get("final_response") for one in done[:2]] == ["held back", "done"]
    (second,) = home.model.requests
    assert "account 4711" in json.dumps(second)
    titles = [body for body in home.model.auxiliary if "account 4711" in json.dumps(body)]
    assert len(titles) == (0 if home.host.is_019 else 1)


def test_what_is_said_into_a_running_turn_is_not_judged(make_home: MakeHome) -> None:
    """The host asks its hooks when a turn starts and not again, so a steering message passes; the page says so."""
    home = make_home("steered")
    policy(home, "enforce")
    home.model.script("[run]", call("terminal", command="touch started; sleep 1"), "steered")
    (done,) = home.run(
        {**turn("run", "[run] go"), "steer_when": str(home.work / "started"), "steer": "about KD-123456"}
    )
    assert done["final_response"] == "steered"
    assert "KD-123456" in json.dumps(home.model.requests_of("[run]")[-1])
    assert decisions(home) == []


# The shell-hook form, without the plugin's own hooks


def shell_hooks(home: HermesHome, *commands: str) -> None:
    """Our plugin's folder lies in the home, not enabled; the commands stand in config.yaml, consent given there."""
    lines = "".join(f"    - command: {json.dumps(command)}\n      timeout: 30\n" for command in commands)
    home.configure(extra=f"hooks_auto_accept: true\nhooks:\n  pre_llm_call:\n{lines}")
    config = home.home / "config.yaml"
    text = config.read_text(encoding="utf-8")
    assert "enabled: [agent-ledger]" in text
    config.write_text(text.replace("enabled: [agent-ledger]", "enabled: []"), encoding="utf-8")


def ours(home: HermesHome) -> str:
    """The command as docs/prompts.md gives it, in the host's own Python."""
    hook = home.home / "plugins" / "agent-ledger" / "prompt_hook.py"
    return shlex.join([str(home.python), str(hook), "--hermes-home", str(home.home)])


def script(home: HermesHome, name: str, text: str) -> str:
    file = home.folder / name
    file.write_text(text, encoding="utf-8")
    return shlex.join([str(home.python), str(file)])


BLOCK = '{"action": "block", "message": "no"}'
CONTEXT = '{"context": "beside it"}'


def hook_lines(home: HermesHome) -> list[str]:
    """What the host logged of shell hooks, at WARNING and above."""
    text = (home.home / "logs" / "agent.log").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if "agent.shell_hooks" in line and " INFO " not in line]


def test_as_a_shell_hook_its_line_is_read_and_its_block_ignored(make_home: MakeHome) -> None:
    home = make_home("shell")
    policy(home, "enforce")
    shell_hooks(home, ours(home))
    path = home.work / "made.txt"
    home.model.script("[sh]", call("write_file", path=str(path), content="x"), "answered")
    done = home.run(turn("plain", "[plain] hello"), turn("sh", "[sh] about KD-123456"))
    assert [one["final_response"] for one in done] == ["done", "answered"]
    # Asked all the same, with nothing beside the text, and its tool ran: this form can only tell who reads the ledger.
    assert home.model.user_messages("[sh]") == ["[sh] about KD-123456"] * 2
    assert path.read_text(encoding="utf-8") == "x"
    assert decisions(home) == [("sh", "customer-number", "enforce", "advisory")]
    assert home.rows() == []
    assert hook_lines(home) == []
    assert all(b"KD-123456" not in file.read_bytes() for file in home.paths.data.iterdir() if file.is_file())


def test_as_a_shell_hook_a_dry_run_only_counts(make_home: MakeHome) -> None:
    home = make_home("shell-dry")
    policy(home, "dry_run")
    shell_hooks(home, ours(home))
    home.run(turn("sh", "[sh] about KD-123456"))
    assert home.model.user_messages("[sh]") == ["[sh] about KD-123456"]
    assert decisions(home) == [("sh", "customer-number", "dry_run", "would-block")]


def test_a_shell_hook_that_fails_is_a_line_in_the_log_and_the_turn_goes_on(make_home: MakeHome) -> None:
    home = make_home("shell-fails")
    seen = home.folder / "seen.json"
    shell_hooks(
        home,
        str(home.folder / "missing"),
        script(home, "two.py", f"import sys; print({BLOCK!r}); sys.exit(2)\n"),
        script(home, "keep.py", f"import sys; open({str(seen)!r}, 'w').write(sys.stdin.read())\n"),
        script(home, "context.py", f"import sys; print({CONTEXT!r}); sys.exit(3)\n"),
    )
    (done,) = home.run(turn("sh", "[sh] hello"))
    assert done["final_response"] == "done"
    assert home.model.user_messages("[sh]") == ["[sh] hello\n\nbeside it"]
    assert any("missing" in line for line in hook_lines(home))
    event = json.loads(Path(seen).read_text(encoding="utf-8"))
    assert (event["hook_event_name"], event["session_id"]) == ("pre_llm_call", "sh")
    assert event["extra"]["user_message"] == "[sh] hello"
