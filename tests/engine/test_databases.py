"""Databases of somebody else: named for SQLite, and left alone where a look could lock their owner out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ledger.engine.databases import could_lock_out, hindrance, read_only_uri, real_path
from agent_ledger.engine.lineage import conversation
from agent_ledger.engine.policy.family import family
from agent_ledger.engine.posture.reading import LedgerError, scored_file

OWNER, READER = 4001, 4002


def test_a_link_is_followed_and_odd_characters_escaped(tmp_path: Path) -> None:
    target = tmp_path / "a?b#c%d.db"
    target.touch()
    (tmp_path / "link.db").symlink_to(target)
    folder = real_path(tmp_path).as_uri()
    assert read_only_uri(tmp_path / "link.db") == f"{folder}/a%3Fb%23c%25d.db?mode=ro"


def test_links_that_lead_round_raise_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_only_uri(tmp_path / "a").startswith("file:///")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system without users")
@pytest.mark.parametrize(
    ("reader", "sidecars", "locked_out"),
    [
        (OWNER, (), False),
        (0, (), False),
        (READER, (), True),
        (READER, ("-wal",), True),
        (READER, ("-wal", "-shm"), False),
    ],
)
def test_another_users_store_without_both_sidecars_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: int, sidecars: tuple[str, ...], locked_out: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: reader)
    for end in sidecars:
        (tmp_path / f"state.db{end}").touch()
    assert could_lock_out(tmp_path / "state.db", OWNER) is locked_out


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_pipe_beside_a_database_is_never_waited_for(tmp_path: Path, end: str) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"x")
    assert hindrance(path) == ""
    os.mkfifo(f"{path}{end}")
    assert hindrance(path) == f"has something beside it that is no file ({real_path(path)}{end})"
    assert conversation(path, "s1") == (("s1",), False)
    assert family(path, "s1").members == ("s1",)
    with pytest.raises(LedgerError, match="no file"):
        scored_file(path)


def test_the_log_of_an_empty_file_is_not_read_away(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    log = tmp_path / "ledger.db-wal"
    log.write_bytes(b"what was written last")
    with pytest.raises(LedgerError, match="is empty"):
        scored_file(path)
    assert log.exists()
