"""The app opened on what the options before the command name."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ledger_tui import app as app_module
from ledger_tui import cli
from ledger_tui.app import LedgerApp
from ledger_tui.commands.errors import CommandError, unreadable
from ledger_tui.commands.opening import open_app
from ledger_tui.commands.place import Place, place_of, place_of_shipped
from ledger_tui.commands.source import Shipped

from .fleets import broken, home_with


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LedgerApp]:
    """The apps that were opened, none of which runs."""
    apps: list[LedgerApp] = []

    def run(app: LedgerApp) -> int:
        apps.append(app)
        return 0

    monkeypatch.setattr(app_module, "run_blocking", run)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setenv("TERM", "xterm-256color")
    return apps


def test_each_home_is_one_of_the_app_s_by_its_name(opened: list[LedgerApp], tmp_path: Path) -> None:
    good, other = home_with(tmp_path / "kim", {}), home_with(tmp_path / "ada", {})
    torn, nowhere = broken(tmp_path / "torn"), tmp_path / "nowhere"
    argv = [word for home in (good, other, torn, nowhere) for word in ("--hermes-home", str(home))]
    assert cli.run(argv) == 0
    (app,) = opened
    assert [home.name for home in app.homes] == ["kim", "ada", "torn", "nowhere"]
    assert [home.folder for home in app.homes] == [str(home) for home in (good, other, torn, nowhere)]
    assert [home.desk.label for home in app.homes] == ["kim", "ada", "torn", "nowhere"]


def test_every_profile(opened: list[LedgerApp], tmp_path: Path) -> None:
    home_with(tmp_path)
    home_with(tmp_path / "profiles" / "work")
    assert cli.run(["--hermes-home", str(tmp_path), "--all-profiles"]) == 0
    (app,) = opened
    assert [home.name for home in app.homes] == ["default", "work"]


def test_a_home_alone_has_no_name(opened: list[LedgerApp], tmp_path: Path) -> None:
    """Also where every profile was asked for and there is none."""
    home_with(tmp_path)
    for options in ([], ["--all-profiles"]):
        assert cli.run(["--hermes-home", str(tmp_path), *options]) == 0
    assert [[home.name for home in app.homes] for app in opened] == [[""], [""]]


def shipped(name: str) -> Place:
    return replace(place_of_shipped(Shipped("postgresql://db.example/fleet", name), {}), name=name)


def test_what_cannot_be_brought_is_told_of_and_takes_no_other_along(
    opened: list[LedgerApp], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(_: Shipped) -> None:
        raise unreadable("The engine does not answer.")

    monkeypatch.setattr(Shipped, "bring", refused)
    homes = [Place(path, path / "ledger.db", path / "state.db", name=path.name) for path in (tmp_path / "a", tmp_path)]
    assert open_app(homes[0], shipped("ada"), homes[1]) == 0
    (app,) = opened
    assert [home.name for home in app.homes] == ["a", tmp_path.name]
    assert app.first_word == "ada: The engine does not answer."
    assert "ada: The engine does not answer.\n" in capsys.readouterr().err
    with pytest.raises(CommandError, match="engine does not answer"):
        open_app(shipped("ada"), shipped("bea"))


def test_profiles_that_nobody_can_list_are_told_in_the_app(opened: list[LedgerApp], tmp_path: Path) -> None:
    """What stands on the terminal is hidden by the app."""
    home_with(tmp_path)
    (tmp_path / "profiles").symlink_to("profiles")
    assert cli.run(["--hermes-home", str(tmp_path), "--all-profiles"]) == 0
    (app,) = opened
    assert f"The profiles of {tmp_path} cannot be listed" in app.first_word


def test_the_app_says_so_where_hermes_is_in_a_profile_instead(opened: list[LedgerApp], tmp_path: Path) -> None:
    (tmp_path / "profiles" / "work").mkdir(parents=True)
    (tmp_path / "active_profile").write_text("work\n", encoding="utf-8")
    usual, profile = (place_of(None, name, None, None, {"HERMES_HOME": str(tmp_path)}) for name in (None, "work"))
    named = place_of(str(tmp_path), None, None, None, {})
    for place in (usual, named, profile):
        assert open_app(place) == 0
    assert ["to use the profile work" in app.first_word for app in opened] == [True, False, False]
