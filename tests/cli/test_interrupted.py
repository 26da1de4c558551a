"""Ctrl-C in a long command: exit code 130, nothing half written, and what became of it is said."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import prune as engine
from ledger_tui.commands.target import target
from ledger_tui.routing.repair.apply import Step, apply
from ledger_tui.sources.interrupts import ended_by_ctrl_c
from tests.routing.stores import digest

from .conftest import Program

ENDLESS = "WITH RECURSIVE n(i) AS (VALUES(press()) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
"""Presses Ctrl-C at its first row, and never ends by itself."""


def press() -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return 0


# -- statements of SQLite ---------------------------------------------------------------------------------------------


def test_a_statement_without_an_end_is_ended() -> None:
    usual = signal.getsignal(signal.SIGINT)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("press", 0, press)
        with pytest.raises(KeyboardInterrupt), ended_by_ctrl_c(connection):
            connection.execute(ENDLESS).fetchall()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    assert signal.getsignal(signal.SIGINT) is usual


def test_an_error_of_its_own_stays_what_it_is() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        with pytest.raises(sqlite3.OperationalError, match="no such table"), ended_by_ctrl_c(connection):
            connection.execute("SELECT * FROM absent")
        with ended_by_ctrl_c(connection):
            assert connection.execute("SELECT 2").fetchall() == [(2,)]


def test_other_threads_and_other_handlers_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[object] = []

    def ask() -> None:
        before = signal.getsignal(signal.SIGINT)
        with closing(sqlite3.connect(":memory:")) as connection, ended_by_ctrl_c(connection):
            answers.extend((connection.execute("SELECT 3").fetchall(), signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ask()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert answers == [[(3,)], True, [(3,)], True]


# -- commands ---------------------------------------------------------------------------------------------------------


def test_an_export_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    def export() -> None:
        with target(tmp_path / "calls.csv", force=False, keep=()) as stream:
            stream.write("id,ts\n" * 10_000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export()
    assert [*tmp_path.iterdir()] == []


def test_prune_stops_between_two_bites_and_says_so(
    ledger: Any, inside: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(250):
        ledger.add()

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    whole: Callable[..., int] = engine.prune
    monkeypatch.setattr(engine, "prune", lambda *words, **named: whole(*words, **named, sleep=sleep))
    done = inside("prune", "--keep", "10", "--apply")
    assert (done.code, done.out) == (130, "")
    assert "Stopped part of the way: 100 calls or a few more are gone, the others stay" in done.err
    assert ledger.connection.execute("SELECT count(*), min(id) FROM ledger").fetchall() == [(150, 101)]


def test_verify_keeps_nothing_of_half_a_search(ledger: Any, inside: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ledger.add(status="GHOST_REPORTED")

    def look(calls: Any, facts: Any) -> None:
        next(iter(calls))
        raise KeyboardInterrupt

    monkeypatch.setattr("ledger_tui.commands.verify.verify_many", look)
    done = inside("verify")
    assert (done.code, done.out) == (130, "")
    assert ledger.connection.execute("SELECT count(*) FROM verdict").fetchall() == [(0,)]


def stopping(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is pressed when a repair comes to a stage."""
    whole: Callable[..., Any] = apply

    def tell(step: Step) -> None:
        if step.stage == stage and (stage != "backup" or step.done):
            raise KeyboardInterrupt

    monkeypatch.setattr(
        "ledger_tui.commands.repair.apply", lambda *words, **named: whole(*words, **{**named, "tell": tell})
    )


@pytest.mark.parametrize("stage", ["scan", "backup"])
def test_a_repair_that_is_stopped_early_changes_nothing(
    state: Path, inside: Program, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    before = digest(state)
    stopping(stage, monkeypatch)
    done = inside("repair-routing", "--apply", "--yes")
    assert done.code == 130
    assert "Stopped before anything was changed." in done.err
    assert digest(state) == before
    assert [path for path in state.parent.rglob("*") if path.suffix in (".db", ".part", ".json")] == [state]


def test_a_repair_that_is_stopped_at_its_proof_took_effect_and_says_so(
    state: Path, inside: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping("proof", monkeypatch)
    done = inside("repair-routing", "--apply", "--yes")
    assert done.code == 130
    assert "Stopped. Repair " in done.err
    assert "it took effect" in done.err
    assert inside("repair-undo", "--yes").code == 0
