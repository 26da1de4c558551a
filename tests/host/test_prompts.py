"""The prompt policy on released hosts, which ignore a block: what it does there, and why it calls itself advisory."""

from __future__ import annotations

import json
import sqlite3
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
