"""The ledger, its log or its spool vanishes, is replaced or is damaged while a writer runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ledger.engine import spool, store
from agent_ledger.engine.merge import Merger

from .homes import Home, LockHolder, integrity, read_rows, said, three_waiting, until, worker


def remove_ledger(home: Home) -> None:
    for file in home.paths.data.glob("ledger.db*"):
        file.unlink()


def ids_of(home: Home) -> list[str]:
    return [str(row["tool_call_id"]) for row in home.rows()]


def test_calls_after_the_ledger_was_removed_stand_in_a_new_one(home: Home) -> None:
    home.pre(call="old")
    home.merged()
    remove_ledger(home)
    for n in range(20):
        home.pre(args={"path": f"/{n}"}, call=f"c{n}")
        home.post(args={"path": f"/{n}"}, call=f"c{n}")
    until(home.paths.ledger.exists, "a new ledger is made")
    assert ids_of(home) == [f"c{n}" for n in range(20)]
    assert set(home.statuses()) == {"CONFIRMED"}


@pytest.mark.parametrize(
    "moment", ["before a batch is merged", "after a batch was merged", "before the spool is let go"]
)
@pytest.mark.parametrize("whose", ["own", "of a process that is gone", "in memory"])
def test_what_waited_when_the_ledger_was_removed_stands_in_the_new_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, moment: str, whose: str
) -> None:
    """Merged records count as kept only where the file they went into is still the ledger."""
    holder = three_waiting(home, in_memory=whose == "in memory")
    if whose == "of a process that is gone":
        keeper = home.recorder.keeper
        home.restart()
        keeper._spool.let_go()
    removed: list[bool] = []

    def remove_once() -> None:
        if not removed:
            removed.append(True)
            remove_ledger(home)

    real_record, real_check = Merger._record, Merger._still_in_place

    def record(merger: Merger, *given: Any) -> Any:
        if moment == "before a batch is merged":
            remove_once()
        owner = real_record(merger, *given)
        if moment == "after a batch was merged":
            remove_once()
        return owner

    def still_in_place(merger: Merger, **given: Any) -> None:
        remove_once()
        real_check(merger, **given)

    monkeypatch.setattr(Merger, "_record", record)
    monkeypatch.setattr(Merger, "_still_in_place", still_in_place)
    holder.release()
    home.start()
    until(lambda: bool(removed) and home.paths.ledger.exists(), "a new ledger is made")
    until(lambda: not spool.files(home.paths), "what other processes left is merged too")
    assert ids_of(home) == ["c0", "c1", "c2"]


def test_calls_after_another_ledger_was_moved_into_place_stand_in_that_one(home: Home, tmp_path: Path) -> None:
    home.pre(call="kept")
    home.post(call="kept")
    home.merged()
    backup = tmp_path / "backup.db"
    copy = sqlite3.connect(backup)
    source = sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True)
    source.backup(copy)
    source.close()
    copy.close()
    home.pre(call="lost with the old file")
    os.replace(backup, home.paths.ledger)
    home.pre(call="new")
    home.post(call="new")
    assert ids_of(home) == ["kept", "new"]
    assert home.statuses() == ["CONFIRMED", "CONFIRMED"]
    assert integrity(home.paths.ledger) == "ok"


def test_the_whole_data_folder_may_be_removed(home: Home) -> None:
    home.pre(call="old")
    home.merged()
    shutil.rmtree(home.paths.data)
    home.pre(call="c1")
    home.post(call="c1")
    until(home.paths.ledger.exists, "a new ledger is made")
    assert ids_of(home) == ["c1"]
    assert home.paths.data.stat().st_mode & 0o777 == 0o700


def test_a_spool_file_removed_under_its_writer_loses_nothing(home: Home) -> None:
    home.pre(call="before")
    home.merged()
    holder = LockHolder(home.paths)
    home.pre(call="c1")
    (path,) = spool.files(home.paths)
    path.unlink()
    home.pre(call="c2")
    holder.release()
    assert ids_of(home) == ["before", "c1", "c2"]


def test_the_log_file_removed_under_its_writer_loses_nothing(home: Home) -> None:
    home.pre(call="before")
    home.merged()
    for file in home.paths.data.glob("ledger.db-*"):
        file.unlink()
    for n in range(10):
        home.pre(call=f"c{n}", args={"path": f"/{n}"})
        home.post(call=f"c{n}", args={"path": f"/{n}"})
    home.merged()
    assert [row["tool_call_id"] for row in read_rows(home.paths)] == ["before", *(f"c{n}" for n in range(10))]
    assert integrity(home.paths.ledger) == "ok"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda data: b"this is no database" * 500,
    "cut in half": lambda data: data[: len(data) // 2],
    "flipped first page": lambda data: bytes(byte ^ 0xFF for byte in data[:2048]) + data[2048:],
    "flipped later pages": lambda data: data[:2048] + bytes(byte ^ 0xFF for byte in data[2048:]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_calls_beside_a_damaged_ledger_wait_in_the_spool_until_it_is_replaced(home: Home, kind: str) -> None:
    for n in range(30):
        home.pre(call=f"old{n}", args={"path": f"/{n}"})
    home.restart()
    data = home.paths.ledger.read_bytes()
    home.recorder.keeper.close()
    remove_ledger(home)
    home.paths.ledger.write_bytes(DAMAGE[kind](data))
    home.restart()
    home.start()
    for n in range(5):
        home.pre(call=f"c{n}", args={"path": f"/new/{n}"})
        home.post(call=f"c{n}", args={"path": f"/new/{n}"})
    assert home.turn(at_once=True) == ""
    remove_ledger(home)
    home.start()
    until(home.paths.ledger.exists, "a new ledger is made")
    assert ids_of(home) == [f"c{n}" for n in range(5)]


def test_an_empty_file_becomes_a_ledger(home: Home) -> None:
    home.paths.data.mkdir(parents=True, mode=0o700)
    home.paths.ledger.touch()
    home.pre()
    home.post()
    assert home.statuses() == ["CONFIRMED"]


@pytest.fixture
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a mount where a write-ahead log cannot work."""
    monkeypatch.setattr(store, "network_mount", lambda path: "nfs4 on /mnt/home")


