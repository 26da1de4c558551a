"""`settings.json`: what is usable is used, what is not is named, and nothing in it can break a hook."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.settings import Settings, SettingsFile, parse


def test_all_that_can_be_set() -> None:
    text = '{"grace_seconds": {"terminal": 60, "default": 30.5}, "redact": false, "durability": "full",'
    got = parse(text + ' "repeat_window_seconds": 0}')
    assert got == Settings({"terminal": 60.0, "default": 30.5}, False, "full", 0.0, ())


def test_nothing_set() -> None:
    assert parse("{}") == Settings({}, True, "normal", 1800.0, ())


def test_a_file_of_a_windows_editor() -> None:
    assert parse('\ufeff{"redact": false}\r\n') == Settings({}, False, "normal", 1800.0, ())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"redact": "no"}', ["redact", "'no'"]),
        ('{"durability": "fast"}', ["durability", "'fast'", "normal, full"]),
        ('{"durability": ["full"]}', ["durability"]),
        ('{"repeat_window_seconds": -1}', ["repeat_window_seconds", "-1"]),
        ('{"repeat_window_seconds": true}', ["repeat_window_seconds", "True"]),
        ('{"repeat_window_seconds": 1e999}', ["repeat_window_seconds", "inf"]),
        ('{"repeat_window_seconds": NaN}', ["repeat_window_seconds", "nan"]),
        ('{"repeat_window_seconds": 1' + "0" * 400 + "}", ["repeat_window_seconds"]),
        ('{"grace_seconds": 5}', ["grace_seconds"]),
        ('{"grace": {}}', ["unknown entry 'grace'"]),
        ("[]", ["no JSON object"]),
        ("{", ["no JSON"]),
        ("", ["no JSON"]),
        ("[" * 100_000, ["no JSON"]),
    ],
)
def test_what_cannot_be_used_is_named_and_its_default_stands(text: str, names: list[str]) -> None:
    got = parse(text)
    (problem,) = got.problems
    assert all(name in problem for name in names), problem
    assert len(problem) < 300
    assert parse("{}") == Settings(got.grace_seconds, got.redact, got.durability, got.repeat_window_seconds)


def test_one_bad_entry_does_not_spoil_the_others() -> None:
    got = parse('{"redact": 1, "grace_seconds": {"terminal": "long", "patch": 60}, "durability": "full"}')
    assert (got.redact, dict(got.grace_seconds), got.durability) == (True, {"patch": 60.0}, "full")
    assert [problem.split(":")[1].strip() for problem in got.problems] == ["redact", "grace_seconds"]
    assert "terminal" in got.problems[1]


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_makes_it_raise(text: str) -> None:
    assert isinstance(parse(text), Settings)


def test_a_change_is_noticed_within_a_second_and_a_removal_too(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    file = SettingsFile(path)
    assert file.get(0.0).redact is True
    path.write_text('{"redact": false}')
    assert file.get(0.9).redact is True
    assert file.get(1.0).redact is False
    path.unlink()
    assert file.get(2.0).redact is True


def test_an_unreadable_file_keeps_what_was_valid_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"redact": false}')
    file = SettingsFile(path)
    assert file.get(0.0).redact is False
    path.unlink()
    path.mkdir()
    got = file.get(2.0)
    assert got.redact is False
    assert "cannot be read" in got.problems[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_its_place_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    assert "cannot be read" in SettingsFile(path).get(0.0).problems[0]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"\xff\xfe{")
    assert SettingsFile(path).get(0.0).problems != ()
