"""`--plain`, and that no command draws or colours anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

COLOURFUL = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TTY_COMPATIBLE": "1", "TERM": "xterm-256color"}


def test_the_first_screen_as_text(six_states: Any, program: Any, home: Path) -> None:
    done = program("--plain")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"home {home}"
    assert lines[1] == "ledger 6 calls: 1 pending, 1 overdue, 1 ghost, 1 confirmed, 1 error, 1 revived"
    at = lines.index("3 calls without a confirmation:")
    said = [line.split(", ") for line in lines[at + 1 : at + 4]]
    assert [(words[0], words[1], words[3]) for words in said] == [
        ("Call 3", "ghost", "tool cronjob"),
        ("Call 5", "overdue", "tool terminal"),
        ("Call 6", "pending", "tool delegate_task"),
    ]
    assert "ledger-tui watch" in lines[-1]
    assert done.out.isascii()


@pytest.mark.parametrize("how", ["option", "settings", "dumb"])
def test_ways_to_ask_for_it(program: Any, home: Path, tmp_path: Path, how: str) -> None:
    if how == "settings":
        path = tmp_path / ".config" / "ledger-tui" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text("plain = true\n", encoding="utf-8")
    done = program(*(["--plain"] if how == "option" else []), env={"TERM": "dumb"} if how == "dumb" else {})
    assert done.code == 0
    assert done.out.startswith(f"home {home}\nledger nothing recorded yet")


def test_calls_are_sentences(six_states: Any, program: Any) -> None:
    lines = program("--plain", "calls", "--state", "error,ghost").out.splitlines()
    assert [line.split(", ")[:2] for line in lines] == [["Call 2", "error (timeout)"], ["Call 3", "ghost"]]
    assert lines[1].endswith("session s1: path=notes.txt")
    assert [row["id"] for row in program("--plain", "calls", "--json").json] == [1, 2, 3, 4, 5, 6]


def test_a_demonstration_would_draw(program: Any, sentence: Any) -> None:
    assert "--headless" in sentence(program("--plain", "demo"), 2)


@pytest.mark.parametrize(
    "words", [("--help",), ("status",), ("calls",), ("posture",), ("doctor",), ("calls", "--limit", "0")]
)
def test_commands_have_no_colours_whatever_is_forced(six_states: Any, program: Any, words: tuple[str, ...]) -> None:
    done = program(*words, env=COLOURFUL)
    assert done.out + done.err
    assert "\x1b" not in done.out + done.err
