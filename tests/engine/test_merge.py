"""The order in which a spool is merged, whatever is added to it meanwhile."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from agent_ledger.engine.events import Issue, to_record, writer_record
from agent_ledger.engine.merge import Merger
from agent_ledger.engine.open_calls import OpenCalls
from agent_ledger.engine.spool import Spool

from .homes import Home, LockHolder

AT = 1_790_000_000.0


def record(call: str) -> dict[str, Any]:
    issue = Issue(
        AT, "s1", "s1:t:1", call, "t", "r", "write_file", "{}", 0, 0, None, None, 120.0, 1.0, None, ("s1",), AT, ""
    )
    return to_record(issue, "full")


def test_what_is_only_in_memory_comes_after_what_went_to_files_meanwhile(home: Home) -> None:
    """A hook may fill one file, open the next and go on in memory between two looks of the background thread."""
    home.merged()
    keeper = home.recorder.keeper
    store = keeper._store
    assert store is not None
    spool = Spool(home.paths, writer_record(keeper.who, "2026-01-01T00:00:00.000Z"))
    spool.append(record("c0"))

    class Overtaken(Merger):
        def _some(self, *given: Any) -> bool:
            more = super()._some(*given)
            if not more and len(spool.own_files()) == 1:
                fresh = spool._open(home.paths.spool_elsewhere)
                assert fresh is not None
                spool._files.append(fresh)
                spool.append(record("c1"))
                spool._memory.append(record("c2"))
            return more

    owner = (keeper.writer_id(), keeper.who.boot_id)
    merger = Overtaken(store, keeper._lock, OpenCalls(), owner=owner, paths=home.paths, clock=lambda: AT)
    merger.merge_own(spool, threading.Event())
    assert [row["tool_call_id"] for row in home.rows()] == ["c0", "c1", "c2"]
    assert not spool.active


def test_a_torn_line_that_cannot_be_taken_back_is_no_reason_to_spool_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.merged()
    holder = LockHolder(home.paths)
    home.pre(call="c0")
    (own,) = home.recorder.keeper._spool.own_files()
    real = os.write
    torn: list[int] = []

    def write(descriptor: int, data: bytes) -> int:
        if b'"c1"' in data and not torn:
            torn.append(descriptor)
            return real(descriptor, data[:40])
        return real(descriptor, data)

    def ftruncate(descriptor: int, length: int) -> None:
        raise OSError(5, "the disk takes nothing back")

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "ftruncate", ftruncate)
    home.pre(call="c1")
    assert own.read_bytes().endswith(b"\n") is False
    home.pre(call="c2")
    holder.release()
    assert [row["tool_call_id"] for row in home.rows()] == ["c0", "c1", "c2"]
    assert not own.exists()
