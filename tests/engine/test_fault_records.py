"""Spooled records that no ledger takes, and spool files that cannot be merged, keep no others out."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

import pytest

from agent_ledger.engine import spool
from agent_ledger.engine.merge import Merger

from .homes import Home, LockHolder, until


def ids_of(home: Home) -> list[str]:
    return [str(row["tool_call_id"]) for row in home.rows()]


def spooled(home: Home, *calls: str) -> tuple[LockHolder, bytes, list[bytes]]:
    """Announce and settle calls while nobody can write: (who holds the ledger, the line of their writer, the others)"""
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    for call in calls:
        home.pre(call=call)
        home.post(call=call)
    (path,) = spool.files(home.paths)
    writer, *lines = path.read_bytes().splitlines(keepends=True)
    return holder, writer, lines


def left_behind(home: Home, number: int, *lines: bytes) -> None:
    """A spool file of a process that is gone; such files are merged by their numbers."""
    home.paths.spool.joinpath(f"{number}-aaaaaaaaaaaa.jsonl").write_bytes(b"".join(lines))


def all_merged(home: Home, holder: LockHolder) -> None:
    holder.release()
    until(lambda: not spool.files(home.paths), "every spool file is merged")


STRANGE = (
    b'{"kind":"writer"}\n',
    b"not json\n",
    b'{"kind":"issue","at":"x","why":"","event":{"at":1}}\n',
    b'{"kind":"settle","at":"x","why":"","event":null}\n',
    b"[1,2]\n",
)


def test_a_spool_line_that_nobody_can_read_blocks_nothing(home: Home) -> None:
    holder, writer, (issue, _) = spooled(home, "c1")
    left_behind(home, 1, *STRANGE, issue.replace(b'"c1"', b'"behind"'), b'{"kind":"issue"')
    left_behind(home, 2, writer, issue.replace(b'"c1"', b'"other"'))
    all_merged(home, holder)
    assert ids_of(home) == ["before", "c1", "behind", "other"]
    aside = home.paths.spool.joinpath("unreadable.txt").read_bytes().splitlines()
    assert len(aside) == len(STRANGE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("grace_s", b"9" * 40),
        ("grace_s", b"[1]"),
        ("at", b"1e17"),
        ("at", b"1e400"),
        ("at", b"NaN"),
        ("conversation", b"[]"),
        ("conversation", b"[[]]"),
        ("conversation", b"7"),
    ],
)
def test_an_event_that_no_ledger_can_take_blocks_nothing(home: Home, name: str, value: bytes) -> None:
    holder, writer, (issue, _) = spooled(home, "c1")
    poison = re.sub(rb'("%s":)(?:[0-9.]+|\[[^]]*\])' % name.encode(), rb"\g<1>" + value, issue).replace(
        b'"c1"', b'"poison"'
    )
    assert poison != issue.replace(b'"c1"', b'"poison"')
    left_behind(home, 1, writer, poison, issue.replace(b'"c1"', b'"behind"'))
    left_behind(home, 2, writer, issue.replace(b'"c1"', b'"other"'))
    all_merged(home, holder)
    assert ids_of(home) == ["before", "c1", "behind", "other"]


@pytest.mark.parametrize("error", [OSError(5, "the disk cannot read it"), sqlite3.OperationalError("disk I/O error")])
def test_a_file_that_cannot_be_merged_keeps_no_other_out(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    holder, writer, (issue, _) = spooled(home, "c1")
    left_behind(home, 1, writer, issue.replace(b'"c1"', b'"first"'))
    left_behind(home, 2, writer, issue.replace(b'"c1"', b'"second"'))
    real, well = Merger.merge_file, threading.Event()

    def merge_file(merger: Merger, path: Path, descriptor: int) -> None:
        if path.name.startswith("1-") and not well.is_set():
            raise error
        real(merger, path, descriptor)

    monkeypatch.setattr(Merger, "merge_file", merge_file)
    holder.release()
    until(lambda: [path.name for path in spool.files(home.paths)] == ["1-aaaaaaaaaaaa.jsonl"], "the second is merged")
    keeper = home.recorder.keeper
    until(lambda: str(error) in keeper.trouble, "the trouble with the first is told")
    well.set()
    until(lambda: not spool.files(home.paths), "the first is tried again")
    assert ids_of(home) == ["before", "c1", "second", "first"]
