"""The app without the command line's machinery: only where one home is named and nothing else is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger_tui import config, quick_start
from ledger_tui.commands import opening
from ledger_tui.commands.errors import unreadable
from ledger_tui.commands.place import Place

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        ([], {}),
        (["--hermes-home", "/h"], {"--hermes-home": "/h"}),
        (["--hermes-home=/h=1", "--profile", "work"], {"--hermes-home": "/h=1", "--profile": "work"}),
        (["--state", "s.db", "--ledger=l.db"], {"--state": "s.db", "--ledger": "l.db"}),
        (["status"], None),
        (["--help"], None),
        (["--plain"], None),
        (["--source", "postgresql://h/d"], None),
        (["--hermes-home", "/h", "calls"], None),
        (["--hermes-home", "/h", "--hermes-home", "/i"], None),
        (["--hermes-home"], None),
        (["--hermes-home="], None),
        (["--hermes-home", "--plain"], None),
        (["--", "calls"], None),
    ],
)
def test_only_one_home_and_nothing_else(argv: list[str], options: dict[str, str] | None) -> None:
    assert quick_start.wanted(argv) == options


@pytest.fixture
def in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """There is a terminal; the places on which the app was opened."""
    places: list[Place] = []

    def opened(place: Place) -> int:
        places.append(place)
        return 0

    monkeypatch.setattr(quick_start, "in_a_terminal", lambda: True)
    monkeypatch.setattr(opening, "open_app", opened)
    return places


def test_the_same_place_as_by_the_command_line(in_a_terminal: list[Place], tmp_path: Path) -> None:
    environ = {"HERMES_HOME": str(tmp_path / "usual")}
    assert quick_start.opened(["--profile", "work"], environ) == 0
    assert quick_start.opened(["--ledger", str(tmp_path / "l.db")], environ) == 0
    by_profile, by_ledger = in_a_terminal
    assert (by_profile.home, by_profile.home_named) == (tmp_path / "usual" / "profiles" / "work", True)
    assert (by_ledger.ledger, by_ledger.ledger_named, by_ledger.state_named) == (tmp_path / "l.db", True, False)
    assert by_ledger.home == tmp_path / "usual"


def test_what_cannot_be_meant_is_left_to_the_command_line(in_a_terminal: list[Place]) -> None:
    assert quick_start.opened(["--profile", "../etc"], {}) is None
    assert quick_start.opened([], {"TERM": "dumb"}) is None
    assert not in_a_terminal


def test_who_wants_plain_text_gets_it(
    in_a_terminal: list[Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("plain = true\n", encoding="utf-8")
    monkeypatch.setattr(config, "config_path", lambda: settings)
    assert quick_start.opened([], {}) is None
    assert not in_a_terminal


def test_without_a_terminal_the_command_line_says_so() -> None:
    assert not quick_start.in_a_terminal()
    assert quick_start.opened([], {}) is None


def test_what_is_missing_is_one_sentence(
    capsys: pytest.CaptureFixture[str], in_a_terminal: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: Place) -> int:
        raise unreadable("It is not there.")

    monkeypatch.setattr(opening, "open_app", missing)
    assert quick_start.opened([], {}) == 3
    assert capsys.readouterr().err.endswith("It is not there.\n")


LOADED = """
import sys
from ledger_tui import quick_start
from ledger_tui.commands import opening
opening.open_app = lambda place: print(*sorted(sys.modules)) or 0
quick_start.in_a_terminal = lambda: True
sys.exit(quick_start.opened(["--hermes-home", sys.argv[1]], {}))
"""


APP = """
import sys
import ledger_tui.app, ledger_tui.personal
print(*sorted(sys.modules))
"""


def loaded_by(program: str, *arguments: str) -> set[str]:
    """The modules that a fresh interpreter has loaded, as the program prints them."""
    done: Any = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_app_starts_without_what_its_first_screen_does_not_need() -> None:
    loaded = loaded_by(APP)
    assert "screens.calls" in loaded
    others = {f"screens.{name}" for name in ("help", "homes", "lineage", "policy", "posture", "record_check", "repair")}
    engine = {f"agent_ledger.engine.{name}" for name in ("commands", "posture", "prompts", "recorder", "redact")}
    readers = {"ledger_tui.routing.read", "ledger_tui.routing.survey", "agent_ledger.engine.chain.check"}
    assert not loaded & (others | engine | readers | {"typer", "pydantic"})


def test_nothing_of_the_command_line_is_loaded(tmp_path: Path) -> None:
    loaded = loaded_by(LOADED, str(tmp_path))
    assert "ledger_tui.commands.place" in loaded
    assert not loaded & {"typer", "pydantic", "ledger_tui.cli", "ledger_tui.commands.status"}


def test_without_a_standard_input_the_command_line_says_what_is_missing() -> None:
    started = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "ledger_tui"]
    done = subprocess.run(started, cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "The app needs a terminal" in done.stderr
