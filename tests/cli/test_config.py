"""`config`, and what a file of settings changes for commands."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ledger_tui.config import REFRESH, THRESHOLDS, Config, load, parsed

from .fleets import home_with, two_profiles


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the file belongs for a program whose home folder is `tmp_path`."""
    path = tmp_path / ".config" / "ledger-tui" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_everything_that_can_be_said() -> None:
    text = (
        'theme = "nord"\nplain = true\n[refresh]\nledger_s = 2\n[thresholds]\ncalls_listed = 5\n'
        '[keys]\ncalls.filter = "f, slash"\n'
    )
    assert parsed(text) == (
        Config(
            "nord",
            True,
            {"ledger_s": 2, "sessions_s": 0.5},
            {**THRESHOLDS, "calls_listed": 5},
            {"calls.filter": "f,slash"},
        ),
        [],
    )
    assert parsed("\ufeffplain = true\r\n") == (Config("", True, REFRESH, THRESHOLDS, {}), [])  # A Windows editor's.
    assert parsed("") == (Config("", False, REFRESH, THRESHOLDS, {}), [])
    assert parsed('keys = {"calls.filter" = "f"}')[0].keys == {"calls.filter": "f"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("theme = 3", "theme must be a text"),
        ("plain = 1", "plain must be true or false"),
        ("colour = 3", "there is no setting 'colour'"),
        ("refresh = 3", "refresh must be a table"),
        ("[refresh]\nledger_s = 0.01", "refresh.ledger_s must be a number from 0.04 to 3,600"),
        ("[refresh]\nledger_s = nan", "refresh.ledger_s must be a number from 0.04 to 3,600"),
        ("[refresh]\nledger_s = true", "refresh.ledger_s must be a number from 0.04 to 3,600"),
        ("[refresh]\nx = 1", "there is no setting 'refresh.x'; there are ledger_s, sessions_s"),
        ("[thresholds]\ncalls_listed = 0", "thresholds.calls_listed must be a whole number from 1 to 1,000,000,000"),
        ("[thresholds]\ncalls_listed = 1.5", "thresholds.calls_listed must be a whole number from 1 to 1,000,000,000"),
        ("keys = 1", "keys must be a table"),
        ("[keys]\na.b = 1", "keys.a.b must be a text such as 'f' or 'slash,ctrl+f'"),
    ],
)
def test_what_is_wrong_is_named(text: str, problem: str) -> None:
    assert parsed(text)[1] == [problem]


def test_no_toml_at_all(file: Path, program: Any, home: Path) -> None:
    file.write_text("theme = \x1b[2J", encoding="utf-8")
    done = program("status")
    assert done.code == 0
    assert done.out.startswith("home ")
    assert done.err.count("\n") == 1
    assert f"{file} is not used: it is no TOML" in done.err
    assert "\x1b" not in done.err


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "huge"])
def test_odd_files_are_one_sentence(file: Path, kind: str) -> None:
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b"\xff\xfe" if kind == "binary" else b"#" * 200_000)
    found = load(file)
    assert (found.config, found.exists, len(found.problems)) == (Config(), True, 1)


def test_the_first_problem_stands_for_all(file: Path) -> None:
    file.write_text('theme = "nord"\na = 1\nb = 2\n', encoding="utf-8")
    found = load(file)
    assert found.config == Config()
    assert found.sentence() == (
        f"{file} is not used: there is no setting 'a' (and 1 more; see: ledger-tui config check)."
    )


def test_thresholds_count(file: Path, program: Any, six_states: Any) -> None:
    file.write_text("[thresholds]\ncalls_listed = 2\ncalls_scored = 5\n", encoding="utf-8")
    listed = program("calls")
    assert len(listed.out.splitlines()) == 1 + 2
    assert "Only the newest 2 are shown" in listed.err
    assert len(program("calls", "--json").json) == 6
    assert program("status", "--json").json["posture"] == {"score": None, "findings": None}
    file.write_text("[thresholds]\ncalls_scored = 6\n", encoding="utf-8")
    assert program("status", "--json").json["posture"]["findings"] is not None


def test_path(file: Path, program: Any, tmp_path: Path) -> None:
    assert program("config", "path").out == f"{file}\n"
    assert program("config", "path", env={"XDG_CONFIG_HOME": str(tmp_path / "x")}).out == (
        f"{tmp_path}/x/ledger-tui/config.toml\n"
    )


def test_show_is_a_file_that_says_the_same(file: Path, program: Any) -> None:
    file.write_text('theme = "nord"\nkeys.calls.filter = "f"\nkeys.app.quit = "q,\\""\n', encoding="utf-8")
    shown = program("config", "show").out
    assert parsed(shown) == parsed(file.read_text(encoding="utf-8"))
    everything = tomllib.loads("\n".join(line.removeprefix("# ") for line in shown.splitlines()[1:]))
    assert everything["keys"]["verify"]["one"] == "v"
    assert program("config", "show", "--json").json["actions"]["verify.one"] == "v"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('theme = "nird"', "there is no theme 'nird'; there are "),
        ('keys.calls.filtre = "f"', "there is no action 'calls.filtre' for a key"),
        ('keys.calls.filter = "ctrl f"', "keys.calls.filter names no key by 'ctrl f'"),
        ('keys.calls.filter = "x"', "keys.calls.filter takes 'x', which is the key of calls.clear."),
        ('keys.calls.filter = "q"', "keys.calls.filter takes 'q', which is the key of app.quit."),
        ('keys.calls.filter = "?"', "keys.calls.filter takes 'question_mark', which is the key of app.help."),
    ],
)
def test_check_knows_the_app(file: Path, program: Any, text: str, problem: str) -> None:
    file.write_text(text, encoding="utf-8")
    done = program("config", "check")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith(f"{file}: {problem}")
    assert len(program("config", "check", "--json").json["problems"]) == 1


def test_a_key_that_was_given_away_is_free(file: Path, program: Any) -> None:
    file.write_text('keys.calls.filter = "x"\nkeys.calls.clear = "X"\n', encoding="utf-8")
    assert program("config", "check").out == f"{file} is fine.\n"
    file.unlink()
    assert program("config", "check").out == f"{file} does not exist; the defaults count.\n"


def test_homes_are_those_of_all_profiles(file: Path, program: Any, home: Path, tmp_path: Path) -> None:
    """Where none is named; a single home is asked for as ever."""
    two_profiles(home)
    home_with(tmp_path / "kim", {"status": "GHOST_REPORTED"}, {})
    file.write_text(f'homes = ["{tmp_path}/kim", "~/{home.name}"]\n', encoding="utf-8")
    assert [one["name"] for one in program("--all-profiles", "status", "--json").json] == [
        "kim",
        "home",
        "idle",
        "work",
    ]
    assert program("--all-profiles", "status", "--tmux").out == "▲1 overdue ◆2 ghost\n"
    named = program("--hermes-home", str(home), "--all-profiles", "status", "--json").json
    assert [one["name"] for one in named] == ["default", "idle", "work"]
    assert program("status", "--json").json["home"] == str(home)
    shown = program("config", "show").out
    assert f'homes = ["{tmp_path}/kim", "~/home"]\n' in shown
    file.write_text('homes = "~/.hermes"\n', encoding="utf-8")
    assert load(file).problems == ("homes must be a list of texts",)
