"""SQLite's log is emptied by what all processes wrote, so that it is as short with many as with one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_ledger.engine import keeper
from agent_ledger.engine.recorder import Recorder
from agent_ledger.engine.store import Store

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
