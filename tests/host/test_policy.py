"""The tool policy on released hosts: what is refused does not run, the model reads why, and the row says so."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

from .conftest import MakeHome
from .home import Action, HermesHome
from .model import Calls, call, text_of

pytestmark = pytest.mark.host

DELETES = {"name": "deletes", "kinds": ["recursive-delete"], "message": "Ask before you delete."}


def turn(chat: str, **more: Any) -> Action:
    return {"do": "turn", "chat": chat, "text": f"[{chat}] go", **more}


def policy(home: HermesHome, mode: str, *rules: dict[str, Any]) -> None:
    home.paths.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.paths.policy.write_text(json.dumps({"rules": list(rules)}), encoding="utf-8")
    home.paths.policy_mode.write_text(f"{mode}\n", encoding="utf-8")


def decisions(home: HermesHome) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{home.paths.ledger}?mode=ro", uri=True)
    try:
        found = "SELECT ledger_id, session_id, rule, mode FROM policy_decision ORDER BY id"
        return connection.execute(found).fetchall()
    finally:
        connection.close()


def removing(home: HermesHome) -> str:
    """A command that deletes a tree of the work folder."""
    (home.work / "keep" / "below").mkdir(parents=True)
    return " ".join(("rm", "-r", "keep"))


def results(home: HermesHome, chat: str) -> list[str]:
    answers = home.model.requests_of(f"[{chat}]")[-1]["messages"]
    return [text_of(message) for message in answers if message["role"] == "tool"]


def test_enforce_refuses_a_terminal_call_and_the_model_reads_why(make_home: MakeHome) -> None:
    home = make_home("policy-enforce")
    policy(home, "enforce", DELETES)
    home.model.script("[no]", call("terminal", command=removing(home)), "understood")
    home.run(turn("no"))
    assert (home.work / "keep" / "below").is_dir()
    (said,) = results(home, "no")
    assert "Ask before you delete." in said
    assert "rule deletes" in said
    row = home.row("no")
    assert (row["status"], row["effect"]) == ("ERROR:blocked", "none")
    assert row["later_status"] is None
    assert decisions(home) == [(row["id"], "no", "deletes", "enforce")]


def test_dry_run_lets_it_run_and_writes_it_down(make_home: MakeHome) -> None:
    home = make_home("policy-dry")
    policy(home, "dry_run", DELETES)
    home.model.script("[dry]", call("terminal", command=removing(home)), "done")
    home.run(turn("dry"))
    assert not (home.work / "keep").exists()
    row = home.row("dry")
    assert row["status"] == "CONFIRMED"
    assert decisions(home) == [(row["id"], "dry", "deletes", "dry_run")]


def test_a_budget_holds_for_calls_that_start_together(make_home: MakeHome) -> None:
    home = make_home("policy-budget")
    policy(home, "enforce", {"name": "few", "tools": ["write_file"], "budget": {"calls": 2}})
    three = [("write_file", {"path": str(home.work / f"{n}.txt"), "content": "x"}) for n in range(3)]
    home.model.script("[three]", Calls(three), "done")
    home.run(turn("three"))
    assert len(list(home.work.glob("?.txt"))) == 2
    assert sorted(row["status"] for row in home.rows("three")) == ["CONFIRMED", "CONFIRMED", "ERROR:blocked"]


def test_of_three_delegates_that_start_together_a_budget_of_two_lets_two_run(make_home: MakeHome) -> None:
    home = make_home("policy-delegates")
    policy(home, "enforce", {"name": "pair", "tools": ["delegate_task"], "budget": {"calls": 2}})
    kids = [f"[kid{number}] write" for number in range(3)]
    home.model.script("[boss]", Calls([("delegate_task", {"goal": kid, "tasks": [{"goal": kid}]}) for kid in kids]))
    for number, kid in enumerate(kids):
        path = str(home.work / f"kid{number}.txt")
        home.model.script(kid, call("write_file", path=path, content="k"), "child done")
    home.run(
        turn("boss", toolsets=["file", "terminal", "delegation"]),
        *[{"do": "wait", "file": str(home.work / f"kid{number}.txt"), "seconds": 20} for number in range(2)],
        {"do": "wait", "seconds": 2},
    )
    rows = home.rows("boss", tool="delegate_task")
    assert [row["status"] for row in rows].count("ERROR:blocked") == 1
    assert [row["status"] for row in rows].count("CONFIRMED") == 2
    assert len(list(home.work.glob("kid?.txt"))) == 2
    assert len([row for row in home.rows(tool="write_file") if row["status"] == "CONFIRMED"]) == 2
    assert sum(bool(home.model.requests_of(kid)) for kid in kids) == 2


def test_a_script_written_in_one_call_is_not_run_in_the_next(make_home: MakeHome) -> None:
    home = make_home("policy-split")
    policy(home, "enforce", DELETES)
    script = str(home.work / "tidy.sh")
    home.model.script(
        "[split]",
        call("write_file", path=script, content=removing(home) + "\n"),
        call("terminal", command=f"bash {script}"),
        "understood",
    )
    home.run(turn("split"))
    assert (home.work / "keep").is_dir()
    first, second = home.rows("split")
    assert (first["status"], second["status"]) == ("CONFIRMED", "ERROR:blocked")
    assert f"call {first['id']}" in results(home, "split")[-1]
