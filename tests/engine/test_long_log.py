"""SQLite's log is emptied by what all processes wrote, so that it is as short with many as with one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import count

import pytest

from agent_ledger.engine import keeper
from agent_ledger.engine.recorder import Recorder
from agent_ledger.engine.store import BusyError, Store

from .homes import Home, until


def _calls(recorder: Recorder, first: int, last: int) -> None:
    for number in range(first, last):
        recorder.pre_tool_call(
            "write_file", {"path": f"/{number}"}, session_id="s", turn_id="t", tool_call_id=f"c{number}", task_id="s",
            request_id="r",
        )  # fmt: skip


def test_what_another_process_wrote_counts_too(
    new_home: Callable[[str], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied: list[Store] = []
    checkpoint = Store.checkpoint

    def counted(store: Store) -> None:
        checkpoint(store)
        emptied.append(store)

    monkeypatch.setattr(Store, "checkpoint", counted)
    monkeypatch.setattr(keeper, "CHECKPOINT_WRITES", 40)
    home = new_home("home")
    home.merged()
    mine = home.recorder
    other = Home(home.folder)
    other.merged()
    _calls(mine, 0, 1)
    _calls(other.recorder, 1, 20)
    assert not emptied  # Neither has seen twenty calls since its first.
    _calls(mine, 20, 22)
    assert mine.keeper._writes < 40
    until(lambda: bool(emptied), "the log is emptied")
    other.recorder.keeper.close()


@pytest.mark.parametrize("error", [BusyError("another process is writing"), sqlite3.OperationalError("disk is full")])
def test_a_log_that_could_not_be_emptied_is_tried_again(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    tried: list[Store] = []
    checkpoint = Store.checkpoint

    def refused_once(store: Store) -> None:
        tried.append(store)
        if len(tried) == 1:
            raise error
        checkpoint(store)

    monkeypatch.setattr(Store, "checkpoint", refused_once)
    monkeypatch.setattr(keeper, "CHECKPOINT_WRITES", 40)
    home.merged()
    numbers = count()

    def called_until_tried() -> bool:
        number = next(numbers)
        _calls(home.recorder, number, number + 1)
        return bool(tried)

    until(called_until_tried, "the log is long")
    until(lambda: len(tried) == 2, "the log is emptied at the second try")
    until(lambda: not home.recorder.keeper._log_is_long(), "no third one is needed")