@pytest.mark.usefixtures("no_log")
def test_on_a_network_mount_the_rollback_journal_is_used_and_said_once(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.pre()
    home.post()
    assert home.statuses() == ["CONFIRMED"]
    assert not home.paths.ledger.with_name("ledger.db-wal").exists()
    assert len([r for r in caplog.records if "nfs4 on /mnt/home" in r.getMessage()]) == 1
    (mode,) = sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True).execute(
        "SELECT journal_mode FROM writer"
    ).fetchone()  # fmt: skip
    assert mode == "delete"


@pytest.mark.usefixtures("no_log")
def test_without_a_log_a_reader_that_stays_costs_nothing_but_a_while_in_the_spool(home: Home) -> None:
    home.pre(call="lost")
    home.merged()
    home.clock.advance(200)
    reader = sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM ledger").fetchone()
    assert home.turn(at_once=True) == ""
    home.pre(call="c2")
    home.post(call="c2")
    reader.execute("COMMIT")
    reader.close()
    assert home.statuses() == ["PENDING", "CONFIRMED"]
    assert "write_file" in home.turn()
    assert home.statuses() == ["GHOST_REPORTED", "CONFIRMED"]
    other = sqlite3.connect(home.paths.ledger, isolation_level=None, timeout=0)
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()


