"""The one-word mode files of both policies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ledger.engine.policy.mode import Mode, ModeFile, mode_of


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"off", "off"),
        (b"dry_run\n", "dry_run"),
        (b"  enforce \r\n", "enforce"),
        (b"\xef\xbb\xbfenforce", "enforce"),
        (b"", "invalid"),
        (b"Enforce", "invalid"),
        (b"enforce please", "invalid"),
        (b"\xff\xfe", "invalid"),
        (b"enforce" + b" " * 300 + b"off", "enforce"),
    ],
)
def test_a_mode_is_one_word(tmp_path: Path, content: bytes, value: str) -> None:
    file = tmp_path / "mode"
    file.write_bytes(content)
    assert (mode_of(file).value, mode_of(file).valid) == (value, value != "invalid")


def test_no_file_is_off_and_what_is_no_file_is_invalid(tmp_path: Path) -> None:
    assert mode_of(tmp_path / "mode") == Mode("off", True, "")
    before = len(os.listdir("/dev/fd"))
    assert mode_of(tmp_path).value == "invalid"
    assert len(os.listdir("/dev/fd")) == before
    os.mkfifo(tmp_path / "pipe")
    assert mode_of(tmp_path / "pipe").value == "invalid"


def test_another_word_leaves_the_last_valid_one_in_force(tmp_path: Path) -> None:
    file = tmp_path / "mode"
    mode = ModeFile(file)
    seen = []
    for word in ("enforcing", "enforce", "of", "dry_run", ""):
        file.write_text(word, encoding="utf-8")
        seen.append((mode.value(), mode.last.valid))
    file.unlink()
    seen.append((mode.value(), mode.last.valid))
    assert seen == [
        ("off", False), ("enforce", True), ("enforce", False), ("dry_run", True), ("dry_run", False), ("off", True),
    ]  # fmt: skip
