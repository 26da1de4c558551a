"""`ledger-check --source`: what a shipped copy proves, and what it is not blamed for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent_ledger.engine.prune import prune
from ledger_tui import cli
from ledger_tui.ship.engine import EngineError
from ledger_tui.ship.shipping import Shipper
from tests.chain.ledgers import NOW, Made

from .test_rounds import asked, full, ship

Check = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def check(url: str, capsys: pytest.CaptureFixture[str], left: Path) -> Check:
    """The exit code, and the document of `--json`."""

    def run(*words: str, where: tuple[str, ...] = ("--source", url)) -> tuple[int, dict[str, Any]]:
        code = cli.run([*where, "ledger-check", "--json", *words])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else {"said": said.err}

    return run


def change(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def pruned(path: Path, through: int) -> int:
    return prune(path, through, clock=lambda: NOW + 1000, sleep=lambda _: None)


def test_it_has_the_records_and_the_head_of_the_ledger(
    url: str, made: Made, path: Path, home: Path, check: Check
) -> None:
    full(made)
    done = ship(url, path)
    code, shipped = check()
    assert code == 0
    assert (shipped["state"], shipped["records"], shipped["rows"], shipped["altered"]) == ("whole", 7, 4, 0)
    assert (shipped["home"], shipped["ledger"]) == (f"ada/{done.ledger}", str(path))
    code, there = check("--expect", shipped["head"], where=("--hermes-home", str(home)))
    assert (code, there["head"], there["expected"]) == (0, shipped["head"], True)


def test_a_ledger_made_anew_does_not_have_the_head_of_its_copy(
    url: str, made: Made, path: Path, home: Path, check: Check
) -> None:
    made.calls(1, 3)
    ship(url, path)
    _, shipped = check()
    made.seal_anew(3)
    assert check(where=("--hermes-home", str(home)))[0] == 0
    code, there = check("--expect", shipped["head"], where=("--hermes-home", str(home)))
    assert (code, there["first"]["kind"]) == (1, "edited")


@pytest.mark.parametrize(
    ("statement", "kind", "call"),
    [
        ("UPDATE agent_ledger_call SET result_digest = 'other' WHERE id = 2", "edited", 2),
        ("DELETE FROM agent_ledger_call WHERE id = 2", "deleted", 2),
    ],
)
def test_what_was_done_to_the_copy_is_found(
    url: str, made: Made, path: Path, check: Check, statement: str, kind: str, call: int
) -> None:
    made.calls(1, 4)
    ship(url, path)
    change(url, statement)
    code, shipped = check()
    assert (code, shipped["first"]["kind"], shipped["first"]["ledger_id"]) == (1, kind, call)


def test_pruned_calls_are_checked_where_they_still_stand(url: str, made: Made, path: Path, check: Check) -> None:
    full(made)
    made.calls(5, 6)
    ship(url, path)
    assert pruned(path, 5) == 3
    ship(url, path)
    code, shipped = check()
    assert (code, shipped["state"], shipped["rows"], shipped["records"]) == (0, "whole", 6, 12)
    change(url, "UPDATE agent_ledger_call SET result_digest = 'other' WHERE id = 1")
    code, shipped = check()
    assert (code, shipped["first"]["ledger_id"]) == (1, 1)


def test_pruned_calls_are_not_missed(url: str, made: Made, path: Path, check: Check) -> None:
    full(made)
    made.calls(5, 6)
    ship(url, path)
    pruned(path, 5)
    ship(url, path, mirror=True)
    code, shipped = check()
    assert (code, shipped["state"], shipped["rows"], shipped["pruned"]) == (0, "pruned", 3, 3)


@pytest.mark.parametrize("mirror", [False, True])
def test_calls_deleted_by_hand_and_later_ones_pruned(
    url: str, made: Made, path: Path, check: Check, mirror: bool
) -> None:
    made.calls(1, 8)
    ship(url, path)
    made.do("DELETE FROM ledger WHERE id <= 3")
    assert pruned(path, 6) == 3
    ship(url, path, mirror=mirror)
    code, shipped = check()
    assert (code, shipped["rows"], shipped["pruned"]) == (0, 5, 3) if mirror else (0, 8, 0)


def test_a_call_settled_and_pruned_between_two_rounds(url: str, made: Made, path: Path, check: Check) -> None:
    made.calls(1, 1)
    made.issue("c2")
    ship(url, path)
    made.settle(2, "c2")
    made.calls(3, 4)
    assert pruned(path, 3) == 3
    made.now += 2000
    made.calls(5, 5)
    ship(url, path)
    assert check()[0] == 0


def test_hidden_secrets_are_no_edit(url: str, made: Made, path: Path, check: Check, capsys: Any) -> None:
    made.issue("c1", args_json='{"command": "deploy", "api_key": "sk-live-abcdefghijklmnop123456"}')
    made.settle(1, "c1")
    made.calls(2, 3)
    ship(url, path)
    assert asked(url, "SELECT id FROM agent_ledger_call WHERE secrets_hidden > 0") == [(1,)]
    code, shipped = check()
    assert (code, shipped["state"], shipped["records"], shipped["altered"]) == (0, "whole", 6, 1)
    assert cli.run(["--source", url, "ledger-check"]) == 0
    assert (
        "1 call with secrets that were hidden on the way: that it stands in place is proven" in capsys.readouterr().out
    )
    change(url, "UPDATE agent_ledger_call SET issue_seal = settle_seal WHERE id = 1")
    assert check()[0] == 1


def test_a_round_in_part_is_no_edit(
    url: str, made: Made, path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls may be there without what was recorded of them later."""
    made.issue("c1")
    made.calls(2, 3)
    made.report(1)
    pages = Shipper._page

    def breaks_off(*given: Any) -> Any:
        pages(*given)
        raise EngineError("gone", passes=True)

    with monkeypatch.context() as patched:
        patched.setattr(Shipper, "_page", breaks_off)
        with pytest.raises(EngineError):
            ship(url, path, size=2)
    code, shipped = check()
    assert code == 3
    assert "holds a round of ship in part: it is under way, or was broken off" in shipped["said"]
    ship(url, path, size=2)
    assert check()[0] == 0