def test_a_merge_that_was_taken_back_leaves_no_memory_of_rows_that_are_not_there(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.pre(call="before", args={"path": "/before"})
    home.merged()
    real = store.Store.remember_merged
    refused: list[str] = []

    def refuse_once(self: store.Store, name: str, size: int, writer_id: int, ts: str) -> None:
        if not refused:
            refused.append(name)
            raise sqlite3.OperationalError("database or disk is full")
        real(self, name, size, writer_id, ts)

    monkeypatch.setattr(store.Store, "remember_merged", refuse_once)
    holder = LockHolder(home.paths)
    home.pre(call="c1", args={"path": "/once"})
    home.pre(call="c2", args={"path": "/twice"})
    home.pre(call="c3", args={"path": "/twice"})
    home.post(call="c3", args={"path": "/twice"})
    holder.release()
    rows = home.rows()
    assert refused != []
    assert [(row["tool_call_id"], row["status"], row["repeat_of"]) for row in rows] == [
        ("before", "PENDING", None), ("c1", "PENDING", None), ("c2", "PENDING", None), ("c3", "CONFIRMED", 3)
    ]  # fmt: skip


def test_several_writers_follow_a_ledger_that_is_moved_into_place_under_them(home: Home, tmp_path: Path) -> None:
    home.pre(call="kept")
    home.post(call="kept")
    home.merged()
    backup = tmp_path / "backup.db"
    copy, source = sqlite3.connect(backup), sqlite3.connect(f"{home.paths.ledger.as_uri()}?mode=ro", uri=True)
    source.backup(copy)
    source.close()
    copy.close()
    others = [worker(home.folder, "script") for _ in range(3)]
    for number, other in enumerate(others):
        assert other.stdin is not None
        other.stdin.write(
            f"p = 'p{number}'\nstart(); pre(p + '-old'); merged()\nsay('ready')\n"
            f"while not os.path.exists({str(tmp_path / 'moved')!r}): time.sleep(0.001)\n"
            "for n in range(60): pre(f'{p}-{n}'); post(f'{p}-{n}')\nsay(merged())\n"
        )
        other.stdin.close()
    assert [said(other) for other in others] == ["ready"] * 3
    os.replace(backup, home.paths.ledger)
    (tmp_path / "moved").touch()
    assert [said(other) for other in others] == ["True"] * 3
    for other in others:
        other.wait()
    assert integrity(home.paths.ledger) == "ok"
    found = [row["tool_call_id"] for row in home.rows()]
    assert found[0] == "kept"
    assert sorted(found[1:]) == sorted(f"p{p}-{n}" for p in range(3) for n in range(60))
    assert set(home.statuses()) == {"CONFIRMED"}


def test_a_ledger_whose_schema_is_no_text_any_more_is_told_as_trouble_and_waited_for(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite quotes it in its error, which Python then cannot decode."""
    home.pre(call="old")
    home.merged()
    home.recorder.keeper.close()
    whole = home.paths.ledger.read_bytes()
    home.paths.ledger.write_bytes(whole.replace(b"CREATE TABLE writer", b"CREATE TABL\x80 writer"))
    home.restart()
    home.pre(call="new")
    until(lambda: "UnicodeDecodeError" in home.recorder.keeper.trouble, "the damage is met")
    assert [record.exc_info for record in caplog.records] == [None] * len(caplog.records)
    assert any("cannot be written" in record.getMessage() for record in caplog.records)
    home.paths.ledger.write_bytes(whole)
    home.merged()
    assert ids_of(home) == ["old", "new"]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_record_nested_as_deep_as_python_reads_blocks_nothing(home: Home, opening: str, closing: str) -> None:
    """Some frames further on it could no longer be written down, so it would never be set aside."""
    home.merged()
    home.paths.spool.mkdir(mode=0o700, exist_ok=True)
    deepest = sys.getrecursionlimit()
    lines = [
        '{"kind":"issue","event":' + opening * depth + "1" + closing * depth + "}"
        for depth in (90, *range(deepest - 60, deepest))
    ]
    path = home.paths.spool / "1-00000000dead-000001.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    path.chmod(0o600)
    home.pre(call="c1")
    home.merged()
    home.recorder.keeper.square(0.0)
    until(lambda: not path.exists(), "the file is merged")
    aside = (home.paths.spool / "unreadable.txt").read_text(encoding="ascii").splitlines()
    assert len(aside) == len(lines)
    assert [json.loads(line)["kind"] for line in aside] == ["issue"] + ["unreadable"] * (len(lines) - 1)
    assert ids_of(home) == ["c1"]
