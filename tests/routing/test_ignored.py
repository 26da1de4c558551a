"""What a person set aside stays aside, and a file that is not understood is neither obeyed nor overwritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ledger_tui.routing.ignored import IgnoredError, IgnoredFile


def test_nothing_there_is_nothing_ignored(tmp_path: Path) -> None:
    file = IgnoredFile(tmp_path / "data")
    assert file.read() == frozenset()
    assert not (tmp_path / "data").exists()


def test_what_was_set_aside_is_remembered_until_it_is_taken_back(tmp_path: Path) -> None:
    data = tmp_path / "home" / "plugin-data" / "agent-ledger"
    IgnoredFile(data).add("20260101_120000_aa", "orphan")
    IgnoredFile(data).add("odd \udce9 id", "no-chat")
    assert IgnoredFile(data).read() == {("20260101_120000_aa", "orphan"), ("odd \udce9 id", "no-chat")}
    IgnoredFile(data).remove("20260101_120000_aa", "orphan")
    assert IgnoredFile(data).read() == {("odd \udce9 id", "no-chat")}
    assert stat.S_IMODE((data / "ignored.json").stat().st_mode) == 0o600
    assert os.listdir(data) == ["ignored.json"]


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"\xff", b'{"ignored": 3}', b'{"ignored": [{"session": 1}]}', b"[" * 9999]
)
def test_a_file_of_another_shape_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ignored.json"
    path.write_bytes(content)
    file = IgnoredFile(tmp_path)
    assert file.read() == frozenset()
    assert "ignored.json" in file.problem
    with pytest.raises(IgnoredError):
        file.add("one", "orphan")
    assert path.read_bytes() == content


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ignored.json")
    file = IgnoredFile(tmp_path)
    assert file.read() == frozenset()
    assert "no plain file" in file.problem