def test_a_head_that_is_not_shipped_yet(url: str, made: Made, path: Path, check: Check) -> None:
    made.calls(1, 2)
    ship(url, path)
    made.calls(3, 3)
    code, shipped = check("--expect", str(made.head()))
    assert (code, shipped["first"]["kind"]) == (1, "cut off")
    assert "or were not shipped yet" in shipped["first"]["text"]


def test_nothing_recorded(url: str, made: Made, path: Path, capsys: Any, left: Path) -> None:
    done = ship(url, path)
    assert cli.run(["--source", url, "ledger-check"]) == 0
    assert capsys.readouterr().out == f"Nothing recorded yet: ada/{done.ledger} holds no call.\n"


@pytest.mark.parametrize(
    ("column", "kind"),
    [("exit_code", "TEXT"), ("mono", "TEXT"), ("grace_s", "INTEGER"), ("duration_ms", "REAL"), ("changed", "TEXT")],
)
def test_a_ledger_that_other_software_began(
    url: str, path: Path, home: Path, check: Check, column: str, kind: str
) -> None:
    """Its cells come back as they stand there, and as they were sealed."""
    made = Made(
        path, columns=f"id INTEGER PRIMARY KEY AUTOINCREMENT, ts, tool_name, status, args_json, {column} {kind}"
    )
    path.chmod(0o600)
    made.do("INSERT INTO ledger(tool_name, status) VALUES('terminal', 'CONFIRMED')")
    made.issue("c2")
    made.settle(2, "c2")
    made.db.close()
    ship(url, path)
    there, shipped = check(where=("--hermes-home", str(home))), check()
    assert (shipped[0], shipped[1]["records"], shipped[1]["uncovered"]) == (0, 2, 1)
    assert there[1]["head"] == shipped[1]["head"]
